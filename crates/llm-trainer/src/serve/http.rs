//! The network's side: connections, paths, and answers in one piece or as they come.

use std::collections::hash_map::RandomState;
use std::convert::Infallible;
use std::hash::BuildHasher;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use http_body_util::{BodyExt, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Sender, UnboundedReceiver, channel, unbounded_channel};
use tokio::sync::{Semaphore, oneshot};
use trainer_core::chat_template::ChatTemplate;
use trainer_core::text_tokenizer::TextTokenizer;

use super::Settings;
use super::answer::{Answer, Head};
use super::error::ApiError;
use super::fields::Fields;
use super::request::{Reader, Style};
use super::response::{Answered, Response, refusal, response, whole};
use super::worker::{Event, Order, Work, run};
use crate::model::Decoder;

/// A server that has its port and its model, before its first request.
#[derive(Debug)]
pub struct Listening {
    listener: std::net::TcpListener,
    settings: Settings,
    decoder: Decoder,
    reader: Reader,
}

/// Takes the port, and everything that requests are read against.
///
/// # Errors
///
/// If the port cannot be had, or the folder that models may be loaded from is none.
pub fn listen(
    address: SocketAddr,
    mut settings: Settings,
    decoder: Decoder,
    (tokenizer, eos_ids, template): (TextTokenizer, Vec<u32>, Option<ChatTemplate>),
) -> anyhow::Result<Listening> {
    let at = |what: String| move |error: std::io::Error| anyhow::anyhow!("{what}: {error}");
    let listener = std::net::TcpListener::bind(address).map_err(at(address.to_string()))?;
    listener.set_nonblocking(true)?;
    if let Some(root) = &mut settings.reload_root {
        *root = root.canonicalize().map_err(at(root.display().to_string()))?;
    }
    let reader = Reader {
        tokenizer,
        template,
        model_name: settings.model_name.clone(),
        vocab_size: decoder.config().vocab_size,
        eos_ids,
        room: settings.room,
    };
    Ok(Listening { listener, settings, decoder, reader })
}

impl Listening {
    /// The address, with the port that was given where 0 was asked for.
    ///
    /// # Errors
    ///
    /// If the system does not say.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until SIGTERM or SIGINT; then takes no more connections, and ends what was begun.
    ///
    /// # Errors
    ///
    /// If threads cannot be had, or the model's has failed.
    pub fn serve(self) -> anyhow::Result<()> {
        let Self { listener, settings, decoder, reader } = self;
        let (orders, taken) = channel(settings.queue);
        let room = settings.room;
        let server = Arc::new(Server {
            settings,
            reader,
            orders,
            seeds: RandomState::new(),
            counts: Counts::default(),
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let network = std::thread::Builder::new().name("network".to_owned()).spawn(move || {
            let outcome = runtime.block_on(accept(listener, server));
            // What is still open loses its answer, and so its place in the batch; nobody can order any more.
            drop(runtime);
            outcome
        })?;
        run(decoder, taken, room);
        network.join().map_err(|_| anyhow::anyhow!("the network's thread has failed"))?
    }
}

struct Server {
    settings: Settings,
    reader: Reader,
    orders: Sender<Order>,
    /// Makes a seed where none is given.
    seeds: RandomState,
    counts: Counts,
}

#[derive(Debug, Default)]
struct Counts {
    requests: AtomicU64,
    refused: AtomicU64,
    prompt_tokens: AtomicU64,
    drawn_tokens: AtomicU64,
}

impl Counts {
    fn add(count: &AtomicU64, more: u64) -> u64 {
        count.fetch_add(more, Ordering::Relaxed)
    }
}

/// Takes connections until a signal asks for the end.
async fn accept(listener: std::net::TcpListener, server: Arc<Server>) -> anyhow::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    let (mut terminate, mut interrupt) =
        (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let open = Arc::new(Semaphore::new(server.settings.connections));
    let graceful = GracefulShutdown::new();
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(server.settings.read_timeout);
    loop {
        let place = Arc::clone(&open).acquire_owned();
        let next = async {
            let place = place.await;
            // A connection that is gone before it was taken is no reason to end.
            (listener.accept().await, place)
        };
        let (stream, peer, place) = tokio::select! {
            (accepted, place) = next => {
                if let (Ok((stream, peer)), Ok(place)) = (accepted, place) {
                    (stream, peer, place)
                } else {
                    // Out of files, say: not at full speed.
                    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                    continue;
                }
            },
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
            () = server.orders.closed() => break,
        };
        let connection = http.serve_connection(TokioIo::new(stream), service(&server, peer));
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            // The other side's faults are its own.
            let _ended = connection.await;
            drop(place);
        });
    }
    drop(listener);
    let grace = server.settings.grace;
    // Whoever has not ended by then is cut off.
    let _in_time = tokio::time::timeout(grace, graceful.shutdown()).await;
    Ok(())
}

