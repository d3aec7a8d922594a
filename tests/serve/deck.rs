//! An engine on a folder of its own, in this process, with its routes.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::connect_info::ConnectInfo;
use axum::http::{Request, Response};
use http_body_util::BodyExt;
use quarterdeck::config::Config;
use quarterdeck::engine::book::Book;
use quarterdeck::engine::door::Door;
use quarterdeck::engine::driver::{Driver, Stopper, World};
use quarterdeck::model::time::Stamp;
use quarterdeck::serve::guard::{Peer, Rules};
use quarterdeck::serve::{Api, Options};
use quarterdeck::store::disk::RealDisk;
use quarterdeck::store::folder::StateFolder;
use serde_json::Value;
use tower::ServiceExt;

const AGENTS: &str = r#"
default-agent = "echo"

[agents.echo]
kind = "command"
command = "cat; echo; echo started >> starts"

[agents.slow]
kind = "command"
command = "echo $$ >> slow.starts; while [ ! -e go ]; do sleep 0.02; done; echo finished"

[agents.stubborn]
kind = "command"
command = "trap '' TERM; echo x >> stubborn.starts; while :; do sleep 0.02; done"

[agents.spends]
kind = "command"
command = """
echo '{"quarterdeck":"usage","tokens":{"input":900,"output":300}}'
while [ ! -e go ]; do sleep 0.02; done
"""

[agents.fails]
kind = "command"
command = "echo x >> tries; exit 7"

[agents.ask]
kind = "simulated"
command = ["--speed", "50", "--do", "ask:May I?"]
"#;

/// How an engine of a test is to be.
pub struct Shape {
    pub ring: usize,
    pub patience: Duration,
    pub streams: usize,
    pub idle_after: Option<Duration>,
}

impl Default for Shape {
    fn default() -> Self {
        Self { ring: 1024, patience: Duration::from_secs(30), streams: 8, idle_after: None }
    }
}

pub struct Deck {
    pub temp: tempfile::TempDir,
    pub folder: StateFolder,
    pub shape: Shape,
    pub options: Options,
    running: Option<Running>,
}

struct Running {
    door: Door,
    router: Router,
    stopper: Stopper,
    thread: JoinHandle<()>,
}

impl Deck {
    pub fn new() -> Self {
        Self::shaped(Shape::default())
    }

    pub fn shaped(shape: Shape) -> Self {
        let mut deck = Self::stopped(shape);
        deck.start();
        deck
    }

    /// A folder on which no engine ran yet.
    pub fn stopped(shape: Shape) -> Self {
        let temp = tempfile::tempdir().unwrap();
        fs::write(temp.path().join("quarterdeck.toml"), AGENTS).unwrap();
        let folder = StateFolder::at(temp.path().join(".quarterdeck"));
        let options = Options { patience: shape.patience, streams: shape.streams, ..Options::default() };
        Self { temp, folder, shape, options, running: None }
    }

    pub fn start(&mut self) {
        let env: BTreeMap<String, String> = std::env::vars().filter(|(name, _)| name == "PATH").collect();
        let config = Config::read(self.temp.path()).unwrap();
        let world = World::new(assert_cmd::cargo::cargo_bin("quarterdeck"), env, config);
        let world = World { ring: self.shape.ring, idle_after: self.shape.idle_after, ..world };
        let folder = self.folder.clone();
        let (tell, told) = std::sync::mpsc::channel();
        // On a thread of its own from the beginning: it waits, which a task must not.
        let thread = std::thread::spawn(move || {
            let driver = Driver::open(folder, Arc::new(RealDisk), world).unwrap();
            tell.send((driver.door(), driver.stopper())).unwrap();
            driver.run().unwrap();
        });
        let (door, stopper) = told.recv().unwrap();
        let router = Api::new(door.clone(), &self.options, Rules::socket_only()).router();
        self.running = Some(Running { door, router, stopper, thread });
    }

    /// Writes into the folder while no engine runs.
    pub fn write(&self, now: Stamp, write: impl FnOnce(&mut Book) + Send) {
        let open = || Book::open(self.folder.clone(), Arc::new(RealDisk), now).unwrap().0;
        std::thread::scope(|scope| {
            scope.spawn(|| write(&mut open())).join().unwrap();
        });
    }

    /// Ends the engine; its agents go on.
    pub fn stop(&mut self) {
        if let Some(running) = self.running.take() {
            running.stopper.stop();
            running.thread.join().unwrap();
        }
    }

