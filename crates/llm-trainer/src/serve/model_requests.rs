//! Requests to the model thread: responses, whole or streamed, and other weights.

use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use http_body_util::channel::{Channel, Sender};
use hyper::StatusCode;
use hyper::body::Bytes;
use serde_json::json;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::oneshot;

use super::answer::Answer;
use super::error::{ApiError, Response, response, whole};
use super::fields::Fields;
use super::recording::Rollouts;
use super::request::{Request, Style};
use super::server::Server;
use super::worker::{ModelRequest, RequestEvent, Work};

/// Most events of a stream that wait for their reader.
const WAITING_EVENTS: usize = 65_536;

/// Sends an event of a stream; false if nobody listens.
async fn say(pieces: &mut Sender<Bytes>, value: impl Display) -> bool {
    pieces.send_data(format!("data: {value}\n\n").into()).await.is_ok()
}

impl Server {
    /// Answers with responses to a prompt, whole or streamed.
    pub(super) async fn generate(
        self: &Arc<Self>,
        style: Style,
        body: &[u8],
        rollout: Option<&str>,
    ) -> Result<Response, ApiError> {
        let request = Arc::new(self.read(style, body, rollout)?);
        let random = self.random();
        let (sender, mut events) = unbounded_channel();
        let (seed, asked) = (request.seed.unwrap_or(random), Arc::clone(&request));
        self.send_to_model(ModelRequest::Generate(Work { request: asked, seed, events: sender }))?;
        // Answers of a deterministic harness's rollout are the same each time, ids included.
        let name = match rollout.zip(request.turn.as_ref()) {
            Some((rollout, (turn, _))) => format!("{rollout}-{turn}"),
            None => format!("{random:016x}"),
        };
        let streams = request.streams;
        let mut answer = Answer::new(Arc::clone(self), &name, request);
        if streams {
            return Ok(self.stream(answer, events, rollout.map(str::to_owned)));
        }
        while let Some(event) = events.recv().await {
            answer.on_event(event)?;
        }
        self.complete(&answer, rollout)?;
        let told = answer.whole().map_err(|error| ApiError::engine(error.to_string()));
        Ok(whole(StatusCode::OK, &told?))
    }

    /// Counts and records an answer, before the client has it; fails if the model has not drawn all of it.
    fn complete(&self, answer: &Answer, rollout: Option<&str>) -> Result<(), ApiError> {
        if !answer.is_whole() {
            return Err(ApiError::engine("the model has stopped before the answer was whole"));
        }
        let [prompt, drawn] = answer.tokens();
        self.counts.prompt_tokens.fetch_add(prompt, Ordering::Relaxed);
        self.counts.drawn_tokens.fetch_add(drawn, Ordering::Relaxed);
        self.record(answer, rollout)
    }

    /// Streams server-sent events, one per token, ended by `[DONE]`.
    fn stream(
        self: &Arc<Self>,
        mut answer: Answer,
        mut events: UnboundedReceiver<RequestEvent>,
        rollout: Option<String>,
    ) -> Response {
        let (mut pieces, body) = Channel::new(WAITING_EVENTS);
        let server = Arc::clone(self);
        tokio::spawn(async move {
            while let Some(event) = events.recv().await {
                match answer.on_event(event) {
                    // Nobody listens: dropping the events gives the request up.
                    Ok(Some(object)) if !say(&mut pieces, &object).await => return,
                    Ok(_) => {}
                    Err(error) => {
                        say(&mut pieces, ApiError::from(error).json()).await;
                        return;
                    }
                }
            }
            if let Err(error) = server.complete(&answer, rollout.as_deref()) {
                say(&mut pieces, error.json()).await;
                return;
            }
            if let Some(usage) = answer.usage_chunk() {
                say(&mut pieces, usage).await;
            }
            say(&mut pieces, "[DONE]").await;
        });
        response(StatusCode::OK, "text/event-stream", body)
    }

    /// Loads other weights from a folder below the root.
    pub(super) async fn reload(&self, body: &[u8]) -> Result<Response, ApiError> {
        let Some(root) = &self.settings.reload_root else {
            return Err(ApiError::forbidden("the server was started without --reload-root"));
        };
        let mut fields = Fields::read(body)?;
        let path = fields.text("path", "the path of a model directory")?;
        fields.finish()?;
        let outside = || {
            let root = root.display();
            ApiError::field("path", &format!("is {path:?}, expected a folder below {root}"))
        };
        // Links and `..` resolved: what is loaded lies below the root.
        let folder = root.join(Path::new(&path)).canonicalize().map_err(|_| outside())?;
        if !folder.starts_with(root) || !folder.is_dir() {
            return Err(outside());
        }
        let (sender, done) = oneshot::channel();
        let path = folder.display().to_string();
        self.send_to_model(ModelRequest::Reload((folder, sender)))?;
        match done.await {
            Ok(Ok(())) => Ok(whole(StatusCode::OK, &json!({"status": "ok", "path": path}))),
            Ok(Err(problem)) => {
                Err(ApiError::field("path", &format!("cannot be loaded: {problem}")))
            }
            Err(_) => Err(ApiError::ended()),
        }
    }
}

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
            let is_trained = self.settings.rollouts.as_ref().is_some_and(|all| all.most.is_none());
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
