//! Events to a hundred listeners, against bare axum: a broadcast channel and axum's own server-sent events, the same
//! events over the same kind of socket, in one run, taking turns.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a measuring program"
)]

#[path = "floors.rs"]
mod floors;

use std::convert::Infallible;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::response::Sse;
use axum::response::sse::Event as SseEvent;
use axum::routing::get;
use floors::{Floor, median, report, timed};
use futures_util::{Stream, stream};
use quarterdeck::config::Config;
use quarterdeck::engine::door::{Answer, Door, RING};
use quarterdeck::engine::driver::{Driver, Stopper, World};
use quarterdeck::model::command::{Command, Limits, ReceiptState, Spec, StepSpec, Verb};
use quarterdeck::model::event::payload::SubtaskTurn;
use quarterdeck::model::event::{Body, Event};
use quarterdeck::model::id::Seq;
use quarterdeck::model::time::Stamp;
use quarterdeck::serve::client::{Blocking, Client, Place};
use quarterdeck::serve::{self, Options, Serving};
use quarterdeck::store::disk::RealDisk;
use quarterdeck::store::folder::StateFolder;
use tokio::net::{UnixListener, UnixStream};
use tokio::runtime::Runtime;
use tokio::sync::{broadcast, mpsc};

const LISTENERS: usize = 100;
/// Steps of one delegation: cancelled, each is one event.
const STEPS: usize = 2000;
const TURNS: usize = 9;
/// What ends a turn, for every listener.
const LAST: &str = "delegation:cancelled";

fn main() -> ExitCode {
    let temp = tempfile::tempdir().unwrap();
    let ours = Ours::open(temp.path());
    let bare = Bare::open(&temp.path().join("bare.sock"));
    let runtime = Runtime::new().unwrap();
    let mut at_ours = listen(&runtime, &ours.folder.engine_sock(), "/api/delegation/events");
    let mut at_bare = listen(&runtime, &bare.socket, "/events");
    let (mut ours_took, mut bare_took) = (Vec::new(), Vec::new());
    for turn in 0..TURNS {
        ours.hand_over(turn);
        ours_took.push(timed(|| {
            ours.cancel(turn);
            until_all(&runtime, &mut at_ours);
        }));
        bare_took.push(timed(|| {
            bare.tell();
            until_all(&runtime, &mut at_bare);
        }));
    }
    let (ours_took, bare_took) = (median(ours_took), median(bare_took));
    let rate = |seconds: f64| (STEPS * LISTENERS) as f64 / seconds / 1000.0;
    println!(
        "       {:.0} k events/s, decided, written down and told; {:.0} k events/s only told, bare",
        rate(ours_took),
        rate(bare_took)
    );
    let asked = asking(&ours.folder.engine_sock(), &bare.socket);
    ours.close();
    let told = bare_took / ours_took;
    report([
        ("events to 100 listeners, speed against a bare axum fan-out", told, Floor::AtLeast(0.5)),
        ("a request through guard and routes, time against a bare route", asked, Floor::AtMost(2.0)),
    ])
}

/// Returns how much longer a request takes that the guard lets in than one that nobody guards, by the same client.
fn asking(ours: &Path, bare: &Path) -> f64 {
    const REQUESTS: usize = 200;
    let client = |socket: &Path| Blocking::new(Client::new(Place::Socket(socket.to_owned()))).unwrap();
    let (ours, bare) = (client(ours), client(bare));
    let (mut ours_took, mut bare_took) = (Vec::new(), Vec::new());
    let many = |client: &Blocking, path: &str| {
        for _ in 0..REQUESTS {
            assert_eq!(client.get(path).unwrap().status, 200);
        }
    };
    for _ in 0..TURNS {
        ours_took.push(timed(|| many(&ours, "/api/version")));
        bare_took.push(timed(|| many(&bare, "/hello")));
    }
    let (ours_took, bare_took) = (median(ours_took), median(bare_took));
    let each = |seconds: f64| seconds / REQUESTS as f64 * 1e6;
    println!("       {:.0} µs a request, {:.0} µs bare", each(ours_took), each(bare_took));
    ours_took / bare_took
}

/// An engine whose agents are all busy, so that what is handed to it waits.
struct Ours {
    folder: StateFolder,
    door: Door,
    serving: Serving,
    stopper: Stopper,
    driver: JoinHandle<()>,
    asking: Runtime,
}

impl Ours {
    fn open(project: &Path) -> Self {
        let folder = StateFolder::at(project.join(".quarterdeck"));
        let config = "[agents.busy]\nkind = \"command\"\ncommand = \"sleep 600\"\n";
        std::fs::write(project.join("quarterdeck.toml"), config).unwrap();
        let program = Path::new(env!("CARGO_BIN_EXE_quarterdeck")).to_owned();
        let env = std::env::vars().filter(|(name, _)| name == "PATH").collect();
        let world = World::new(program, env, Config::read(project).unwrap());
        let driver = Driver::open(folder.clone(), Arc::new(RealDisk), world).unwrap();
        let (door, stopper) = (driver.door(), driver.stopper());
        let serving = serve::open(&door, &Options::default()).unwrap();
        let driver = std::thread::spawn(move || driver.run().unwrap());
        let ours = Self { folder, door, serving, stopper, driver, asking: Runtime::new().unwrap() };
        ours.give("busy", start(5));
        ours
    }

