//! One request on one connection to the server of this session, with the password that only it and we know.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::Method;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

use crate::agent::excerpt;

/// No answer may be longer: a conversation is at most some megabytes.
const LONGEST_ANSWER: usize = 256 * 1024 * 1024;

/// What was answered; a status of 0 where nothing was.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    pub status: u16,
    pub body: Value,
}

impl Answer {
    fn none(why: &str) -> Self {
        Self { status: 0, body: Value::String(why.to_owned()) }
    }

    /// Returns what it says, for a person.
    pub(super) fn words(&self) -> String {
        let said = ["/data/message", "/message", "/error/message", "/error"];
        let said = said.iter().find_map(|path| self.body.pointer(path)?.as_str()).map(str::to_owned);
        let said = said.unwrap_or_else(|| excerpt::brief_value(&self.body));
        if self.status == 0 { said } else { format!("{} {said}", self.status) }
    }
}

/// Where the server is, and how it knows us.
#[derive(Clone)]
pub(super) struct Client {
    address: SocketAddr,
    authorization: Arc<str>,
}

impl Client {
    pub(super) fn new(address: SocketAddr, password: &str) -> Self {
        let authorization = format!("Basic {}", base64(format!("opencode:{password}").as_bytes()));
        Self { address, authorization: authorization.into() }
    }

    pub(super) async fn get(&self, path: &str) -> Answer {
        self.whole(Method::GET, path, Vec::new()).await
    }

    pub(super) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.whole(Method::POST, path, body.to_string().into_bytes()).await
    }

    async fn whole(&self, method: Method, path: &str, body: Vec<u8>) -> Answer {
        let answer = match self.open(method, path, body).await {
            Ok(answer) => answer,
            Err(why) => return Answer::none(&why),
        };
        let status = answer.status().as_u16();
        match Limited::new(answer.into_body(), LONGEST_ANSWER).collect().await {
            Ok(body) => {
                let bytes = body.to_bytes();
                let text = || Value::String(String::from_utf8_lossy(&bytes).into_owned());
                let body = if bytes.is_empty() {
                    Value::Null
                } else {
                    serde_json::from_slice(&bytes).unwrap_or_else(|_| text())
                };
                Answer { status, body }
            }
            Err(error) => Answer::none(&error.to_string()),
        }
    }

    /// Asks, and returns the answer as far as its body.
    pub(super) async fn open(
        &self,
        method: Method,
        path: &str,
        body: Vec<u8>,
    ) -> Result<hyper::Response<Incoming>, String> {
        let stream = TcpStream::connect(self.address).await.map_err(|error| error.to_string())?;
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(|error| error.to_string())?;
        // It carries the answer, and ends with it; an error of its own is the answer's too.
        tokio::spawn(async move { drop(connection.await) });
        let asked = hyper::Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, self.address.to_string())
            .header(AUTHORIZATION, &*self.authorization)
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(Bytes::from(body)))
            .map_err(|error| error.to_string())?;
        sender.send_request(asked).await.map_err(|error| error.to_string())
    }
}

/// Writes bytes in the letters of RFC 4648.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let bits = (0..3).fold(0u32, |bits, nth| bits << 8 | u32::from(three.get(nth).copied().unwrap_or(0)));
        for nth in 0..4usize {
            let letter = LETTERS.get((bits >> (18 - 6 * nth) & 63) as usize).copied().unwrap_or(b'=');
            text.push(if nth > three.len() { '=' } else { char::from(letter) });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_standard() {
        let cases = [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")];
        for (plain, written) in cases {
            assert_eq!(base64(plain.as_bytes()), written);
        }
    }
}
