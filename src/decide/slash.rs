//! The commands that people type where they talk to agents: `/delegate`, `/direct`, `/delegation …`.
//!
//! One parser for the palette and for the command line. Options stand before the task: what looks like one within
//! its text is text.

use super::mode::Mode;
use super::pattern::Pattern;
use crate::model::budget::{self, Limit};

/// A command that begins with a slash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Slash {
    Delegate(Delegate),
    Direct {
        task: String,
        agent: Option<String>,
    },
    /// What there is, or how this one is.
    Status {
        id: Option<String>,
    },
    History {
        limit: Option<u32>,
    },
    Hint {
        task: String,
    },
    /// Settings, shown or changed.
    Config {
        mode: Option<Mode>,
    },
    /// Anything else that is done to one of them, such as `pause ID`.
    Control {
        verb: String,
        rest: Vec<String>,
    },
}

/// What is to be handed over.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Delegate {
    pub task: String,
    pub agent: Option<String>,
    pub pattern: Option<Pattern>,
    pub depth: Option<u32>,
    pub agents: Option<u32>,
    pub rounds: Option<u32>,
    pub budget: Option<Limit>,
    pub dry_run: bool,
}

/// Reads a command, with its slash or without it.
pub fn parse(typed: &str) -> Result<Slash, String> {
    let typed = typed.trim();
    let mut words = words(typed.strip_prefix('/').unwrap_or(typed));
    let name = words.next().unwrap_or_default();
    let rest: Vec<&str> = words.collect();
    match name {
        "delegate" => delegate(&rest).map(Slash::Delegate),
        "direct" => {
            let given = Given::read("/direct", &["--agent"], &rest)?;
            Ok(Slash::Direct { agent: given.value("--agent"), task: given.task("/direct")? })
        }
        "delegation" => delegation(&rest),
        _ => Err(format!("/{name} is no command. There are /delegate, /direct and /delegation.")),
    }
}

/// A task may be a page with lists: where a line ends is kept as a word of its own.
const BREAK: &str = "\n";

fn words(typed: &str) -> impl Iterator<Item = &str> {
    typed.lines().enumerate().flat_map(|(nth, line)| {
        let line_break = (nth > 0).then_some(BREAK);
        line_break.into_iter().chain(line.split_whitespace())
    })
}

fn delegate(rest: &[&str]) -> Result<Delegate, String> {
    let known = ["--pattern", "--depth", "--agents", "--rounds", "--budget", "--dry-run", "--agent"];
    let given = Given::read("/delegate", &known, rest)?;
    let pattern = |name: String| {
        Pattern::from_name(&name)
            .ok_or_else(|| format!("{name:?} is no pattern. There are {}.", Pattern::names()))
    };
    let depth = given.number("--depth", "depth")?;
    if let Some(depth) = depth.filter(|depth| !(1..=5).contains(depth)) {
        return Err(format!("{depth} is no depth. It goes from 1 to 5."));
    }
    Ok(Delegate {
        pattern: given.value("--pattern").map(pattern).transpose()?,
        depth,
        agents: given.number("--agents", "number of agents")?,
        rounds: given.number("--rounds", "number of rounds")?,
        budget: given.value("--budget").map(|typed| budget::read(&typed)).transpose()?,
        agent: given.value("--agent"),
        dry_run: given.has("--dry-run"),
        task: given.task("/delegate")?,
    })
}

fn delegation(rest: &[&str]) -> Result<Slash, String> {
    let (what, rest) = rest.split_first().map_or(("", [].as_slice()), |(what, rest)| (*what, rest));
    let command = format!("/delegation {what}");
    match what {
        "" | "status" | "active" | "list" => {
            Ok(Slash::Status { id: rest.first().map(|id| (*id).to_owned()) })
        }
        "history" => {
            let given = Given::read(&command, &["--limit"], rest)?;
            Ok(Slash::History { limit: given.number("--limit", "number of rows")? })
        }
        "hint" => Ok(Slash::Hint { task: Given::read(&command, &[], rest)?.task(&command)? }),
        "config" | "settings" => {
            let given = Given::read(&command, &["--mode"], rest)?;
            let mode = |name: String| {
                Mode::from_name(&name).ok_or_else(|| {
                    format!("{name:?} is no mode. There are {}.", Mode::ALL.map(Mode::as_str).join(", "))
                })
            };
            Ok(Slash::Config { mode: given.value("--mode").map(mode).transpose()? })
        }
        verb => Ok(Slash::Control {
            verb: verb.to_owned(),
            rest: rest.iter().map(|word| (*word).to_owned()).collect(),
        }),
    }
}

/// The short names of options.
const SHORT: [(&str, &str); 4] =
    [("-p", "--pattern"), ("-d", "--depth"), ("-a", "--agents"), ("-b", "--budget")];
/// The options that take no value.
const FLAGS: [&str; 1] = ["--dry-run"];