fn service(
    server: &Arc<Server>,
    peer: SocketAddr,
) -> impl hyper::service::Service<
    hyper::Request<Incoming>,
    Response = Response,
    Error = Infallible,
    Future = impl Future<Output = Result<Response, Infallible>> + use<>,
> + use<> {
    let server = Arc::clone(server);
    service_fn(move |request| {
        let server = Arc::clone(&server);
        async move {
            let response = server.answer(request, peer).await;
            Ok(response.unwrap_or_else(|error| {
                Counts::add(&server.counts.refused, 1);
                refusal(&error)
            }))
        }
    })
}

impl Server {
    async fn answer(
        self: &Arc<Self>,
        request: hyper::Request<Incoming>,
        peer: SocketAddr,
    ) -> Result<Response, ApiError> {
        Counts::add(&self.counts.requests, 1);
        let path = request.uri().path().to_owned();
        let (get, post) = (request.method() == Method::GET, request.method() == Method::POST);
        match path.as_str() {
            "/v1/models" if get => Ok(whole(StatusCode::OK, &self.models())),
            "/health" if get && !self.orders.is_closed() => {
                Ok(whole(StatusCode::OK, &json!({"status": "ok"})))
            }
            "/health" if get => Err(ApiError::ended()),
            "/metrics" if get => Ok(self.metrics()),
            "/v1/completions" if post => {
                let body = self.body(request).await?;
                self.generate(Style::Completion, &body).await
            }
            "/v1/chat/completions" if post => {
                let body = self.body(request).await?;
                self.generate(Style::Chat, &body).await
            }
            "/v1/reload" if post => {
                if !peer.ip().to_canonical().is_loopback() {
                    return Err(ApiError::forbidden("models are reloaded from this machine alone"));
                }
                let body = self.body(request).await?;
                self.reload(&body).await
            }
            "/v1/models" | "/health" | "/metrics" => Err(ApiError::method("GET")),
            "/v1/completions" | "/v1/chat/completions" | "/v1/reload" => {
                Err(ApiError::method("POST"))
            }
            other => Err(ApiError::unknown_path(other)),
        }
    }

    fn models(&self) -> Value {
        let name = &self.settings.model_name;
        json!({"object": "list", "data": [{
            "id": name, "object": "model", "created": 0, "owned_by": "llm-trainer",
            "max_model_len": self.settings.room.tokens,
        }]})
    }

    fn metrics(&self) -> Response {
        let Counts { requests, refused, prompt_tokens, drawn_tokens } = &self.counts;
        let waiting = (self.settings.queue - self.orders.capacity()) as u64;
        let mut text = String::new();
        for (name, kind, value) in [
            ("requests_total", "counter", requests.load(Ordering::Relaxed)),
            ("refused_total", "counter", refused.load(Ordering::Relaxed)),
            ("prompt_tokens_total", "counter", prompt_tokens.load(Ordering::Relaxed)),
            ("drawn_tokens_total", "counter", drawn_tokens.load(Ordering::Relaxed)),
            ("waiting_requests", "gauge", waiting),
        ] {
            let name = format!("llm_trainer_{name}");
            text.extend(["# TYPE ", &name, " ", kind, "\n", &name, " ", &value.to_string(), "\n"]);
        }
        let body = Answered::Whole(Some(Bytes::from(text)));
        response(StatusCode::OK, "text/plain; version=0.0.4", body)
    }

