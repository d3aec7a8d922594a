//! A process that nobody of ours looks after, or several of one session, with all that descends from them: stopped,
//! continued or ended from outside.
//!
//! There is no host between it and the system, so what loses its parent is found only if it was seen before.
//! What is told afterwards claims no more than that.

use std::collections::{BTreeSet, HashSet};
use std::thread;
use std::time::{Duration, Instant};

use super::about::is_inside;
use super::reach::{self, Reached};
use super::tree::{self, Life, Process, Seen};

/// How long a process that was asked to end may take.
pub const GRACE: Duration = Duration::from_secs(5);
/// How long to wait before looking again whether it has ended.
const PAUSE: Duration = Duration::from_millis(20);

/// A process, or several that belong together, and all below them, as far as they were ever seen.
#[derive(Debug)]
pub struct Whole {
    known: BTreeSet<Process>,
}

/// What was done, in words; or why it was not.
pub type Done = Result<String, String>;

impl Whole {
    /// Takes a process and all below it; refuses one that has ended, and one that this process descends from.
    pub fn of(root: Process) -> Result<Self, String> {
        Self::of_all(&[root])
    }

    /// The same with several: those that have ended need nothing more, as long as one is there.
    pub fn of_all(roots: &[Process]) -> Result<Self, String> {
        let known: BTreeSet<Process> = roots.iter().copied().filter(|root| is_living(*root)).collect();
        if known.is_empty() {
            let pids: Vec<String> = roots.iter().map(|root| root.pid.to_string()).collect();
            let [word, has] = if roots.len() > 1 { ["processes", "have"] } else { ["process", "has"] };
            return Err(format!("{word} {} {has} ended", pids.join(", ")));
        }
        match known.iter().find(|root| is_inside(**root)) {
            Some(root) => Err(format!("process {} is what this program itself runs in", root.pid)),
            None => Ok(Self { known }),
        }
    }

    /// Stops all of it.
    pub fn pause(mut self) -> Done {
        let reached = reach::freeze(&mut || self.find());
        match reached.left {
            0 => Ok(format!("{0} of {0} stopped", reached.found.len())),
            left => Err(format!("{left} of {} could not be stopped", reached.found.len())),
        }
    }

    /// Continues all of it.
    pub fn resume(mut self) -> Done {
        let reached = reach::resume(&mut || self.find(), &BTreeSet::new());
        match reached.left {
            0 => Ok(format!("{0} of {0} continue", reached.found.len())),
            left => Err(format!("{left} of {} could not be continued", reached.found.len())),
        }
    }

    /// Ends all of it: asks first, and kills what is left after a grace.
    pub fn end(mut self, grace: Duration) -> Done {
        let asked = reach::ask_to_end(&mut || self.find());
        let give_up = Instant::now() + grace;
        while self.lives() && Instant::now() < give_up {
            thread::sleep(PAUSE);
        }
        let Reached { found, left, .. } = reach::kill(&mut || self.find());
        let ended = asked.found.union(&found).count();
        let killed = if found.is_empty() { String::new() } else { format!(", {} by force", found.len()) };
        match left {
            0 => Ok(format!("{ended} ended{killed}, none found that is left")),
            left => Err(format!("{left} of {ended} do not end")),
        }
    }

    fn lives(&mut self) -> bool {
        self.find().iter().any(|seen| seen.life != Life::Ended)
    }

    /// Returns all of it that is there now.
    fn find(&mut self) -> Vec<Seen> {
        let all = tree::all();
        let mut roots: Vec<Seen> =
            all.iter().filter(|seen| self.known.contains(&seen.process)).copied().collect();
        let pids: Vec<u32> = roots.iter().map(|seen| seen.process.pid).collect();
        let listed: HashSet<Process> = roots.iter().map(|seen| seen.process).collect();
        let below = tree::below(&pids).into_iter().filter(|seen| !listed.contains(&seen.process));
        roots.extend(below);
        self.known.extend(roots.iter().map(|seen| seen.process));
        roots
    }
}

fn is_living(process: Process) -> bool {
    tree::look(process.pid).is_some_and(|seen| seen.process == process && seen.life != Life::Ended)
}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// A shell with two children, one of them in a session of its own, as agents run their commands.
    fn family(script: &str) -> (Child, Vec<Process>) {
        let mut child = Command::new("sh")
            .args(["-c", script])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut said).unwrap();
        let root = tree::process(child.id()).unwrap();
        let mut all: Vec<Process> = tree::below(&[root.pid]).iter().map(|seen| seen.process).collect();
        all.push(root);
        (child, all)
    }

    const TWO: &str = "sleep 60 & setsid sleep 60 & echo there; wait";

    fn life(process: Process) -> Option<Life> {
        tree::look(process.pid).filter(|seen| seen.process == process).map(|seen| seen.life)
    }

    #[test]
    fn a_pause_stops_what_runs_in_sessions_of_its_own_and_resume_continues_it() {
        let (mut child, all) = family(TWO);
        let root = tree::process(child.id()).unwrap();
        let proof = Whole::of(root).unwrap().pause().unwrap();
        assert!(all.len() >= 3 && proof == format!("{0} of {0} stopped", all.len()), "{proof}: {all:?}");
        assert!(all.iter().all(|process| life(*process) == Some(Life::Stopped)));
        let proof = Whole::of(root).unwrap().resume().unwrap();
        assert_eq!(proof, format!("{0} of {0} continue", all.len()));
        assert!(all.iter().all(|process| life(*process) == Some(Life::Runs)));
        Whole::of(root).unwrap().end(GRACE).unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn an_end_reaches_what_lost_its_parent_and_what_does_not_listen_also_when_it_is_paused() {
        let (mut child, all) = family("(trap '' TERM; sleep 60 & setsid sleep 60 & echo there; wait) & wait");
        let root = tree::process(child.id()).unwrap();
        Whole::of(root).unwrap().pause().unwrap();
        let proof = Whole::of(root).unwrap().end(Duration::from_millis(50)).unwrap();
        assert!(proof.ends_with("none found that is left"), "{proof}");
        assert!(proof.contains("by force"), "{proof}");
        child.wait().unwrap();
        let left: Vec<_> =
            all.iter().filter(|process| !matches!(life(**process), None | Some(Life::Ended))).collect();
        assert!(left.is_empty(), "{left:?}");
    }

    #[test]
    fn what_this_process_runs_in_is_never_touched_nor_one_that_only_has_the_number() {
        let me = tree::process(std::process::id()).unwrap();
        let parent = tree::process(tree::look(me.pid).unwrap().parent).unwrap();
        assert!(Whole::of(me).unwrap_err().contains("itself runs in"));
        assert!(Whole::of(parent).unwrap_err().contains("itself runs in"));
        let earlier = Process { start: me.start + 1, ..me };
        assert!(Whole::of(earlier).unwrap_err().contains("has ended"));
    }
}