/// Options, and the words after them.
struct Given<'w> {
    options: Vec<(&'static str, &'w str)>,
    words: Vec<&'w str>,
}

impl<'w> Given<'w> {
    fn read(command: &str, known: &[&'static str], words: &[&'w str]) -> Result<Self, String> {
        let mut options = Vec::new();
        let mut words = words.iter().copied().peekable();
        while let Some(typed) = words.next_if(|word| word.starts_with('-') && *word != "-") {
            if typed == "--" {
                break;
            }
            let (name, joined) =
                typed.split_once('=').map_or((typed, None), |(name, value)| (name, Some(value)));
            let long = SHORT.iter().find(|(short, _)| *short == name).map_or(name, |(_, long)| *long);
            let Some(option) = known.iter().copied().find(|option| *option == long) else {
                let takes = if known.is_empty() { "no option".into() } else { known.join(", ") };
                return Err(format!("{command} knows no {name}. It takes {takes}."));
            };
            let needs = || format!("{name} needs a value.");
            let value = match joined {
                _ if FLAGS.contains(&option) => "",
                Some(value) => value,
                None => words.next().ok_or_else(needs)?,
            };
            if value.is_empty() && !FLAGS.contains(&option) {
                return Err(needs());
            }
            options.push((option, value));
        }
        Ok(Self { options, words: words.collect() })
    }

    fn has(&self, option: &str) -> bool {
        self.options.iter().any(|(name, _)| *name == option)
    }

    /// Of an option that is given twice, the last one counts.
    fn value(&self, option: &str) -> Option<String> {
        self.options.iter().rev().find(|(name, _)| *name == option).map(|(_, value)| (*value).to_owned())
    }

    fn number<N: std::str::FromStr>(&self, option: &str, what: &str) -> Result<Option<N>, String> {
        let value = self.value(option);
        value.map(|value| value.parse().map_err(|_| format!("{value:?} is no {what}."))).transpose()
    }

    fn task(&self, command: &str) -> Result<String, String> {
        let mut task = String::new();
        for word in &self.words {
            if *word != BREAK && !task.is_empty() && !task.ends_with(BREAK) {
                task.push(' ');
            }
            task.push_str(word);
        }
        let task = task.trim();
        if task.is_empty() { Err(format!("{command} needs a task.")) } else { Ok(task.to_owned()) }
    }
}

impl Slash {
    /// Returns the same command as the command line takes it.
    pub fn arguments(&self) -> Vec<String> {
        let mut arguments: Vec<String> = Vec::new();
        let mut push = |words: &[&str]| arguments.extend(words.iter().map(|word| (*word).to_owned()));
        match self {
            Self::Delegate(wanted) => return wanted.arguments(),
            Self::Direct { task, agent } => {
                push(&["direct"]);
                if let Some(agent) = agent {
                    push(&["--agent", agent]);
                }
                push(&["--", task]);
            }
            Self::Status { id } => {
                push(&["status"]);
                push(&id.iter().map(String::as_str).collect::<Vec<_>>());
            }
            Self::History { limit } => {
                push(&["history"]);
                if let Some(limit) = limit {
                    push(&["--limit", &limit.to_string()]);
                }
            }
            Self::Hint { task } => push(&["hint", "--", task]),
            Self::Config { mode } => {
                push(&["config"]);
                if let Some(mode) = mode {
                    push(&["--mode", mode.as_str()]);
                }
            }
            Self::Control { verb, rest } => {
                push(&[verb]);
                push(&rest.iter().map(String::as_str).collect::<Vec<_>>());
            }
        }
        arguments
    }
}

