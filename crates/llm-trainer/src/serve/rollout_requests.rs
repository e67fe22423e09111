//! Requests of rollouts: `/rollouts/ID/v1/…` answers as `/v1/…` does and records; the others post a reward, read and delete.

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::{Method, StatusCode};
use serde_json::json;

use super::answer::Answer;
use super::error::ApiError;
use super::fields::Fields;
use super::recording::Recording;
use super::request::{OfRollout, Request, Style};
use super::response::{Response, whole};
use super::rollouts::Rollouts;
use super::server::Server;

impl Server {
    /// Answers a request to `/rollouts/` and `path`.
    pub(super) async fn answer_of_rollout(
        self: &Arc<Self>,
        path: &str,
        request: hyper::Request<Incoming>,
    ) -> Result<Response, ApiError> {
        let (id, part) = path.split_once('/').unwrap_or((path, ""));
        let id = id.to_owned();
        let is_post = request.method() == Method::POST;
        match part {
            "v1/completions" if is_post => {
                let body = self.body(request).await?;
                self.generate(Style::Completion, &body, Some(id)).await
            }
            "v1/chat/completions" if is_post => {
                let body = self.body(request).await?;
                self.generate(Style::Chat, &body, Some(id)).await
            }
            "v1/models" if request.method() == Method::GET => {
                Ok(whole(StatusCode::OK, &self.models()))
            }
            "reward" if is_post => {
                let body = self.body(request).await?;
                let mut fields = Fields::read(&body)?;
                let reward = fields.number("reward", "a finite number", f64::is_finite)?;
                fields.finish()?;
                let missing = || ApiError::field("reward", "is missing, expected a number");
                let reward = reward.ok_or_else(missing)?;
                self.rollouts()?.with(&id, false, |recording| {
                    recording.reward = Some(reward);
                    Ok(whole(StatusCode::OK, &json!({"id": id, "reward": reward})))
                })
            }
            "" if request.method() == Method::GET => {
                self.rollouts()?
                    .with(&id, false, |recording| Ok(whole(StatusCode::OK, &recording.json(&id))))
            }
            "" if request.method() == Method::DELETE => {
                let last =
                    self.rollouts()?.end(&id).ok_or_else(|| ApiError::unknown_rollout(&id))?;
                Ok(whole(StatusCode::OK, &last.json(&id)))
            }
            "" => Err(ApiError::method("GET or DELETE")),
            "v1/models" => Err(ApiError::method("GET")),
            "v1/completions" | "v1/chat/completions" | "reward" => Err(ApiError::method("POST")),
            _ => Err(ApiError::unknown_path(path)),
        }
    }

    /// Reads a request, of a rollout if `rollout` names one.
    pub(super) fn read(
        &self,
        style: Style,
        body: &[u8],
        rollout: Option<&str>,
    ) -> Result<Request, ApiError> {
        let Some(id) = rollout else {
            let is_trained =
                self.settings.rollouts.as_ref().is_some_and(|all| all.terms().is_some());
            if is_trained {
                return Err(ApiError::forbidden(
                    "expected the base URL of a rollout: /rollouts/ID/v1",
                ));
            }
            return self.reader.read(style, body, None);
        };
        let rollouts = self.rollouts()?;
        rollouts.with(id, true, |recording| {
            let terms = rollouts.terms();
            self.reader.read(style, body, Some(OfRollout { recording, terms }))
        })
    }

    /// Records an answer, before the client has it.
    pub(super) fn keep(&self, answer: &Answer, rollout: Option<&str>) -> Result<(), ApiError> {
        let (Some(id), Some((request, answer))) = (rollout, answer.recorded()) else {
            return Ok(());
        };
        self.rollouts()?.with(id, false, |recording: &mut Recording| {
            recording
                .record(&request.prompt, answer, &self.reader.tokenizer)
                .map_err(|error| ApiError::engine(error.to_string()))
        })
    }

    fn rollouts(&self) -> Result<&Rollouts, ApiError> {
        let missing = || ApiError::forbidden("the server was started without --record-rollouts");
        self.settings.rollouts.as_deref().ok_or_else(missing)
    }
}
