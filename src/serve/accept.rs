//! Connections: how many there may be at once, and how long one may say nothing. Each costs a file of this process,
//! and the engine needs files for its own work: whoever opens connections must not be able to take them all.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::connect_info::ConnectInfo;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::{Semaphore, watch};

use super::guard::Peer;

/// What is allowed in one place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Allowed {
    /// How many connections there may be at once; who comes then waits.
    pub most: usize,
    /// How long a request's head may take, also the next one of the same connection.
    pub head_within: Duration,
}

impl Allowed {
    /// On the socket, which only this user can open.
    pub const SOCKET: Self = Self { most: 1024, head_within: Duration::from_secs(10) };
    /// On TCP anybody can connect, with or without a token.
    pub const TCP: Self = Self { most: 256, ..Self::SOCKET };
}

/// How long nobody is let in when the system has no files left.
const BREATHER: Duration = Duration::from_millis(200);

/// Something that lets connections in.
pub(super) trait Listens: Send + 'static {
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;
    fn next(&self) -> impl Future<Output = io::Result<(Self::Stream, Peer)>> + Send;
}

impl Listens for UnixListener {
    type Stream = UnixStream;

    async fn next(&self) -> io::Result<(UnixStream, Peer)> {
        let (stream, _) = self.accept().await?;
        let uid = stream.peer_cred().ok().map(|peer| peer.uid());
        Ok((stream, Peer::Socket { uid }))
    }
}

impl Listens for TcpListener {
    type Stream = TcpStream;

    async fn next(&self) -> io::Result<(TcpStream, Peer)> {
        let (stream, _) = self.accept().await?;
        // An event is sent when it happens, not when there is more to send; without it events come late.
        let _ = stream.set_nodelay(true);
        Ok((stream, Peer::Tcp))
    }
}

/// Lets connections in until `closed` ends, then lets those that are there finish.
pub(super) async fn serve<L: Listens>(
    listener: L,
    allowed: Allowed,
    router: Router,
    mut closed: watch::Receiver<()>,
) {
    let places = Arc::new(Semaphore::new(allowed.most));
    loop {
        let next = async {
            // It is never closed.
            let place = Arc::clone(&places).acquire_owned().await.ok();
            (place, listener.next().await)
        };
        let (place, stream) = tokio::select! {
            next = next => next,
            // Its sender is never used, only dropped.
            _ = closed.changed() => return,
        };
        match stream {
            Ok((stream, peer)) => {
                let (router, closed) = (router.clone(), closed.clone());
                tokio::spawn(async move {
                    attend((stream, peer), allowed, router, closed).await;
                    drop(place);
                });
            }
            Err(error) if is_theirs(&error) => {}
            Err(_) => tokio::time::sleep(BREATHER).await,
        }
    }
}

/// Returns whether a connection failed before it was let in: the next one may be well.
fn is_theirs(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

async fn attend<S>(
    (stream, peer): (S, Peer),
    allowed: Allowed,
    router: Router,
    mut closed: watch::Receiver<()>,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let router = TowerToHyperService::new(router);
    let answer = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(ConnectInfo(peer));
        router.call(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(allowed.head_within)
        .serve_connection(TokioIo::new(stream), answer);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        // How a connection ended concerns only who had it.
        _ = connection.as_mut() => return,
        _ = closed.changed() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream as Plain;

    const LONG: Duration = Duration::from_mins(1);

    /// Serves one route on a socket of its own.
    fn serving(
        allowed: Allowed,
    ) -> (tokio::runtime::Runtime, watch::Sender<()>, tempfile::TempDir, impl Fn() -> Plain) {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let (temp, (closing, closed)) = (tempfile::tempdir().unwrap(), watch::channel(()));
        let path = temp.path().join("sock");
        let entered = runtime.enter();
        let listener = UnixListener::bind(&path).unwrap();
        drop(entered);
        let router = Router::new().route("/", axum::routing::get(|| async { "here" }));
        runtime.spawn(serve(listener, allowed, router, closed));
        let connect = move || {
            let stream = Plain::connect(&path).unwrap();
            stream.set_read_timeout(Some(LONG)).unwrap();
            stream
        };
        (runtime, closing, temp, connect)
    }

    fn ask(mut stream: &Plain) {
        stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
    }

    fn rest(mut stream: &Plain) -> String {
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn who_says_nothing_or_speaks_too_slowly_is_sent_away() {
        let allowed = Allowed { most: 4, head_within: Duration::from_millis(50) };
        let (_runtime, _closing, _temp, connect) = serving(allowed);
        let (silent, slow) = (connect(), connect());
        (&slow).write_all(b"GET / HT").unwrap();
        assert!(!rest(&silent).contains("here"));
        assert!(!rest(&slow).contains("here"));
    }

    #[test]
    fn more_than_are_allowed_wait_until_one_leaves() {
        let (_runtime, _closing, _temp, connect) = serving(Allowed { most: 2, head_within: LONG });
        let (one, two, third) = (connect(), connect(), connect());
        ask(&third);
        third.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        let early = (&third).read(&mut [0; 16]);
        assert!(early.is_err(), "it was let in beside two others: {early:?}");
        third.set_read_timeout(Some(LONG)).unwrap();
        drop(one);
        assert!(rest(&third).ends_with("here"));
        drop(two);
    }
}
