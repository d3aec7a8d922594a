//! The dashboard on a terminal at which nobody looks.

use portable_pty::{CommandBuilder, MasterPty, PtyPair, PtySize, native_pty_system};
use rustix::process::{Pid, Signal, kill_process};

use crate::deck::Deck;

/// A program that draws.
pub struct OnTerminal {
    child: Box<dyn portable_pty::Child + Send + Sync>,
    _master: Box<dyn MasterPty + Send>,
}

impl OnTerminal {
    /// Starts the dashboard of a project.
    pub fn of(deck: &Deck) -> Self {
        let size = PtySize { rows: 40, cols: 140, ..PtySize::default() };
        let PtyPair { slave, master } = native_pty_system().openpty(size).unwrap();
        let program = deck.program();
        let mut command = CommandBuilder::new(program.get_program());
        command.env_clear();
        command.cwd(deck.folder.path());
        command.env("TERM", "xterm-256color");
        for (name, value) in program.get_envs().filter_map(|(name, value)| Some((name, value?))) {
            command.env(name, value);
        }
        let child = slave.spawn_command(command).unwrap();
        let mut drawn = master.try_clone_reader().unwrap();
        // It ends when the terminal is given up.
        std::thread::spawn(move || std::io::copy(&mut drawn, &mut std::io::sink()));
        Self { child, _master: master }
    }

    pub fn id(&self) -> u32 {
        self.child.process_id().unwrap()
    }

    pub fn is_there(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Ends it without a word.
    pub fn kill(&mut self) {
        if self.is_there() {
            let pid = Pid::from_raw(i32::try_from(self.id()).unwrap()).unwrap();
            kill_process(pid, Signal::KILL).unwrap();
            self.child.wait().unwrap();
        }
    }
}

impl Drop for OnTerminal {
    fn drop(&mut self) {
        self.kill();
    }
}
