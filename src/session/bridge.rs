//! `quarterdeck bridge opencode`: what the session host starts for OpenCode. It runs OpenCode's server as its child,
//! prints every event of it as a line, and does what its stdin says.
//!
//! So a server that speaks HTTP is an agent like others: engine restarts, freezing, deadlines and logs are the host's.
//! It ends when its stdin has ended and no turn is open, and takes the server with it.
//!
//! Not for deciding anything: what lines mean is the adapter's (`agent/opencode/live`).

mod events;
mod guard;
mod http;
mod server;

use std::io::{BufRead, Write};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

pub use guard::guard;

use crate::agent::excerpt;
use crate::agent::opencode::live::{Plan, Request, Wish, Work};
use http::{Answer, Client};
use server::Server;

/// How often it is looked whether the server lives.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How often the server is started before that is given up, and how long to wait in between.
const MOST_STARTS: u32 = 3;
const START_AGAIN: Duration = Duration::from_secs(1);
/// How often a session is asked whether it still works, when the answer to its turn was lost.
const ASK_EVERY: Duration = Duration::from_secs(1);

/// Runs a session of OpenCode; returns whether its server did all along.
pub fn opencode(plan: Plan, command: &[String]) -> bool {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let done = match runtime {
        Ok(runtime) => runtime.block_on(Bridge::run(plan, command)),
        Err(error) => Err(Failed::from(format!("cannot begin: {error}"))),
    };
    if let Err(Failed { message, for_good }) = &done {
        say("bridge.failed", &json!({ "message": message, "forGood": for_good }));
    }
    done.is_ok()
}

/// Why a session did not come to its end.
struct Failed {
    message: String,
    /// Another attempt would end the same way.
    for_good: bool,
}

impl From<String> for Failed {
    fn from(message: String) -> Self {
        Self { message, for_good: false }
    }
}

impl Failed {
    fn for_good(message: String) -> Self {
        Self { message, for_good: true }
    }
}

/// A turn that has ended, or an order that was answered.
struct Done {
    id: String,
    is_turn: bool,
    answer: Answer,
}

struct Bridge {
    plan: Plan,
    client: Client,
    session: Option<String>,
    /// What was asked and is not answered.
    open: JoinSet<Done>,
    turns: usize,
}

impl Bridge {
    async fn run(plan: Plan, command: &[String]) -> Result<(), Failed> {
        plan.check().map_err(Failed::for_good)?;
        let mut ended =
            signal(SignalKind::terminate()).map_err(|error| format!("cannot hear signals: {error}"))?;
        let started = tokio::select! {
            started = start(command) => Some(started?),
            _ = ended.recv() => None,
        };
        // Told to end before it began: what was started ends with this process.
        let Some((mut server, client)) = started else { return Ok(()) };
        let mut events = events::Events::listen(client.clone()).await?;
        let mut bridge = Self { plan, client, session: None, open: JoinSet::new(), turns: 0 };
        let outcome = tokio::select! {
            outcome = bridge.work(&mut server, &mut events) => outcome,
            _ = ended.recv() => Ok(()),
        };
        server.stop().await;
        outcome
    }

    /// Does what it is told until nothing more comes and nothing is open.
    async fn work(&mut self, server: &mut Server, events: &mut events::Events) -> Result<(), Failed> {
        let mut wishes = stdin();
        let mut look = tokio::time::interval(LOOK_EVERY);
        let mut is_closed = false;
        while !(is_closed && self.open.is_empty()) {
            tokio::select! {
                wish = wishes.recv(), if !is_closed => match wish {
                    Some(line) => self.take(&line, events).await?,
                    None => is_closed = true,
                },
                Some(done) = self.open.join_next() => if let Ok(done) = done { self.tell(done, events) },
                is_broken = events.next() => if is_broken { events.again().await },
                _ = look.tick() => server.check()?,
            }
        }
        // What is on its way is not waited for: it is asked for.
        if let Some(session) = &self.session {
            events.catch_up(session).await;
        }
        Ok(())
    }

    async fn take(&mut self, line: &str, events: &mut events::Events) -> Result<(), Failed> {
        let Ok(wish) = serde_json::from_str::<Wish>(line) else {
            say("bridge.note", &json!({ "message": "A line that means nothing came on stdin." }));
            return Ok(());
        };
        let session = match &self.session {
            Some(session) => session.clone(),
            None => self.begin(&wish.work).await?,
        };
        events.session.clone_from(&self.session);
        match self.plan.request(&session, &wish.work) {
            Ok(Some(request)) => self.ask(wish, request),
            Ok(None) => say("bridge.answered", &json!({ "id": wish.id })),
            Err(why) => say("bridge.answered", &json!({ "id": wish.id, "trouble": why })),
        }
        Ok(())
    }

