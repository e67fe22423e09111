//! Answers as the network takes them: in one piece, or as they come.

use http_body_util::channel::Channel;
use hyper::StatusCode;
use hyper::body::{Bytes, Frame};
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use serde_json::Value;

use super::error::ApiError;

/// An answer whose body comes piece by piece.
pub(super) type Response = hyper::Response<Channel<Bytes>>;

/// An answer in one piece.
pub(super) fn whole_text(status: StatusCode, kind: &'static str, text: String) -> Response {
    let (mut piece, body) = Channel::new(1);
    let _heard = piece.try_send(Frame::data(text.into()));
    response(status, kind, body)
}

pub(super) fn response(status: StatusCode, kind: &'static str, body: Channel<Bytes>) -> Response {
    let mut response = hyper::Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

pub(super) fn whole(status: StatusCode, value: &Value) -> Response {
    whole_text(status, "application/json", value.to_string())
}

pub(super) fn refusal(error: &ApiError) -> Response {
    let mut response = whole(error.status, &error.json());
    let headers = response.headers_mut();
    match error.status {
        StatusCode::TOO_MANY_REQUESTS => {
            headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        StatusCode::METHOD_NOT_ALLOWED => {
            headers.insert(ALLOW, HeaderValue::from_static("GET, POST"));
        }
        _ => {}
    }
    response
}
