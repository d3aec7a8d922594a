//! Who may ask. On the socket: the user whose engine it is, by the system's word. On TCP: who has the token, calls
//! the engine by a name of its own (another name is how a web page would reach it), and is no web page that
//! nobody allowed.

use std::net::{IpAddr, SocketAddr};

use axum::extract::connect_info::ConnectInfo;
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::Api;
use super::problem::Problem;
use super::token::Token;

/// Who is at the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// A process of this user, where the system can tell.
    Socket {
        uid: Option<u32>,
    },
    Tcp,
}

/// Whom to let in.
#[derive(Debug, Clone)]
pub struct Rules {
    owner: u32,
    tcp: Option<TcpRules>,
}

#[derive(Debug, Clone)]
struct TcpRules {
    token: Token,
    /// Whether it listens beyond this machine.
    is_remote: bool,
    hosts: Vec<String>,
    origins: Vec<String>,
}

impl Rules {
    /// Lets this user in, on the socket.
    pub fn socket_only() -> Self {
        Self { owner: rustix::process::getuid().as_raw(), tcp: None }
    }

    /// Lets in who has the token, on TCP.
    #[must_use]
    pub fn and_tcp(
        self,
        token: Token,
        address: SocketAddr,
        hosts: Vec<String>,
        origins: Vec<String>,
    ) -> Self {
        let is_remote = !address.ip().is_loopback();
        Self { tcp: Some(TcpRules { token, is_remote, hosts, origins }), ..self }
    }

    /// Decides whether a request is let in.
    pub fn admit(&self, peer: Peer, uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
        match (peer, &self.tcp) {
            (Peer::Socket { uid }, _) if uid == Some(self.owner) => Ok(()),
            (Peer::Socket { .. }, _) => {
                let text = "This engine belongs to another user.";
                Err(Problem::new(StatusCode::FORBIDDEN, "not-owner", text))
            }
            (Peer::Tcp, Some(tcp)) => tcp.admit(uri, headers),
            (Peer::Tcp, None) => Err(forbidden("tcp", "This engine does not answer over TCP.")),
        }
    }
}

impl TcpRules {
    fn admit(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
        let mut hosts = headers.get_all(HOST).iter();
        let (host, another) = (hosts.next().and_then(|host| host.to_str().ok()), hosts.next());
        let named = [uri.authority().map(Authority::as_str), host];
        let is_ours = named.iter().flatten().all(|host| self.is_ours(host));
        if host.is_none() || another.is_some() || !is_ours {
            return Err(forbidden(
                "host",
                "This engine is not called that.\nUse localhost, or allow the name with --allow-host.",
            ));
        }
        if let Some(origin) = headers.get(ORIGIN) {
            let is_allowed = self.origins.iter().any(|allowed| origin.as_bytes() == allowed.as_bytes());
            if !is_allowed {
                return Err(forbidden(
                    "origin",
                    "This web page may not command agents.\nAllow it with --allow-origin.",
                ));
            }
        }
        let sent = headers.get(AUTHORIZATION).and_then(|sent| sent.to_str().ok());
        let sent = sent
            .and_then(|sent| sent.split_once(' '))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        match sent {
            Some((_, token)) if self.token.is(token.trim()) => Ok(()),
            Some(_) => Err(unauthorized("The token is wrong.")),
            None => Err(unauthorized("A token is needed.")),
        }
    }

    /// An address of this machine cannot be made to mean another one; a name can.
    fn is_ours(&self, host: &str) -> bool {
        let name = without_port(host);
        let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        match address {
            Ok(address) => address.is_loopback() || self.is_remote,
            Err(_) => {
                name.eq_ignore_ascii_case("localhost")
                    || self.hosts.iter().any(|allowed| allowed.eq_ignore_ascii_case(name))
            }
        }
    }
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if !name.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => {
            // `::1` without brackets has no port.
            if name.contains(':') && !name.ends_with(']') { host } else { name }
        }
        _ => host,
    }
}

fn forbidden(code: &str, text: &str) -> Problem {
    Problem::new(StatusCode::FORBIDDEN, code, text)
}

fn unauthorized(text: &str) -> Problem {
    let hint = "Send `Authorization: Bearer …` with what is in engine.token of the state folder.";
    Problem::new(StatusCode::UNAUTHORIZED, "token", &format!("{text}\n{hint}"))
}

/// Stands before every route.
pub(super) async fn stand(State(api): State<Api>, request: Request, next: Next) -> Response {
    let peer = request.extensions().get::<ConnectInfo<Peer>>().map(|info| info.0);
    // Who cannot be told is nobody.
    let peer = peer.unwrap_or(Peer::Socket { uid: None });
    if let Err(problem) = api.0.rules.admit(peer, request.uri(), request.headers()) {
        return problem.into_response();
    }
    api.0.door.visit();
    next.run(request).await
}
