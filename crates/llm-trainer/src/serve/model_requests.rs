//! Requests to the model thread: responses, whole or streamed, and other weights.

use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use hyper::StatusCode;
use hyper::body::Bytes;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::oneshot;

use super::answer::{Answer, Head};
use super::error::ApiError;
use super::fields::Fields;
use super::request::Style;
use super::response::{Response, ResponseBody, response, whole};
use super::server::Server;
use super::worker::{ModelRequest, RequestEvent, Work};

impl Server {
    /// Answers with responses to a prompt, whole or streamed.
    pub(super) async fn generate(
        self: &Arc<Self>,
        style: Style,
        body: &[u8],
        rollout: Option<String>,
    ) -> Result<Response, ApiError> {
        let request = self.read(style, body, rollout.as_deref())?;
        let turn = request.recorded.as_ref().map(|recorded| (recorded.owner, recorded.turn));
        let random = self.random();
        let (sender, mut events) = unbounded_channel();
        self.send_to_model(ModelRequest::Generate(Work {
            prompts: request.prompts.clone(),
            options: Arc::clone(&request.options),
            seed: request.seed.unwrap_or(random),
            top: request.log_probs.unwrap_or(0),
            scores: request.echo && request.log_probs.is_some(),
            draws: !request.only_echo,
            turn: turn.and_then(|(owner, turn)| Some((owner?, turn))),
            events: sender,
        }))?;
        // Answers of a deterministic harness's rollout are the same each time, ids included.
        let name = match rollout.as_ref().zip(turn) {
            Some((rollout, (_, turn))) => format!("{rollout}-{turn}"),
            None => format!("{random:016x}"),
        };
        let answer = Answer::new(self.head(style, &name), request.clone());
        if request.streams {
            return Ok(self.stream(answer, events, rollout));
        }
        let mut answer = answer;
        while let Some(event) = events.recv().await {
            answer.on_event(event, &self.reader.tokenizer)?;
        }
        if !answer.is_whole() {
            return Err(ApiError::engine("the model has stopped before the answer was whole"));
        }
        self.count(&answer);
        self.keep(&answer, rollout.as_deref())?;
        let told = answer.whole(&self.reader.tokenizer);
        Ok(whole(StatusCode::OK, &told.map_err(|error| ApiError::engine(error.to_string()))?))
    }

    fn head(&self, style: Style, name: &str) -> Head {
        let prefix = match style {
            Style::Completion => "cmpl",
            Style::Chat => "chatcmpl",
        };
        let created = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        Head { id: format!("{prefix}-{name}"), created, model: self.settings.model_name.clone() }
    }

    /// Streams server-sent events, one per token, ended by `[DONE]`.
    fn stream(
        self: &Arc<Self>,
        mut answer: Answer,
        mut events: UnboundedReceiver<RequestEvent>,
        rollout: Option<String>,
    ) -> Response {
        let (pieces, told) = unbounded_channel();
        let server = Arc::clone(self);
        tokio::spawn(async move {
            let say =
                |value: &Value| pieces.send(Bytes::from(format!("data: {value}\n\n"))).is_ok();
            while let Some(event) = events.recv().await {
                match answer.on_event(event, &server.reader.tokenizer) {
                    // Nobody listens: dropping the events gives the request up.
                    Ok(Some(object)) if !say(&object) => return,
                    Ok(_) => {}
                    Err(error) => {
                        say(&ApiError::from(error).json());
                        return;
                    }
                }
            }
            if !answer.is_whole() {
                say(&ApiError::engine("the model has stopped before the answer was whole").json());
                return;
            }
            server.count(&answer);
            if let Err(error) = server.keep(&answer, rollout.as_deref()) {
                say(&error.json());
                return;
            }
            if let Some(usage) = answer.usage_chunk() {
                say(&usage);
            }
            let _heard = pieces.send(Bytes::from_static(b"data: [DONE]\n\n"));
        });
        response(StatusCode::OK, "text/event-stream", ResponseBody::Stream(told))
    }

    /// Loads other weights from a folder below the root.
    pub(super) async fn reload(&self, body: &[u8]) -> Result<Response, ApiError> {
        let Some(root) = &self.settings.reload_root else {
            return Err(ApiError::forbidden("the server was started without --reload-root"));
        };
        let mut fields = Fields::read(body)?;
        let path = fields.required("path", "the path of a model directory", |value| {
            value.as_str().map(str::to_owned)
        })?;
        fields.finish()?;
        let outside = || {
            let expected = format!("is {path:?}, expected a folder below {}", root.display());
            ApiError::field("path", &expected)
        };
        // Links and `..` resolved: what is loaded lies below the root.
        let folder = root.join(Path::new(&path)).canonicalize().map_err(|_| outside())?;
        if !folder.starts_with(root) || !folder.is_dir() {
            return Err(outside());
        }
        let (sender, done) = oneshot::channel();
        self.send_to_model(ModelRequest::Reload(folder.clone(), sender))?;
        match done.await {
            Ok(Ok(())) => Ok(whole(
                StatusCode::OK,
                &json!({"status": "ok", "path": folder.display().to_string()}),
            )),
            Ok(Err(problem)) => {
                Err(ApiError::field("path", &format!("cannot be loaded: {problem}")))
            }
            Err(_) => Err(ApiError::ended()),
        }
    }
}
