//! The guide's commands: what each takes, and how long it may run.

/// A command of the delegation guide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guide {
    Research,
    Plan,
    Implement,
    Revise,
    Review,
    Meta,
    Todo,
    Errors,
}

/// Every command, in the order in which they are shown.
pub const COMMANDS: [Guide; 8] = [
    Guide::Research,
    Guide::Plan,
    Guide::Implement,
    Guide::Revise,
    Guide::Review,
    Guide::Meta,
    Guide::Todo,
    Guide::Errors,
];

const MINUTE: u64 = 60_000;

impl Guide {
    /// Returns the command that a word stands for, with or without its slash.
    pub fn from_name(name: &str) -> Option<Self> {
        let name = name.strip_prefix('/').unwrap_or(name);
        COMMANDS.into_iter().find(|command| command.as_str() == name)
    }

    /// Returns its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Research => "research",
            Self::Plan => "plan",
            Self::Implement => "implement",
            Self::Revise => "revise",
            Self::Review => "review",
            Self::Meta => "meta",
            Self::Todo => "todo",
            Self::Errors => "errors",
        }
    }

    /// Returns whether it is about a task with a number; the others take a text.
    pub fn takes_number(self) -> bool {
        matches!(self, Self::Research | Self::Plan | Self::Implement | Self::Revise)
    }

    /// Returns how long it runs where nobody says, and how long it may run at most, in milliseconds. The guide gives
    /// none for the last three: they have what an orchestrator has.
    pub fn times(self) -> (u64, u64) {
        match self {
            Self::Research | Self::Review => (60 * MINUTE, 120 * MINUTE),
            Self::Implement => (120 * MINUTE, 240 * MINUTE),
            Self::Plan | Self::Revise | Self::Meta | Self::Todo | Self::Errors => (30 * MINUTE, 60 * MINUTE),
        }
    }

    /// Returns the time that it has, or why what is wanted is too much.
    pub fn timeout(self, wanted_ms: Option<u64>) -> Result<u64, String> {
        let (usual, most) = self.times();
        match wanted_ms {
            Some(wanted) if wanted > most => Err(format!(
                "{} may take {} min at most, and {} min are asked for.\nAsk for less, or split the work.",
                self.as_str(),
                most / MINUTE,
                wanted.div_ceil(MINUTE)
            )),
            wanted => Ok(wanted.unwrap_or(usual)),
        }
    }

    /// Returns the number of the task that a command is about, and its prompt; or what is wrong with what was said.
    pub fn read(self, said: &str) -> Result<(Option<u64>, String), String> {
        let said = said.trim();
        if !self.takes_number() {
            return Ok((None, said.to_owned()));
        }
        let (first, rest) = said.split_once(char::is_whitespace).unwrap_or((said, ""));
        let is_number = !first.starts_with('0') && first.bytes().all(|byte| byte.is_ascii_digit());
        let number = first.parse::<u64>().ok().filter(|number| is_number && *number > 0);
        let Some(number) = number else {
            return Err(format!(
                "{} is about a task, and {first:?} is no task number.\nGive a positive whole number, such as: --command {} 244",
                self.as_str(),
                self.as_str()
            ));
        };
        let rest = rest.trim();
        let more = if rest.is_empty() { String::new() } else { format!("\n\n{rest}") };
        Ok((Some(number), format!("Task: {number}{more}")))
    }
}
