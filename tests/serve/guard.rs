//! Who is let in: the decision by itself, then over real TCP.

use axum::body::Body;
use axum::extract::connect_info::ConnectInfo;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Request, Uri};
use quarterdeck::serve::client::{Client, ClientError, Place};
use quarterdeck::serve::guard::{Peer, Rules};
use quarterdeck::serve::token::Token;
use quarterdeck::serve::{self, Options, ServeError};
use quarterdeck::store::folder::StateFolder;

use crate::deck::{Deck, Shape, answer};

fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
    let pair = |(name, value): &(&str, &str)| {
        (HeaderName::from_bytes(name.as_bytes()).unwrap(), HeaderValue::from_str(value).unwrap())
    };
    pairs.iter().map(pair).collect()
}

fn token() -> (tempfile::TempDir, Token) {
    let temp = tempfile::tempdir().unwrap();
    let token = Token::of(&StateFolder::at(temp.path())).unwrap();
    (temp, token)
}

#[test]
fn on_the_socket_only_its_owner_is_let_in() {
    let rules = Rules::socket_only();
    let (uri, none) = (Uri::from_static("/api/version"), headers(&[]));
    let uid = rustix::process::getuid().as_raw();
    assert!(rules.admit(Peer::Socket { uid: Some(uid) }, &uri, &none).is_ok());
    for peer in [Peer::Socket { uid: Some(uid + 1) }, Peer::Socket { uid: None }, Peer::Tcp] {
        assert_eq!(rules.admit(peer, &uri, &none).unwrap_err().status, 403, "{peer:?}");
    }
}

#[test]
fn on_tcp_the_name_the_page_and_the_token_must_be_right() {
    let (_temp, token) = token();
    let right = token.header();
    let local = "127.0.0.1:4000".parse().unwrap();
    let rules =
        Rules::socket_only().and_tcp(token.clone(), local, vec!["deck.lan".into()], vec!["http://ok".into()]);
    let uri = Uri::from_static("/api/version");
    let admit = |pairs: &[(&str, &str)]| {
        rules.admit(Peer::Tcp, &uri, &headers(pairs)).map_err(|problem| problem.status.as_u16())
    };
    let auth = ("authorization", right.as_str());
    for host in
        ["localhost", "LOCALHOST:4000", "127.0.0.1:4000", "[::1]:4000", "::1", "127.9.9.9", "deck.lan:1"]
    {
        assert_eq!(admit(&[("host", host), auth]), Ok(()), "{host}");
    }
    for host in ["evil.example", "localhost.evil.example", "10.0.0.1:4000", "", "[::2]", "evil:4000:4000"] {
        assert_eq!(admit(&[("host", host), auth]), Err(403), "{host}");
    }
    assert_eq!(admit(&[auth]), Err(403), "without a name");
    let host = ("host", "localhost");
    assert_eq!(admit(&[host, auth, ("origin", "http://ok")]), Ok(()));
    for origin in ["http://evil.example", "null", "http://ok.evil", "http://localhost"] {
        assert_eq!(admit(&[host, auth, ("origin", origin)]), Err(403), "{origin}");
    }
    let shouted = right.replace("Bearer", "BEARER");
    assert_eq!(admit(&[host, ("authorization", &shouted)]), Ok(()));
    for wrong in
        ["Bearer ", "Bearer 00", "Basic xyz", &right[..right.len() - 1], &format!("{right}0"), "Bearer"]
    {
        assert_eq!(admit(&[host, ("authorization", wrong)]), Err(401), "{wrong}");
    }
    assert_eq!(admit(&[host]), Err(401));
    let evil: Uri = "http://evil.example/api/version".parse().unwrap();
    assert_eq!(
        rules.admit(Peer::Tcp, &evil, &headers(&[host, auth])).unwrap_err().status,
        403,
        "in the request line"
    );
    let remote = Rules::socket_only().and_tcp(token, "0.0.0.0:4000".parse().unwrap(), vec![], vec![]);
    assert!(
        remote.admit(Peer::Tcp, &uri, &headers(&[("host", "10.0.0.1:4000"), auth])).is_ok(),
        "by its address"
    );
    assert!(
        remote.admit(Peer::Tcp, &uri, &headers(&[("host", "evil.example"), auth])).is_err(),
        "never by any name"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_of_whom_nothing_is_known_is_refused() {
    let deck = Deck::new();
    let bare = Request::builder().uri("/api/version").body(Body::empty()).unwrap();
    assert_eq!(answer(deck.router(), bare).await.0, 403);
    let tcp =
        Request::builder().uri("/api/version").extension(ConnectInfo(Peer::Tcp)).body(Body::empty()).unwrap();
    assert_eq!(answer(deck.router(), tcp).await.0, 403, "it does not listen on TCP");
}

#[test]
fn over_tcp_the_token_opens_and_nothing_else_does() {
    let mut deck = Deck::stopped(Shape::default());
    deck.start();
    let options = Options { listen: Some("127.0.0.1:0".parse().unwrap()), ..deck.options.clone() };
    let serving = serve::open(&deck.door(), &options).unwrap();
    let address = serving.announced().tcp.unwrap();
    assert_ne!(address.port(), 0);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let ask = |token: Option<Token>| runtime.block_on(Client::new(Place::Tcp(address, token)).version());
    let status = |answer: Result<serve::Version, ClientError>| match answer {
        Err(ClientError::Refused { status, code, .. }) => (status, code),
        other => panic!("{other:?}"),
    };
    assert_eq!(status(ask(None)), (401, "token".into()));
    let (_other, wrong) = token();
    assert_eq!(status(ask(Some(wrong))), (401, "token".into()));
    let right = Token::read(&deck.folder.engine_token()).unwrap();
    assert_eq!(ask(Some(right.clone())).unwrap().epoch, 1);
    let long = serde_json::json!({"prompt": "x".repeat(2 * 1024 * 1024)});
    let client = Client::new(Place::Tcp(address, Some(right)));
    match runtime.block_on(client.post("/api/delegation/start", "key", &long)) {
        // It may hang up before all of it is sent.
        Err(ClientError::Refused { status: 413, .. } | ClientError::Broken { .. }) => {}
        other => panic!("{other:?}"),
    }
    serving.close(&deck.door());
    assert!(matches!(ask(None), Err(ClientError::Unreachable { .. })), "closed");
}

#[test]
fn an_address_that_others_reach_must_be_allowed() {
    let deck = Deck::new();
    let options = Options { listen: Some("0.0.0.0:0".parse().unwrap()), ..deck.options.clone() };
    let Err(refused) = serve::open(&deck.door(), &options) else { panic!("it listens to everybody") };
    assert!(matches!(refused, ServeError::NotLoopback(_)), "{refused}");
    assert!(refused.to_string().contains("--allow-remote"), "{refused}");
    let serving = serve::open(&deck.door(), &Options { allow_remote: true, ..options }).unwrap();
    serving.close(&deck.door());
}
