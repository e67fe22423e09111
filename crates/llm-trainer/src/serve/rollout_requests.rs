//! Requests of rollouts: `/rollouts/ID/v1/…` answers as `/v1/…` does and records; the others post a reward, read and delete.

use hyper::StatusCode;
use serde_json::json;

use super::answer::Answer;
use super::error::ApiError;
use super::fields::Fields;
use super::request::{Request, Style};
use super::response::{Response, whole};
use super::rollouts::Rollouts;
use super::server::Server;

impl Server {
    pub(super) fn reward(&self, id: &str, body: &[u8]) -> Result<Response, ApiError> {
        let mut fields = Fields::read(body)?;
        let reward = fields.number("reward", "a finite number", f64::is_finite)?;
        fields.finish()?;
        let missing = || ApiError::field("reward", "is missing, expected a number");
        let reward = reward.ok_or_else(missing)?;
        self.rollouts()?.with(id, false, |recording| {
            recording.reward = Some(reward);
            Ok(whole(StatusCode::OK, &json!({"id": id, "reward": reward})))
        })
    }

    /// Answers with what is recorded of a rollout, and ends it if `is_last`.
    pub(super) fn rollout(&self, id: &str, is_last: bool) -> Result<Response, ApiError> {
        let rollouts = self.rollouts()?;
        let recorded = if is_last {
            rollouts.end(id).ok_or_else(|| ApiError::unknown_rollout(id))?.json(id)
        } else {
            rollouts.with(id, false, |recording| Ok(recording.json(id)))?
        };
        Ok(whole(StatusCode::OK, &recorded))
    }

    /// Reads a request, of a rollout if `rollout` names one.
    pub(super) fn read(
        &self,
        style: Style,
        body: &[u8],
        rollout: Option<&str>,
    ) -> Result<Request, ApiError> {
        let Some(id) = rollout else {
            let is_trained = self.settings.rollouts.as_ref().is_some_and(|all| all.are_of_run());
            return if is_trained {
                Err(ApiError::forbidden("expected the base URL of a rollout: /rollouts/ID/v1"))
            } else {
                self.reader.read(style, body, None)
            };
        };
        self.rollouts()?.with(id, true, |recording| self.reader.read(style, body, Some(recording)))
    }

    /// Records an answer, if it is one of a rollout.
    pub(super) fn record(&self, answer: &Answer, rollout: Option<&str>) -> Result<(), ApiError> {
        let (Some(id), Some((prompt, choice))) = (rollout, answer.recorded()) else {
            return Ok(());
        };
        self.rollouts()?.with(id, false, |recording| {
            recording
                .record(prompt, choice, &self.reader.tokenizer)
                .map_err(|error| ApiError::engine(error.to_string()))
        })
    }

    fn rollouts(&self) -> Result<&Rollouts, ApiError> {
        let missing = || ApiError::forbidden("the server was started without --record-rollouts");
        self.settings.rollouts.as_deref().ok_or_else(missing)
    }
}