    fn hand_over(&self, turn: usize) {
        self.give(&format!("del-{turn}"), start(STEPS));
    }

    fn cancel(&self, turn: usize) {
        self.give(&format!("del-{turn}"), Verb::Cancel { rollback: false, reason: None });
    }

    fn give(&self, id: &str, verb: Verb) {
        let command = Command {
            id: format!("{}-{id}", verb.kind()).into(),
            verb,
            delegation_id: id.into(),
            subtask_id: None,
            by: None,
            at: Stamp::from_millis(0),
        };
        let answer = self.asking.block_on(async { self.door.command(command).await.unwrap().await.unwrap() });
        let Answer::Receipt(receipt) = answer else { return };
        assert!(matches!(receipt.state, ReceiptState::Confirmed { .. }), "{receipt:?}");
    }

    fn close(self) {
        self.give("busy", Verb::Cancel { rollback: false, reason: None });
        self.stopper.stop();
        self.driver.join().unwrap();
        self.serving.close(&self.door);
    }
}

fn start(steps: usize) -> Verb {
    let step =
        |nth| StepSpec { id: format!("st-{nth}").into(), prompt: "wait".into(), ..StepSpec::default() };
    let limits = Limits { grace_ms: 100, ..Limits::default() };
    Verb::Start {
        spec: Box::new(Spec { subtasks: (1..=steps).map(step).collect(), limits, ..Spec::default() }),
    }
}

/// What anybody would write first.
struct Bare {
    socket: PathBuf,
    events: broadcast::Sender<Arc<(u64, &'static str, String)>>,
    _runtime: Runtime,
}

impl Bare {
    fn open(socket: &Path) -> Self {
        let events = broadcast::Sender::new(RING);
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let router = Router::new()
            .route("/events", get(bare_events))
            .route("/hello", get(async || "{}"))
            .with_state(events.clone());
        let listener = runtime.block_on(async { UnixListener::bind(socket).unwrap() });
        runtime.spawn(async move { axum::serve(listener, router).await });
        Self { socket: socket.to_owned(), events, _runtime: runtime }
    }

    fn tell(&self) {
        for seq in 0..=STEPS as u64 {
            let name = if seq == STEPS as u64 { LAST } else { "delegation:subtask-cancelled" };
            let turn = SubtaskTurn {
                delegation_id: "del-4k2j9x0a".into(),
                subtask_id: format!("st-{seq}").into(),
                ..SubtaskTurn::default()
            };
            let event =
                Event { seq: Seq(seq), at: Stamp::from_millis(0), body: Body::SubtaskCancelled(turn) };
            let data = serde_json::to_string(&event).unwrap();
            self.events.send(Arc::new((seq, name, data))).unwrap();
        }
    }
}

type BareEvents = broadcast::Sender<Arc<(u64, &'static str, String)>>;

async fn bare_events(
    State(events): State<BareEvents>,
) -> Sse<impl Stream<Item = Result<SseEvent, Infallible>>> {
    Sse::new(stream::unfold(events.subscribe(), |mut events| async move {
        let event = events.recv().await.ok()?;
        let (seq, name, data) = &*event;
        Some((Ok(SseEvent::default().id(seq.to_string()).event(*name).data(data)), events))
    }))
}

/// Connects every listener; each tells when it has heard the last event of a turn.
fn listen(runtime: &Runtime, socket: &Path, path: &str) -> mpsc::Receiver<usize> {
    let (tell, told) = mpsc::channel(LISTENERS);
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
    for listener in 0..LISTENERS {
        let (tell, request, socket) = (tell.clone(), request.clone(), socket.to_owned());
        let mut stream = std::os::unix::net::UnixStream::connect(socket).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        // The head of the answer: it listens from now on.
        assert!(stream.read(&mut [0; 4096]).unwrap() > 0);
        stream.set_nonblocking(true).unwrap();
        runtime.spawn(async move { hear(UnixStream::from_std(stream).unwrap(), listener, tell).await });
    }
    told
}

async fn hear(stream: UnixStream, listener: usize, tell: mpsc::Sender<usize>) {
    let mark = format!("event: {LAST}");
    let (mut buffer, mut kept) = (vec![0; 256 * 1024], 0);
    loop {
        stream.readable().await.unwrap();
        let read = match stream.try_read(&mut buffer[kept..]) {
            Ok(0) => return,
            Ok(read) => read,
            Err(_) => continue,
        };
        let whole = &buffer[..kept + read];
        let found = memchr::memmem::find_iter(whole, mark.as_bytes()).count();
        for _ in 0..found {
            tell.send(listener).await.unwrap();
        }
        // The mark may be cut in two, and must not be counted twice.
        let from = whole.len().saturating_sub(mark.len() - 1);
        kept = whole.len() - from;
        buffer.copy_within(from..from + kept, 0);
    }
}

fn until_all(runtime: &Runtime, heard: &mut mpsc::Receiver<usize>) {
    runtime.block_on(async {
        let mut seen = [false; LISTENERS];
        while seen.contains(&false) {
            let listener = tokio::time::timeout(Duration::from_mins(1), heard.recv()).await.unwrap().unwrap();
            assert!(!std::mem::replace(&mut seen[listener], true), "one turn at a time");
        }
    });
}
