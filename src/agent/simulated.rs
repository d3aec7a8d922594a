//! What a simulated agent does: a list of acts, given one by one or made up from a seed.
//!
//! Pure; `quarterdeck simulated-agent` plays it as a real process. It speaks the protocol of `command`.

use std::str::FromStr;

/// One thing that a simulated agent does. As text: a word, or `word:argument`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// `say:TEXT`: prints a plain line.
    Say(String),
    /// `err:TEXT`: prints a line on standard error.
    Err(String),
    /// `think:TEXT`
    Think(String),
    /// `tool:NAME`: uses a tool, and takes a moment for it.
    Tool(String),
    /// `spend:TOKENS`
    Spend(u64),
    /// `work:MS`: takes its time, divided by the speed.
    Work(u64),
    /// `burn:MS`: as work, but with the processor.
    Burn(u64),
    /// `ask:TEXT`: asks for permission, and waits for the answer; denied, it fails.
    Ask(String),
    /// `echo`: prints each line of stdin until its end.
    Echo,
    /// `print:BYTES`: prints that much, in lines.
    Print(u64),
    /// `line:BYTES`: prints one line of that length.
    Line(u64),
    /// `child`, `child:setsid`, `child:daemon`: starts a process that stalls.
    Child(Kin),
    /// `forks:COUNT`: starts that many, one after the other.
    Forks(u64),
    /// `setsid`: leaves its process's session.
    Setsid,
    /// `ignore-term`
    IgnoreTerm,
    /// `close-out`: closes standard output and standard error, and goes on.
    CloseOut,
    /// `stop`: stops itself.
    Stop,
    /// `stall`: does nothing, for ever.
    Stall,
    /// `result:SUMMARY`
    Result(String),
    /// `fail:SUMMARY`: says that it failed.
    Fail(String),
    /// `exit:CODE`
    Exit(u8),
}

/// How a process is related to the one that started it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kin {
    /// A child in the same process group.
    Child,
    /// A child in a session of its own.
    Setsid,
    /// A grandchild in a session of its own, whose parent is gone.
    Daemon,
}

impl FromStr for Act {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (word, argument) = text.split_once(':').unwrap_or((text, ""));
        let number =
            || argument.parse::<u64>().map_err(|_| format!("{word} needs a number, as in {word}:100"));
        let words = || argument.to_owned();
        Ok(match word {
            "say" => Self::Say(words()),
            "err" => Self::Err(words()),
            "think" => Self::Think(words()),
            "tool" => Self::Tool(words()),
            "spend" => Self::Spend(number()?),
            "work" => Self::Work(number()?),
            "burn" => Self::Burn(number()?),
            "ask" => Self::Ask(words()),
            "echo" => Self::Echo,
            "print" => Self::Print(number()?),
            "line" => Self::Line(number()?),
            "child" => Self::Child(kin(argument)?),
            "forks" => Self::Forks(number()?),
            "setsid" => Self::Setsid,
            "ignore-term" => Self::IgnoreTerm,
            "close-out" => Self::CloseOut,
            "stop" => Self::Stop,
            "stall" => Self::Stall,
            "result" => Self::Result(words()),
            "fail" => Self::Fail(words()),
            "exit" => Self::Exit(number()?.try_into().map_err(|_| "an exit code is at most 255")?),
            _ => return Err(format!("{word:?} is nothing that a simulated agent does")),
        })
    }
}

fn kin(word: &str) -> Result<Kin, String> {
    match word {
        "" => Ok(Kin::Child),
        "setsid" => Ok(Kin::Setsid),
        "daemon" => Ok(Kin::Daemon),
        _ => Err(format!("{word:?} is no kind of child: setsid or daemon")),
    }
}

/// A random number at each call, the same for the same seed (splitmix64).
#[derive(Debug, Clone, Copy)]
pub struct Dice(pub u64);

impl Dice {
    /// Returns a number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit.max(1)
    }

    fn one_of(&mut self, words: &'static [&'static str]) -> String {
        let at = self.below(words.len() as u64);
        usize::try_from(at).ok().and_then(|at| words.get(at)).copied().unwrap_or_default().into()
    }
}

/// Makes up a piece of work of so many steps: the same for the same seed.
pub fn story(seed: u64, steps: u64) -> Vec<Act> {
    let mut dice = Dice(seed);
    let mut acts = Vec::new();
    for _ in 0..steps {
        acts.push(Act::Think(dice.one_of(&[
            "Where is this used?",
            "The test should come first.",
            "That error is swallowed.",
            "A smaller change will do.",
        ])));
        acts.push(Act::Work(200 + dice.below(1200)));
        acts.push(Act::Tool(dice.one_of(&["Read", "Grep", "Edit", "Bash"])));
        acts.push(Act::Spend(300 + dice.below(4000)));
    }
    acts.push(Act::Result("The change is made and its tests pass.".into()));
    acts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_tells_the_same_story_and_another_seed_another() {
        assert_eq!(story(7, 5), story(7, 5));
        assert_ne!(story(7, 5), story(8, 5));
        assert_eq!(story(7, 5).len(), 21);
    }

    #[test]
    fn acts_are_read_from_words() {
        assert_eq!("ask:may I: yes or no?".parse(), Ok(Act::Ask("may I: yes or no?".into())));
        assert_eq!("child:daemon".parse(), Ok(Act::Child(Kin::Daemon)));
        assert!("spend:much".parse::<Act>().is_err());
        assert!("dance".parse::<Act>().is_err());
    }
}
