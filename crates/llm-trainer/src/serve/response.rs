//! Answers as the network takes them: in one piece, or as they come.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::StatusCode;
use hyper::body::{Body, Bytes, Frame};
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::error::ApiError;

pub(super) type Response = hyper::Response<ResponseBody>;

/// A body, piece by piece.
pub(super) struct ResponseBody(pub(super) UnboundedReceiver<Bytes>);

impl From<String> for ResponseBody {
    fn from(text: String) -> Self {
        let (piece, body) = unbounded_channel();
        let _heard = piece.send(text.into());
        Self(body)
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|piece| piece.map(|bytes| Ok(Frame::data(bytes))))
    }
}

pub(super) fn response(status: StatusCode, kind: &'static str, body: ResponseBody) -> Response {
    let mut response = hyper::Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

pub(super) fn whole(status: StatusCode, value: &Value) -> Response {
    response(status, "application/json", value.to_string().into())
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
