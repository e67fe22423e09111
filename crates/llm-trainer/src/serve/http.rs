//! The network's side: the port, and connections until a signal asks for the end.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::thread::JoinHandle;

use anyhow::Context;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{Receiver, channel};

use super::Settings;
use super::request::{BatchCapacity, Reader};
use super::server::Server;
use super::worker::{ModelRequest, run};
use decoder::model::Decoder;

/// A port that a thread of its own serves, until no one takes the requests any more.
#[derive(Debug)]
pub(crate) struct OpenPort {
    /// The address, with the assigned port if port 0 was requested.
    pub(crate) address: SocketAddr,
    pub(crate) requests: Receiver<ModelRequest>,
    capacity: BatchCapacity,
    network: JoinHandle<anyhow::Result<()>>,
}

/// Takes the port and serves it until `ended` ends, such as [`signalled`]; then takes no more connections, and ends what was begun.
pub(crate) fn open(
    address: SocketAddr,
    settings: Settings,
    reader: Reader,
    ended: impl Future<Output = io::Result<()>> + Send + 'static,
) -> anyhow::Result<OpenPort> {
    let listener = std::net::TcpListener::bind(address).with_context(|| address.to_string())?;
    listener.set_nonblocking(true)?;
    let (address, capacity) = (listener.local_addr()?, reader.capacity);
    let (sender, requests) = channel(settings.queue);
    let server = Arc::new(Server::new(settings, reader, sender));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let network = std::thread::Builder::new().name("network".to_owned()).spawn(move || {
        let outcome = runtime.block_on(accept(listener, server, ended));
        // Open connections lose their answers, and so their rows in the batch; no one can send requests any more.
        drop(runtime);
        outcome
    })?;
    Ok(OpenPort { address, requests, capacity, network })
}

impl OpenPort {
    /// Answers by a model until the network's thread has ended.
    pub(crate) fn answer_by(self, decoder: Decoder) -> anyhow::Result<()> {
        run(decoder, self.requests, self.capacity);
        self.network.join().map_err(|_| anyhow::anyhow!("the network's thread has failed"))?
    }
}

/// Takes connections until `ended` ends.
async fn accept(
    listener: std::net::TcpListener,
    server: Arc<Server>,
    ended: impl Future<Output = io::Result<()>>,
) -> anyhow::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    let mut ended = pin!(ended);
    let open = Arc::new(Semaphore::new(server.settings.connections));
    let graceful = GracefulShutdown::new();
    let mut http = http1::Builder::new();
    let Settings { read_timeout, keep_alive, .. } = server.settings;
    http.timer(TokioTimer::new()).header_read_timeout(read_timeout).keep_alive(keep_alive);
    loop {
        let place = Arc::clone(&open).acquire_owned();
        let next = async {
            let place = place.await;
            // A connection that is gone before it was taken is no reason to end.
            (listener.accept().await, place)
        };
        let accepted = tokio::select! {
            accepted = next => accepted,
            outcome = &mut ended => {
                outcome?;
                break;
            }
            // The model thread takes no more requests.
            () = server.model_requests.closed() => break,
        };
        let (Ok((stream, peer)), Ok(place)) = accepted else {
            // Out of files, say: not at full speed.
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            continue;
        };
        let server = Arc::clone(&server);
        let service = service_fn(move |request| {
            let server = Arc::clone(&server);
            async move { Ok::<_, Infallible>(server.answer_or_refuse(request, peer).await) }
        });
        let connection = graceful.watch(http.serve_connection(TokioIo::new(stream), service));
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

/// Waits for SIGTERM or SIGINT.
pub(crate) async fn signalled() -> io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        _ = terminate.recv() => {},
        _ = interrupt.recv() => {},
    }
    Ok(())
}