impl Delegate {
    fn arguments(&self) -> Vec<String> {
        let mut arguments = vec!["delegate".to_owned()];
        let options = [
            ("--pattern", self.pattern.map(|pattern| pattern.to_string())),
            ("--depth", self.depth.map(|depth| depth.to_string())),
            ("--agents", self.agents.map(|agents| agents.to_string())),
            ("--rounds", self.rounds.map(|rounds| rounds.to_string())),
            ("--budget", self.budget.map(Limit::typed)),
            ("--agent", self.agent.clone()),
        ];
        for (name, value) in options {
            arguments.extend(value.into_iter().flat_map(|value| [name.to_owned(), value]));
        }
        if self.dry_run {
            arguments.push("--dry-run".into());
        }
        arguments.extend(["--".to_owned(), self.task.clone()]);
        arguments
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::model::usage::Usd;

    fn wanted(task: &str) -> Delegate {
        Delegate { task: task.into(), ..Delegate::default() }
    }

    #[rstest]
    #[case("/delegate Implement user authentication", wanted("Implement user authentication"))]
    #[case("/delegate --pattern=debate Design API architecture",
        Delegate { pattern: Some(Pattern::Debate), ..wanted("Design API architecture") })]
    #[case("/delegate -d 1 Refactor the database layer", Delegate { depth: Some(1), ..wanted("Refactor the database layer") })]
    #[case("/delegate audit-cleanup-phase1", wanted("audit-cleanup-phase1"))]
    #[case("/delegate --dry-run Build the test suite", Delegate { dry_run: true, ..wanted("Build the test suite") })]
    #[case("  /delegate -p parallel -a 5 -b 10000 --depth=2 --agent codex x",
        Delegate {
            pattern: Some(Pattern::Parallel), agents: Some(5), budget: Some(Limit { tokens: Some(10_000), cost: None }), depth: Some(2),
            agent: Some("codex".into()), ..wanted("x")
        })]
    #[case("/delegate -b $2.50 x",
        Delegate { budget: Some(Limit { tokens: None, cost: Some(Usd::from_dollars(2.5)) }), ..wanted("x") })]
    #[case("/delegate Pass -d 2 to the parser", wanted("Pass -d 2 to the parser"))]
    #[case("/delegate -d 2  Move\n  - a  b\n\n- c\n", Delegate { depth: Some(2), ..wanted("Move\n- a b\n\n- c") })]
    #[case("/delegate -- -d is broken", wanted("-d is broken"))]
    #[case("/delegate -d 2 -d 3 twice", Delegate { depth: Some(3), ..wanted("twice") })]
    fn command_parsing_delegate(#[case] typed: &str, #[case] expected: Delegate) {
        assert_eq!(parse(typed), Ok(Slash::Delegate(expected)));
    }

    #[rstest]
    #[case("/direct Fix the typo in README.md", Slash::Direct { task: "Fix the typo in README.md".into(), agent: None })]
    #[case("/delegation status", Slash::Status { id: None })]
    #[case("/delegation", Slash::Status { id: None })]
    #[case("/delegation status del-1", Slash::Status { id: Some("del-1".into()) })]
    #[case("/delegation pause del-1", Slash::Control { verb: "pause".into(), rest: vec!["del-1".into()] })]
    #[case("/delegation cancel del-1", Slash::Control { verb: "cancel".into(), rest: vec!["del-1".into()] })]
    #[case("/delegation history --limit=10", Slash::History { limit: Some(10) })]
    #[case("/delegation history", Slash::History { limit: None })]
    #[case("/delegation hint Move all the tables", Slash::Hint { task: "Move all the tables".into() })]
    #[case("/delegation config --mode=suggest", Slash::Config { mode: Some(Mode::Suggest) })]
    #[case("/delegation config", Slash::Config { mode: None })]
    fn command_parsing_direct_and_delegation(#[case] typed: &str, #[case] expected: Slash) {
        assert_eq!(parse(typed), Ok(expected));
    }

    #[rstest]
    #[case("/delegate", "/delegate needs a task.")]
    #[case("/delegate --dry-run", "/delegate needs a task.")]
    #[case("/delegate -p", "-p needs a value.")]
    #[case("/delegate --pattern= x", "--pattern needs a value.")]
    #[case(
        "/delegate -p dance x",
        "\"dance\" is no pattern. There are parallel, sequential, debate, review, ensemble, direct."
    )]
    #[case("/delegate -d 9 x", "9 is no depth. It goes from 1 to 5.")]
    #[case(
        "/delegate -b much x",
        "\"much\" is no number of tokens: write it as 50000, 200k or 1.5m, or money as $2.50"
    )]
    #[case(
        "/delegate --force x",
        "/delegate knows no --force. It takes --pattern, --depth, --agents, --rounds, --budget, --dry-run, --agent."
    )]
    #[case("/direct", "/direct needs a task.")]
    #[case("/delegation hint", "/delegation hint needs a task.")]
    #[case("/delegation history --limit ten", "\"ten\" is no number of rows.")]
    #[case(
        "/delegation config --mode=never",
        "\"never\" is no mode. There are disabled, suggest, auto, smart."
    )]
    #[case("/dance", "/dance is no command. There are /delegate, /direct and /delegation.")]
    #[case("", "/ is no command. There are /delegate, /direct and /delegation.")]
    fn command_parsing_says_what_is_wrong(#[case] typed: &str, #[case] why: &str) {
        assert_eq!(parse(typed), Err(why.into()));
    }

    #[rstest]
    #[case(
        "/delegate -p debate -d 2 -a 3 -b 9 --agent codex --dry-run do -x",
        "delegate|--pattern|debate|--depth|2|--agents|3|--budget|9|--agent|codex|--dry-run|--|do -x"
    )]
    #[case("/direct --agent codex x y", "direct|--agent|codex|--|x y")]
    #[case("/delegation status", "status")]
    #[case("/delegation resume del-1", "resume|del-1")]
    #[case("/delegation history --limit=5", "history|--limit|5")]
    #[case("/delegation hint do it", "hint|--|do it")]
    #[case("/delegation config --mode auto", "config|--mode|auto")]
    fn a_command_is_the_same_on_the_command_line(#[case] typed: &str, #[case] arguments: &str) {
        assert_eq!(parse(typed).unwrap().arguments().join("|"), arguments);
    }
}
