//! The thread that runs the model.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::mpsc::{Receiver, UnboundedSender};
use tokio::sync::oneshot;

use decoder::generation::{Drawing, GenerationError, SamplingKey, SharedBatch};
use decoder::model::Decoder;
use decoder::scoring::score;

use super::recording::TurnPrompt;
use super::request::{BatchCapacity, Request};

/// A directory with other weights, and the place for the outcome of loading them.
pub(crate) type Reload = (PathBuf, oneshot::Sender<Result<(), String>>);

/// A request to the model thread, executed in sequence.
pub(crate) enum ModelRequest {
    Generate(Work),
    /// Loads other weights for the same tokenizer; running requests end with the old ones, later ones use the new.
    Reload(Reload),
}

/// A request that waits for the model.
pub(crate) struct Work {
    pub(crate) request: Arc<Request>,
    pub(crate) seed: u64,
    pub(crate) events: UnboundedSender<RequestEvent>,
}

/// A message to a request. The request has ended when the channel closes.
#[derive(Debug)]
pub(crate) enum RequestEvent {
    /// `log π(x_t | x_<t)` in nats of each token of a prompt but the first, at temperature 1.
    Scored {
        prompt: usize,
        log_prob: Vec<f64>,
    },
    /// One drawn token, and the number of reloads of the weights that drew it.
    Drawn {
        prompt: usize,
        drawing: Drawing,
        version: u64,
    },
    Failed(GenerationError),
}

/// Serves until no sender of requests is left.
pub(super) fn run(
    mut decoder: Decoder,
    mut requests: Receiver<ModelRequest>,
    capacity: BatchCapacity,
) {
    let mut version = 0;
    while let Some((path, reply)) = serve(&decoder, &mut requests, capacity, version) {
        let loaded = Decoder::load(&path, decoder.device(), decoder.kind());
        let outcome = match loaded {
            Err(error) => Err(error.to_string()),
            Ok(loaded) if loaded.config() == decoder.config() => {
                (decoder, version) = (loaded, version + 1);
                Ok(())
            }
            Ok(_) => Err(format!("{}: config.json is that of another model", path.display())),
        };
        // The client may be gone; the weights are loaded all the same.
        let _heard = reply.send(outcome);
    }
}

/// Serves with these weights until others are asked for, which are returned, or no sender of requests is left.
fn serve(
    decoder: &Decoder,
    requests: &mut Receiver<ModelRequest>,
    capacity: BatchCapacity,
    version: u64,
) -> Option<Reload> {
    let new_batch =
        || SharedBatch::new(decoder, capacity.rows, capacity.tokens, capacity.cpu_kernels);
    let mut batch = new_batch();
    let mut listeners: HashMap<u64, (usize, UnboundedSender<RequestEvent>)> = HashMap::new();
    let mut next_id = 0;
    let (mut is_open, mut reload) = (true, None);
    loop {
        while is_open && batch.has_room() {
            let request = if batch.is_idle() {
                requests.blocking_recv()
            } else {
                match requests.try_recv() {
                    Ok(request) => Some(request),
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => None,
                }
            };
            match request {
                None => is_open = false,
                Some(ModelRequest::Reload(asked)) => (is_open, reload) = (false, Some(asked)),
                Some(ModelRequest::Generate(work)) => {
                    admit(decoder, work, &mut batch, &mut listeners, &mut next_id);
                }
            }
        }
        if batch.is_idle() {
            listeners.clear();
            if is_open {
                continue;
            }
            return reload;
        }
        let step = batch.step(&mut |drawing| {
            let Some((prompt, events)) = listeners.get(&drawing.id) else { return false };
            events.send(RequestEvent::Drawn { prompt: *prompt, drawing, version }).is_ok()
        });
        if let Err(error) = step {
            // It cannot be told whose tokens these were.
            for (_, (_, events)) in listeners.drain() {
                let given_up = GenerationError::GivenUp(error.to_string());
                let _heard = events.send(RequestEvent::Failed(given_up));
            }
            batch = new_batch();
        }
        listeners.retain(|id, (_, events)| !events.is_closed() && batch.holds(*id));
    }
}

fn admit(
    decoder: &Decoder,
    work: Work,
    batch: &mut SharedBatch<'_>,
    listeners: &mut HashMap<u64, (usize, UnboundedSender<RequestEvent>)>,
    next_id: &mut u64,
) {
    let Work { request, seed, events } = work;
    if events.is_closed() {
        return;
    }
    for (prompt, TurnPrompt { token_ids, .. }) in request.prompts.iter().enumerate() {
        if request.echo && request.log_probs.is_some() {
            let log_prob = score(decoder, token_ids, 1.0).log_prob;
            let _heard = events.send(RequestEvent::Scored { prompt, log_prob });
        }
        if request.only_echo {
            continue;
        }
        let id = *next_id;
        *next_id += 1;
        let key = SamplingKey { seed, step: 0, prompt: prompt as u64 };
        match batch.push(request.ask(prompt, id, key)) {
            Ok(()) => drop(listeners.insert(id, (prompt, events.clone()))),
            Err(error) => {
                let _heard = events.send(RequestEvent::Failed(error));
                return;
            }
        }
    }
}
