//! Fetching before it is needed: while one file is read, the system fetches those that come next.
//!
//! Who sees a home for the first time has its files on a disk and not in memory. Reading one after the other would then
//! wait at each. So as soon as reading is seen to wait, a thread goes before it; where nothing waits, there is none.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use super::look::open_plain;

/// So many trails are fetched ahead, each with the small file beside it; whoever reads does not wait for that.
const TRAILS: usize = 64;
/// No more of a file is fetched ahead: while that is read, the system goes on by itself.
#[cfg(target_os = "linux")]
const BYTES: Option<std::num::NonZeroU64> = std::num::NonZeroU64::new(1024 * 1024);

/// Whether reading waits for a disk, and who goes before it then.
#[derive(Debug, Default)]
pub struct Ahead {
    thread: Option<SyncSender<PathBuf>>,
}

impl Ahead {
    /// Returns how many trails are fetched ahead: none, where nothing waits.
    pub fn reach(&self) -> usize {
        if self.thread.is_some() { TRAILS } else { 0 }
    }

    /// Has a file fetched, unless too many wait already.
    pub fn fetch(&self, path: PathBuf) {
        if let Some(thread) = &self.thread {
            // One that is not fetched is read all the same.
            let _ = thread.try_send(path);
        }
    }

    /// Begins, if reading at this pace waited; returns whether it is from now on that files are fetched ahead.
    pub fn begin(&mut self, pace: &Pace) -> bool {
        let begins = self.thread.is_none() && pace.has_waited();
        if begins {
            self.thread = spawn(fetch_one);
        }
        begins
    }

    /// Ends: everything was read.
    pub fn end(&mut self) {
        self.thread = None;
    }
}

/// Begins a thread that fetches what it is sent, until nobody can send any more.
fn spawn(fetch: impl Fn(&Path) + Send + 'static) -> Option<SyncSender<PathBuf>> {
    let (to, from): (_, Receiver<PathBuf>) = sync_channel(2 * TRAILS);
    let thread = thread::Builder::new().name("ahead".into());
    let begun = thread.spawn(move || from.into_iter().for_each(|path| fetch(&path)));
    begun.is_ok().then_some(to)
}

/// How long something takes, and how much of that this thread is at work.
#[derive(Debug)]
pub struct Pace {
    begun: Instant,
    worked: Duration,
}

impl Pace {
    pub fn begin() -> Self {
        Self { begun: Instant::now(), worked: worked() }
    }

    fn has_waited(&self) -> bool {
        has_waited(self.begun.elapsed(), worked().saturating_sub(self.worked))
    }
}

/// Returns whether a good part of the time was spent on waiting. A moment is nothing: others want the processor too.
fn has_waited(took: Duration, worked: Duration) -> bool {
    const MOMENT: Duration = Duration::from_millis(1);
    let waited = took.saturating_sub(worked);
    waited > MOMENT && waited > took / 4
}

fn worked() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let (seconds, rest) = (u64::try_from(time.tv_sec), u64::try_from(time.tv_nsec));
    Duration::from_secs(seconds.unwrap_or(0)) + Duration::from_nanos(rest.unwrap_or(0))
}

/// Has the system fetch the beginning of a file.
fn fetch_one(path: &Path) {
    let Some((file, _)) = open_plain(path) else { return };
    #[cfg(target_os = "linux")]
    let _ = rustix::fs::fadvise(&file, 0, BYTES, rustix::fs::Advice::WillNeed);
    #[cfg(not(target_os = "linux"))]
    drop(file);
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;
    use std::sync::mpsc::channel;

    use rstest::rstest;

    use super::*;
    use crate::model::key::SourceId;
    use crate::model::price::Prices;
    use crate::model::time::Stamp;
    use crate::source::claude::Claude;
    use crate::source::feed::{Batch, Feed};
    use crate::source::trails::Trails;
    use crate::source::trails::tool::{Homes, Scope};

    fn ahead(fetch: impl Fn(&Path) + Send + 'static) -> Ahead {
        Ahead { thread: spawn(fetch) }
    }

    #[rstest]
    #[case::at_work(20_000, 19_000, false)]
    #[case::somebody_else_had_the_processor(1_500, 700, false)]
    #[case::for_a_disk(20_000, 5_000, true)]
    #[case::a_clock_that_is_coarse(5_000, 6_000, false)]
    fn who_is_not_at_work_waits(#[case] took: u64, #[case] worked: u64, #[case] waits: bool) {
        let [took, worked] = [took, worked].map(Duration::from_micros);
        assert_eq!(has_waited(took, worked), waits);
    }

    #[test]
    fn what_is_asked_for_is_fetched_in_that_order_till_the_end() {
        let (tell, told) = channel();
        let mut ahead = ahead(move |path| tell.send(path.to_owned()).unwrap());
        let paths = ["a", "b", "c"].map(PathBuf::from);
        for path in &paths {
            ahead.fetch(path.clone());
        }
        ahead.end();
        // It ends when the thread has let go of its end.
        assert_eq!(told.iter().collect::<Vec<_>>(), paths);
        assert_eq!(ahead.reach(), 0);
    }

    #[test]
    fn whoever_reads_does_not_wait_for_a_slow_disk() {
        let (open, gate) = channel::<()>();
        let (tell, told) = channel();
        let mut ahead = ahead(move |path| {
            let _ = gate.recv();
            tell.send(path.to_owned()).unwrap();
        });
        for nth in 0..10 * TRAILS {
            ahead.fetch(nth.to_string().into());
        }
        drop(open);
        ahead.end();
        let fetched = told.iter().count();
        assert!((2 * TRAILS..=2 * TRAILS + 1).contains(&fetched), "{fetched}");
    }

    #[test]
    fn every_later_file_is_fetched_once_with_the_one_beside_it() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join(".claude/projects/-srv-shop");
        let agents = folder.join("s-0/subagents");
        fs::create_dir_all(&agents).unwrap();
        let line =
            r#"{"type":"user","message":{"role":"user","content":"x"},"timestamp":"2026-11-16T10:00:00Z"}"#;
        let mut expected = Vec::new();
        for nth in 0..TRAILS + 8 {
            expected.push(folder.join(format!("s-{nth}.jsonl")));
        }
        expected.push(agents.join("agent-a1.jsonl"));
        for path in &expected {
            fs::write(path, format!("{line}\n")).unwrap();
        }
        let beside = agents.join("agent-a1.meta.json");
        fs::write(&beside, "{}").unwrap();
        expected.push(beside);

        let homes = Homes::of(|name| (name == "HOME").then(|| home.path().to_owned()));
        let tool = Claude::at(&homes, Scope::All).unwrap();
        let mut trails = Trails::new(tool, Scope::All, SourceId(0), Arc::new(Prices::built_in()), None);
        let (tell, told) = channel();
        trails.ahead = ahead(move |path| tell.send(path.to_owned()).unwrap());
        trails.begin(Stamp::from_millis(0), &mut Batch::default());
        trails.fetch_next();
        while trails.poll(Stamp::from_millis(0)).more {}
        let mut fetched: Vec<_> = told.iter().collect();
        fetched.sort();
        expected.sort();
        assert_eq!(fetched, expected);
    }
}