    pub fn has_left(&self) -> bool {
        self.running.as_ref().unwrap().thread.is_finished()
    }

    pub fn door(&self) -> Door {
        self.running.as_ref().unwrap().door.clone()
    }

    pub fn router(&self) -> Router {
        self.running.as_ref().unwrap().router.clone()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.temp.path().join(name)
    }

    pub fn lines(&self, name: &str) -> usize {
        fs::read_to_string(self.path(name)).unwrap_or_default().lines().count()
    }

    pub async fn get(&self, path: &str) -> (u16, Value) {
        answer(self.router(), request("GET", path, &[], "")).await
    }

    pub async fn post(&self, path: &str, body: &str) -> (u16, Value) {
        answer(self.router(), request("POST", path, &[], body)).await
    }

    pub async fn post_as(&self, key: &str, path: &str, body: &str) -> (u16, Value) {
        answer(self.router(), request("POST", path, &[("idempotency-key", key)], body)).await
    }

    /// Starts a delegation of one step, and returns its id.
    pub async fn begin(&self, agent: &str) -> String {
        let body = format!(
            r#"{{"prompt":"do it","agent":"{agent}","options":{{"autoRetry":false,"graceMs":300}}}}"#
        );
        let (status, told) = self.post("/api/delegation/start", &body).await;
        assert_eq!(status, 200, "{told}");
        told["delegationId"].as_str().unwrap().to_owned()
    }

    /// Asks until an answer is as wanted.
    #[track_caller]
    pub fn until<'a>(
        &'a self,
        path: &'a str,
        so: impl Fn(&Value) -> bool + 'a,
    ) -> impl Future<Output = Value> + 'a {
        let from = std::panic::Location::caller();
        async move {
            let give_up = Instant::now() + Duration::from_mins(1);
            loop {
                let (_, told) = self.get(path).await;
                if so(&told) {
                    return told;
                }
                assert!(Instant::now() < give_up, "not within a minute, {from}: {path} says {told}");
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        }
    }

    pub async fn until_status(&self, id: &str, status: &str) -> Value {
        self.until(&format!("/api/delegation/{id}"), |told| told["status"] == status).await
    }

    pub async fn until_file(&self, name: &str, lines: usize) {
        let give_up = Instant::now() + Duration::from_mins(1);
        while self.lines(name) < lines {
            assert!(Instant::now() < give_up, "{name} has {} lines", self.lines(name));
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}

impl Drop for Deck {
    /// What still runs is ended, so that no test leaves a process behind.
    fn drop(&mut self) {
        if self.running.is_none() || self.has_left() {
            return;
        }
        let door = self.door();
        let ending = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(cancel_all(door));
        });
        let ended = ending.join();
        self.stop();
        if !std::thread::panicking() {
            ended.unwrap();
        }
    }
}

async fn cancel_all(door: Door) {
    use quarterdeck::model::command::{Command, Verb};
    let live = door.look(|view| {
        let live = view.kernel.delegations().values().filter(|delegation| !delegation.is_ended());
        live.map(|delegation| (delegation.id.clone(), view.now)).collect::<Vec<_>>()
    });
    for (id, at) in live.await.unwrap() {
        let verb = Verb::Cancel { rollback: false, reason: None };
        let command = Command {
            id: format!("end-{id}").into(),
            verb,
            delegation_id: id,
            subtask_id: None,
            by: None,
            at,
        };
        let answer = door.command(command).await.unwrap();
        tokio::time::timeout(Duration::from_secs(30), answer).await.unwrap().unwrap();
    }
}

/// Returns who we are on the socket.
pub fn owner() -> Peer {
    Peer::Socket { uid: Some(rustix::process::getuid().as_raw()) }
}

pub fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Request<Body> {
    let mut request = Request::builder().method(method).uri(path).extension(ConnectInfo(owner()));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Body::from(body.to_owned())).unwrap()
}

pub async fn send(router: Router, request: Request<Body>) -> Response<Body> {
    router.oneshot(request).await.unwrap()
}

/// Returns the status and the body, which must be JSON.
pub async fn answer(router: Router, request: Request<Body>) -> (u16, Value) {
    let response = send(router, request).await;
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let told = serde_json::from_slice(&body).unwrap_or_else(|error| panic!("{status} {error}: {body:?}"));
    (status, told)
}
