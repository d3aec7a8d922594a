//! One request on one connection: to a socket that costs nothing worth keeping it for.

use std::fmt::Write;

use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use axum::http::{Method, StatusCode};
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};

use super::{ClientError, Place};

/// No answer may be longer: an engine elsewhere must not eat the memory.
const LONGEST_ANSWER: usize = 256 * 1024 * 1024;

/// What is asked.
pub(super) struct Request<'a> {
    pub method: Method,
    pub path: &'a str,
    pub headers: &'a [(&'a str, &'a str)],
    pub body: Option<Vec<u8>>,
}

/// Asks, and returns the whole answer.
pub(super) async fn exchange(
    place: &Place,
    request: Request<'_>,
) -> Result<(StatusCode, Bytes), ClientError> {
    let answer = open(place, request).await?;
    let status = answer.status();
    let body = Limited::new(answer.into_body(), LONGEST_ANSWER).collect().await;
    let body = body.map_err(|error| broken(place, &error.to_string()))?;
    Ok((status, body.to_bytes()))
}

/// Asks, and returns the answer as far as its body.
pub(super) async fn open(
    place: &Place,
    request: Request<'_>,
) -> Result<hyper::Response<Incoming>, ClientError> {
    let unreachable =
        |error: std::io::Error| ClientError::Unreachable { place: place.to_string(), why: error.to_string() };
    match place {
        Place::Socket(path) => {
            send(place, UnixStream::connect(path).await.map_err(unreachable)?, request).await
        }
        Place::Tcp(address, _) => {
            send(place, TcpStream::connect(address).await.map_err(unreachable)?, request).await
        }
    }
}

async fn send<S>(
    place: &Place,
    stream: S,
    request: Request<'_>,
) -> Result<hyper::Response<Incoming>, ClientError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let failed = |error: hyper::Error| broken(place, &error.to_string());
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(failed)?;
    // It carries the answer, and ends with it; an error of its own is the answer's too.
    tokio::spawn(async move { drop(connection.await) });
    let mut asked = hyper::Request::builder().method(request.method).uri(request.path);
    asked = match place {
        Place::Socket(_) => asked.header(HOST, "localhost"),
        Place::Tcp(address, token) => {
            let asked = asked.header(HOST, address.to_string());
            match token {
                Some(token) => asked.header(AUTHORIZATION, token.header()),
                None => asked,
            }
        }
    };
    for (name, value) in request.headers {
        asked = asked.header(*name, *value);
    }
    let body = request.body.unwrap_or_default();
    let asked = asked.header(CONTENT_TYPE, "application/json").body(Full::new(Bytes::from(body)));
    let asked = asked
        .map_err(|error| ClientError::Unreachable { place: place.to_string(), why: error.to_string() })?;
    sender.send_request(asked).await.map_err(failed)
}

pub(super) fn broken(place: &Place, why: &str) -> ClientError {
    ClientError::Broken { place: place.to_string(), why: why.to_owned() }
}

/// Writes an id so that it is one piece of a path.
pub(super) fn escaped(id: &str) -> String {
    let mut text = String::with_capacity(id.len());
    for byte in id.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
            text.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}