    /// Takes up the session that is to be gone on with, or makes one.
    async fn begin(&mut self, work: &Work) -> Result<String, Failed> {
        let id = if let Some(id) = self.plan.resume.clone() {
            let answer = self.client.get(&format!("/session/{id}")).await;
            if answer.status != 200 {
                let words = answer.words();
                return Err(Failed::for_good(format!(
                    "OpenCode has no session {id} any more: {words}\nBegin anew with `retry --fresh`."
                )));
            }
            id
        } else {
            // With a title of ours it asks no model for one.
            let title = if let Work::Prompt { text } = work { excerpt::title(text) } else { None };
            let title = title.unwrap_or_else(|| "A task".into());
            let answer = self.client.post("/session", &json!({ "title": title })).await;
            let made = answer.body.get("id").and_then(Value::as_str).filter(|_| answer.status == 200);
            made.ok_or_else(|| format!("OpenCode makes no session: {}", answer.words()))?.to_owned()
        };
        self.session = Some(id.clone());
        say("bridge.ready", &json!({ "session": id }));
        Ok(id)
    }

    fn ask(&mut self, wish: Wish, request: Request) {
        let is_turn = matches!(wish.work, Work::Prompt { .. });
        self.turns += usize::from(is_turn);
        let (client, session) = (self.client.clone(), self.session.clone().unwrap_or_default());
        self.open.spawn(async move {
            let mut answer = client.post(&request.path, &request.body).await;
            if is_turn && answer.status == 0 {
                answer = after_the_turn(&client, &session, answer).await;
            }
            Done { id: wish.id, is_turn, answer }
        });
    }

    fn tell(&mut self, done: Done, events: &mut events::Events) {
        let Done { id, is_turn, answer } = done;
        if is_turn {
            self.turns -= 1;
            // What is in it is told as every other message is: once, whichever way it came first.
            events.tell_message(&answer.body);
            let (status, open) = (answer.status, self.turns);
            say("bridge.turn", &json!({ "id": id, "status": status, "body": answer.body, "open": open }));
            return;
        }
        let is_done = (200..300).contains(&answer.status);
        let trouble = (!is_done).then(|| answer.words());
        say("bridge.answered", &json!({ "id": id, "trouble": trouble }));
    }
}

/// Starts the server, and waits until it listens. One that left before that is started again: another OpenCode that
/// ends just then may hold the store that they share.
async fn start(command: &[String]) -> Result<(Server, Client), String> {
    let mut tries = 0;
    loop {
        tries += 1;
        let mut server = Server::start(command)?;
        match server.ready().await {
            Ok(client) => return Ok((server, client)),
            Err(why) if tries >= MOST_STARTS => return Err(why),
            Err(why) => {
                server.stop().await;
                say("bridge.note", &json!({ "message": format!("{why} It is started again.") }));
                tokio::time::sleep(START_AGAIN).await;
            }
        }
    }
}

/// The answer to a turn was lost, not the turn: it is over when the session does nothing any more.
async fn after_the_turn(client: &Client, session: &str, lost: Answer) -> Answer {
    loop {
        let status = client.get("/session/status").await;
        if status.status != 200 {
            return lost;
        }
        let works = status.body.get(session).and_then(|status| status.get("type")).and_then(Value::as_str);
        if !matches!(works, Some("busy" | "retry")) {
            let messages = client.get(&format!("/session/{session}/message")).await;
            let final_one = messages.body.as_array().and_then(|all| all.last()).cloned();
            return Answer { status: messages.status, body: final_one.unwrap_or_default() };
        }
        tokio::time::sleep(ASK_EVERY).await;
    }
}

/// Returns what comes on stdin, line by line. A thread reads it, which ends with the program.
fn stdin() -> mpsc::UnboundedReceiver<String> {
    let (send, lines) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

/// Prints a line of our own.
fn say(kind: &str, properties: &Value) {
    print(&json!({ "type": kind, "properties": properties }).to_string());
}

/// Returns the time in milliseconds.
fn now() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis())
}

/// Prints an event, with the time at which it came.
fn print(event: &str) {
    let at = now();
    let line = match event.strip_prefix('{') {
        Some("}") | None => format!("{event}\n"),
        Some(rest) => format!("{{\"at\":{at},{rest}\n"),
    };
    let mut out = std::io::stdout().lock();
    // If nobody can be told, the host ends this.
    let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
}
