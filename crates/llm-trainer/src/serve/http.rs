//! The network's side: the port, and connections until a signal asks for the end.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::thread::JoinHandle;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{Receiver, channel};

use super::Settings;
use super::request::Reader;
use super::server::Server;
use super::worker::{ModelRequest, run};
use decoder::model::Decoder;

/// A server that has its port and its model, before its first request.
#[derive(Debug)]
pub(crate) struct Listening {
    listener: std::net::TcpListener,
    settings: Settings,
    decoder: Decoder,
    reader: Reader,
}

/// Takes the port, and resolves the folder that models may be loaded from.
pub(crate) fn listen(
    address: SocketAddr,
    mut settings: Settings,
    decoder: Decoder,
    reader: Reader,
) -> anyhow::Result<Listening> {
    let with_name = |what: String| move |error: io::Error| anyhow::anyhow!("{what}: {error}");
    let listener = std::net::TcpListener::bind(address).map_err(with_name(address.to_string()))?;
    listener.set_nonblocking(true)?;
    if let Some(root) = &mut settings.reload_root {
        *root = root.canonicalize().map_err(with_name(root.display().to_string()))?;
    }
    Ok(Listening { listener, settings, decoder, reader })
}

impl Listening {
    /// The address, with the assigned port if port 0 was requested.
    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `ended` ends, such as [`signalled`]; then takes no more connections, and ends what was begun.
    pub(crate) fn serve_until(
        self,
        ended: impl Future<Output = io::Result<()>> + Send + 'static,
    ) -> anyhow::Result<()> {
        let Self { listener, settings, decoder, reader } = self;
        let capacity = reader.capacity;
        let (taken, network) = start_network(listener, settings, reader, ended)?;
        run(decoder, taken, capacity);
        network.join().map_err(|_| anyhow::anyhow!("the network's thread has failed"))?
    }
}

/// Serves in a thread until no one takes requests any more, or until `ended` ends.
fn start_network(
    listener: std::net::TcpListener,
    settings: Settings,
    reader: Reader,
    ended: impl Future<Output = io::Result<()>> + Send + 'static,
) -> anyhow::Result<(Receiver<ModelRequest>, JoinHandle<anyhow::Result<()>>)> {
    let (requests, taken) = channel(settings.queue);
    let server = Arc::new(Server::new(settings, reader, requests));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let network = std::thread::Builder::new().name("network".to_owned()).spawn(move || {
        let outcome = runtime.block_on(accept(listener, server, ended));
        // Open connections lose their answers, and so their rows in the batch; no one can send requests any more.
        drop(runtime);
        outcome
    })?;
    Ok((taken, network))
}

/// Serves a model that stays with the caller, on a free port of this machine: its address, and the requests to answer. It ends
/// when no one takes these any more.
pub(crate) fn open(
    settings: Settings,
    reader: Reader,
) -> anyhow::Result<(SocketAddr, Receiver<ModelRequest>)> {
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let (requests, _network) = start_network(listener, settings, reader, std::future::pending())?;
    Ok((address, requests))
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