    /// The body of a request, if it is JSON, short enough and in time.
    async fn body(&self, request: hyper::Request<Incoming>) -> Result<Bytes, ApiError> {
        // A page in a browser may send text to this machine unasked, but no JSON.
        let kind = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let is_json = kind.is_some_and(|kind| {
            kind.split(';')
                .next()
                .unwrap_or_default()
                .trim()
                .eq_ignore_ascii_case("application/json")
        });
        if !is_json {
            return Err(ApiError::content_type());
        }
        let limit = self.settings.body_bytes;
        let read = Limited::new(request.into_body(), limit).collect();
        match tokio::time::timeout(self.settings.read_timeout, read).await {
            Err(_) => Err(ApiError::slow_body()),
            Ok(Ok(body)) => Ok(body.to_bytes()),
            Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => {
                Err(ApiError::body_too_large(limit))
            }
            Ok(Err(error)) => Err(ApiError::body(format!("the body cannot be read: {error}"))),
        }
    }

    fn order(&self, order: Order) -> Result<(), ApiError> {
        self.orders.try_send(order).map_err(|error| match error {
            TrySendError::Full(_) => ApiError::full(self.settings.queue),
            TrySendError::Closed(_) => ApiError::ended(),
        })
    }

    async fn generate(self: &Arc<Self>, style: Style, body: &[u8]) -> Result<Response, ApiError> {
        let request = self.reader.read(style, body)?;
        let number = self.counts.requests.load(Ordering::Relaxed);
        let random = self.seeds.hash_one((number, SystemTime::now()));
        let (sender, mut events) = unbounded_channel();
        self.order(Order::Generate(Work {
            prompts: request.prompts.clone(),
            options: Arc::clone(&request.options),
            seed: request.seed.unwrap_or(random),
            top: request.log_probs.unwrap_or(0),
            scores: request.echo && request.log_probs.is_some(),
            draws: !request.only_echo,
            events: sender,
        }))?;
        let answer = Answer::new(self.head(style, random), request.clone());
        if request.streams {
            return Ok(self.stream(answer, events));
        }
        let mut answer = answer;
        while let Some(event) = events.recv().await {
            answer.hear(event, &self.reader.tokenizer)?;
        }
        if !answer.is_whole() {
            return Err(ApiError::engine("the model has stopped before the answer was whole"));
        }
        self.count(&answer);
        let told = answer.whole(&self.reader.tokenizer);
        Ok(whole(StatusCode::OK, &told.map_err(|error| ApiError::engine(error.to_string()))?))
    }

    fn head(&self, style: Style, random: u64) -> Head {
        let prefix = match style {
            Style::Completion => "cmpl",
            Style::Chat => "chatcmpl",
        };
        let created = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        Head {
            id: format!("{prefix}-{random:016x}"),
            created,
            model: self.settings.model_name.clone(),
        }
    }

    fn count(&self, answer: &Answer) {
        let usage = answer.usage();
        let of = |name: &str| usage[name].as_u64().unwrap_or(0);
        Counts::add(&self.counts.prompt_tokens, of("prompt_tokens"));
        Counts::add(&self.counts.drawn_tokens, of("completion_tokens"));
    }

    /// Server-sent events, one a token, ended by `[DONE]`.
    fn stream(
        self: &Arc<Self>,
        mut answer: Answer,
        mut events: UnboundedReceiver<Event>,
    ) -> Response {
        let (pieces, told) = unbounded_channel();
        let server = Arc::clone(self);
        tokio::spawn(async move {
            let say =
                |value: &Value| pieces.send(Bytes::from(format!("data: {value}\n\n"))).is_ok();
            while let Some(event) = events.recv().await {
                match answer.hear(event, &server.reader.tokenizer) {
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
            if let Some(usage) = answer.usage_chunk() {
                say(&usage);
            }
            let _heard = pieces.send(Bytes::from_static(b"data: [DONE]\n\n"));
        });
        response(StatusCode::OK, "text/event-stream", Answered::Stream(told))
    }

    /// Loads other weights from a folder below the root.
    async fn reload(&self, body: &[u8]) -> Result<Response, ApiError> {
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
        let found = root.join(Path::new(&path)).canonicalize().map_err(|_| outside())?;
        if !found.starts_with(root) || !found.is_dir() {
            return Err(outside());
        }
        let (sender, done) = oneshot::channel();
        self.order(Order::Reload(found.clone(), sender))?;
        match done.await {
            Ok(Ok(())) => Ok(whole(
                StatusCode::OK,
                &json!({"status": "ok", "path": found.display().to_string()}),
            )),
            Ok(Err(problem)) => {
                Err(ApiError::field("path", &format!("cannot be loaded: {problem}")))
            }
            Err(_) => Err(ApiError::ended()),
        }
    }
}
