//! The client: over the socket, with another version at the other end, and as a source of facts.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::{Duration, Instant};

use quarterdeck::engine::door::Door;
use quarterdeck::engine::driver::{Driver, World};
use quarterdeck::model::Model;
use quarterdeck::model::id::Seq;
use quarterdeck::model::key::SourceId;
use quarterdeck::model::record::model_record;
use quarterdeck::serve::client::{Blocking, Client, ClientError, News, Place, Remote};
use quarterdeck::serve::{self, API, Serving};
use quarterdeck::store::disk::RealDisk;

use crate::deck::{Deck, Shape};

const SOURCE: SourceId = SourceId(0);

fn text(model: &Model) -> String {
    serde_json::to_string_pretty(&model_record(model, SOURCE)).unwrap()
}

fn open(deck: &Deck) -> (Serving, Client) {
    let serving = serve::open(&deck.door(), &deck.options).unwrap();
    let (client, announced) = Client::of(&deck.folder).unwrap();
    assert_eq!(Some(&announced), Some(serving.announced()), "what is announced is what listens");
    (serving, client)
}

fn reached(model: &Model) -> Seq {
    model.source(SOURCE).map_or(Seq(0), |source| source.seq)
}

/// Follows until the model has what the engine has, and that does not change any more.
async fn catch_up(remote: &mut Remote, model: &mut Model, door: &Door) -> String {
    let give_up = Instant::now() + Duration::from_mins(1);
    loop {
        let (seq, engine) = door.look(|view| (view.seq, text(view.model))).await.unwrap();
        if reached(model) == seq {
            return engine;
        }
        let facts = tokio::time::timeout(Duration::from_secs(30), remote.next()).await;
        let _ = model.apply_all(facts.unwrap_or_else(|_| panic!("silent at {}", reached(model))).unwrap());
        assert!(Instant::now() < give_up, "at {} of {seq}", reached(model));
    }
}

#[test]
fn a_model_fed_by_snapshot_and_events_equals_the_engines_also_across_a_restart_and_a_lag() {
    let mut deck = Deck::shaped(Shape { ring: 2, ..Shape::default() });
    let (serving, client) = open(&deck);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut remote = Remote::new(client, SOURCE);
    let mut model = Model::default();
    runtime.block_on(async {
        let id = deck.begin("echo").await;
        deck.until_status(&id, "done").await;
        // The snapshot, and then nothing is read for a while.
        while reached(&model) == Seq(0) {
            let _ = model.apply_all(remote.next().await.unwrap());
        }
        for agent in ["echo", "fails", "slow", "echo"] {
            deck.begin(agent).await;
        }
        deck.until_file("slow.starts", 1).await;
        let engine = catch_up(&mut remote, &mut model, &deck.door()).await;
        pretty_equal(&text(&model), &engine);
    });
    serving.close(&deck.door());
    deck.stop();
    deck.start();
    let (serving, _) = open(&deck);
    runtime.block_on(async {
        std::fs::write(deck.path("go"), "").unwrap();
        deck.until("/api/delegation/active", |told| {
            told["delegations"].as_array().is_some_and(Vec::is_empty)
        })
        .await;
        let engine = catch_up(&mut remote, &mut model, &deck.door()).await;
        pretty_equal(&text(&model), &engine);
    });
    serving.close(&deck.door());
}

#[track_caller]
fn pretty_equal(one: &str, other: &str) {
    let differ = one.lines().zip(other.lines()).find(|(one, other)| one != other);
    assert!(one == other, "they differ: {differ:?}");
}

#[test]
fn who_comes_back_to_another_journal_starts_over() {
    let mut deck = Deck::new();
    let (serving, client) = open(&deck);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut events = client.events(Some(Seq(0)));
    runtime.block_on(async {
        assert_eq!(events.next().await.unwrap(), News::Listening);
        assert!(matches!(events.next().await.unwrap(), News::Event { seq: Seq(1), .. }));
    });
    serving.close(&deck.door());
    deck.stop();
    std::fs::remove_dir_all(&deck.folder.root).unwrap();
    deck.start();
    let (serving, _) = open(&deck);
    runtime.block_on(async {
        let give_up = Instant::now() + Duration::from_mins(1);
        loop {
            match tokio::time::timeout(Duration::from_secs(30), events.next()).await.unwrap().unwrap() {
                News::Reset => break,
                News::Event { seq, .. } => assert!(seq > Seq(1), "what came before the end of the old one"),
                News::Lost(_) | News::Listening => {}
            }
            assert!(Instant::now() < give_up);
        }
    });
    serving.close(&deck.door());
}

/// A server of another version: answers one request with this.
fn other_version(api: u32) -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 4096]).unwrap();
        let body = format!(r#"{{"api":{api},"version":"9.9.9","other":true}}"#);
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length:";
        stream.write_all(format!("{head} {}\r\n\r\n{body}", body.len()).as_bytes()).unwrap();
    });
    address
}

#[test]
fn another_version_says_which_side_to_restart() {
    for (api, side) in [(API - 1, "Restart the engine"), (API + 1, "Restart this program")] {
        let client = Blocking::new(Client::new(Place::Tcp(other_version(api), None))).unwrap();
        let Err(ClientError::OtherApi(said)) = client.version() else { panic!("interface {api} was taken") };
        assert!(
            said.contains(side) && said.contains("9.9.9") && said.contains(&format!("interface {api}")),
            "{said}"
        );
    }
}

#[test]
fn the_folder_is_kept_until_the_interface_is_closed_so_that_the_next_engines_socket_stays() {
    let deck = Deck::stopped(Shape::default());
    let open = || {
        let config = quarterdeck::config::Config::default();
        let world = World::new("no-agent-is-run".into(), std::collections::BTreeMap::new(), config);
        Driver::open(deck.folder.clone(), std::sync::Arc::new(RealDisk), world)
    };
    let driver = open().unwrap();
    let door = driver.door();
    let serving = serve::open(&door, &deck.options).unwrap();
    driver.stopper().stop();
    let (kept, ended) = driver.run_and_keep();
    ended.unwrap();
    assert!(open().is_err(), "its socket is still there, and so is its lock");
    serving.close(&door);
    drop(kept);
    assert!(!deck.folder.engine_sock().exists());
    drop(open().unwrap());
}

#[test]
fn the_socket_is_its_owners_and_nothing_is_left_of_it() {
    use std::os::unix::fs::PermissionsExt;
    let deck = Deck::new();
    // What a killed engine left there is no obstacle.
    std::fs::write(deck.folder.engine_sock(), "").unwrap();
    let (serving, client) = open(&deck);
    for path in [deck.folder.engine_sock(), deck.folder.engine_json()] {
        assert_eq!(
            std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600,
            "{}",
            path.display()
        );
    }
    let client = Blocking::new(client).unwrap();
    assert_eq!(client.version().unwrap().api, API);
    assert!(matches!(client.get("/api/nothing"), Err(ClientError::Refused { status: 404, .. })));
    serving.close(&deck.door());
    assert!(!deck.folder.engine_sock().exists() && !deck.folder.engine_json().exists());
    assert!(matches!(client.version(), Err(ClientError::Unreachable { .. })));
}
