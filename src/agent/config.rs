//! `[agents.NAME]` of `quarterdeck.toml`, and how such an agent is run. Pure: what it needs of the world is in
//! [`Ask`].

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::acp;
use super::brief::{self, Brief};
use super::claude::live;
use super::codex;
pub use super::kind::Kind;
use super::opencode;
use super::run::{Run, Stdin};
use crate::model::worktree::Isolation;

/// The file of the session's folder that holds the prompt.
const PROMPT: &str = "prompt";
/// What stands for the prompt in a command's arguments, and for the path of its file.
const PROMPT_HERE: &str = "{prompt}";
const PROMPT_FILE_HERE: &str = "{prompt-file}";
/// What stands for the model in a command's arguments, and the variable that names it.
const MODEL_HERE: &str = "{model}";
const MODEL: &str = "QUARTERDECK_MODEL";
/// Linux takes no longer argument.
const LONGEST_ARGUMENT: usize = 128 * 1024 - 1;

/// One agent, as it is configured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct AgentConfig {
    /// What kind of agent it is.
    pub kind: Kind,
    /// What to run: a program with arguments, or a line for the shell. For a simulated agent, its arguments.
    #[serde(default)]
    pub command: CommandLine,
    /// How the prompt reaches it.
    #[serde(default)]
    pub prompt: PromptBy,
    /// Whether it reads answers and sentences on stdin, in our protocol.
    #[serde(default)]
    pub listens: bool,
    /// The variables of the asker's environment that it gets, besides those of its kind.
    #[serde(default)]
    pub env: Vec<String>,
    /// Where it runs, if not at the project's root.
    #[serde(default)]
    pub cwd: Option<PathBuf>,
    /// The model of a step that names none.
    #[serde(default)]
    pub model: Option<String>,
    /// What it may do without asking, in its own tool's words.
    #[serde(default)]
    pub permission_mode: Option<String>,
    /// Whether every one of its steps is held to the form of a return, and how hard.
    #[serde(default)]
    pub return_format: Option<ReturnFormat>,
    /// Whether its steps work in work trees of their own.
    #[serde(default)]
    pub isolation: Option<Isolation>,
}

/// What to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum CommandLine {
    /// A program and its arguments; `{prompt}` and `{prompt-file}` stand for the prompt.
    Argv(Vec<String>),
    /// A line for `/bin/sh`; the prompt, or its file, is `$1`.
    Shell(String),
}

impl Default for CommandLine {
    fn default() -> Self {
        Self::Argv(Vec::new())
    }
}

/// How hard an answer is held to the form that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReturnFormat {
    /// No form is asked for, and none checked.
    Off,
    /// What is wrong is shown; the result stands.
    Warn,
    /// What is wrong makes the step fail.
    Enforce,
}

impl ReturnFormat {
    /// Returns what a word stands for.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "off" => Some(Self::Off),
            "warn" => Some(Self::Warn),
            "enforce" => Some(Self::Enforce),
            _ => None,
        }
    }
}

/// How a prompt reaches an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PromptBy {
    /// On stdin, which then ends.
    #[default]
    Stdin,
    /// As an argument: where `{prompt}` stands, or the last.
    Argument,
    /// In a file: its path where `{prompt-file}` stands, or as the last argument.
    File,
}

/// What is asked of an agent, and by whom.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    /// The prompt.
    pub prompt: &'a str,
    /// The model, where one was named.
    pub model: Option<&'a str>,
    /// The asker's environment.
    pub env: &'a BTreeMap<String, String>,
    /// The project's root, or where it was asked to run.
    pub root: &'a Path,
    /// The session's folder, as an absolute path.
    pub folder: &'a Path,
    /// The tool's own session to go on with, where an earlier attempt left one.
    pub resume: Option<&'a str>,
    /// This program: it also plays the simulated agent.
    pub program: &'a Path,
}

/// Why an agent cannot be run as it is configured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Misconfigured {
    /// There is nothing to run.
    #[error("it has no command.\nGive it one: command = [\"program\", \"argument\"].")]
    NoCommand,
    /// Stdin cannot both end and stay open.
    #[error(
        "its prompt comes on stdin, which then ends, so it cannot listen there.\nSet prompt = \"argument\" or \"file\"."
    )]
    TwoUsesOfStdin,
    /// The system takes no such argument.
    #[error(
        "the prompt has {0} bytes, more than the system takes as an argument.\nSet prompt = \"file\" or \"stdin\"."
    )]
    LongPrompt(usize),
    /// There is nothing to put for the model.
    #[error(
        "its command has {MODEL_HERE}, and no model was named.\nSet model = \"…\", or name one with the step."
    )]
    NoModel,
    /// A shell line has no place for the arguments that the tool needs.
    #[error(
        "its command is a line for the shell.\nGive the program and its arguments as a list: command = [\"program\", \"argument\"]."
    )]
    ShellLine,
    /// A word that the tool does not have.
    #[error("its permission-mode has {mode:?}, which its tool does not know.\nIt knows: {known}.")]
    PermissionMode {
        /// The word.
        mode: String,
        /// Those that it has.
        known: String,
    },
    /// The tool would take it for an option of its own.
    #[error("{0:?} is no name of a model or a session.\nNames do not begin with a dash.")]
    Dash(String),
    /// The program would take the prompt for an option of its own.
    #[error(
        "the prompt begins with a dash, and its program would take it for an option: {0:?}.\n\
         Set prompt = \"stdin\" or \"file\", or write --option={PROMPT_HERE}, or \"--\" before {PROMPT_HERE}, in its command."
    )]
    DashPrompt(String),
    /// A path that cannot be an argument of ours.
    #[error("the path {} is not UTF-8", .0.display())]
    Path(PathBuf),
}

impl AgentConfig {
    /// Returns an agent of a kind that needs no more to be known.
    pub fn of_kind(kind: Kind) -> Self {
        Self {
            kind,
            command: CommandLine::default(),
            prompt: PromptBy::default(),
            listens: false,
            env: Vec::new(),
            cwd: None,
            model: None,
            permission_mode: None,
            return_format: None,
            isolation: None,
        }
    }

    /// Returns whether something can be said to it while it runs.
    pub fn has_channel(&self) -> bool {
        self.listens || self.kind.listens()
    }

    /// Returns whose limits hold for it with this model, as far as that is known before it runs.
    pub fn provider<'a>(&'a self, model: Option<&'a str>) -> Option<&'a str> {
        let of_model = || model.or(self.model.as_deref())?.split_once('/').map(|(provider, _)| provider);
        // It speaks to whomever the model is of.
        if self.kind == Kind::OpenCode { of_model() } else { self.kind.provider() }
    }

    /// Returns the program that it is run by; nothing where that is this program, or a shell.
    pub fn program(&self) -> Option<&str> {
        match &self.command {
            _ if self.kind == Kind::Simulated => None,
            CommandLine::Argv(words) if !words.is_empty() => words.first().map(String::as_str),
            CommandLine::Argv(_) => self.kind.program(),
            CommandLine::Shell(_) => None,
        }
    }

    /// Returns how to run this agent for what is asked.
    pub fn run(&self, ask: &Ask<'_>) -> Result<Run, Misconfigured> {
        // Whoever plans a step may name its model: that must not become an option such as one that allows everything.
        let named = [ask.model.or(self.model.as_deref()), ask.resume, self.permission_mode.as_deref()];
        if let Some(option) = named.into_iter().flatten().find(|name| name.starts_with('-')) {
            return Err(Misconfigured::Dash(option.to_owned()));
        }
        let run = Run { cwd: self.cwd(ask.root), env: self.environment(ask.env), ..Run::default() };
        match self.kind {
            Kind::Command | Kind::Simulated => self.run_command(ask, run),
            Kind::Claude => self.run_tool(run, |run| live::run(self, ask, run)),
            Kind::Codex => self.run_tool(run, |run| codex::live::run(self, ask, run)),
            Kind::Gemini => self.run_tool(run, |run| super::gemini::live::run(self, ask, run)),
            Kind::OpenCode => self.run_tool(run, |run| opencode::live::run(self, ask, run)),
            Kind::Acp => self.run_tool(run, |run| acp::run(self, ask, run)),
        }
    }

    /// Runs a tool that is known: its program, then what the adapter needs, then what the configuration adds.
    fn run_tool(
        &self,
        mut run: Run,
        how: impl FnOnce(&mut Run) -> Result<Brief, Misconfigured>,
    ) -> Result<Run, Misconfigured> {
        let CommandLine::Argv(words) = &self.command else { return Err(Misconfigured::ShellLine) };
        let program = words.first().map(String::as_str).or(self.kind.program());
        run.argv.push(program.ok_or(Misconfigured::NoCommand)?.to_owned());
        let brief = how(&mut run)?;
        run.argv.extend(words.iter().skip(1).cloned());
        let brief = serde_json::to_string(&brief).map_err(|_| Misconfigured::Path(run.cwd.clone()))?;
        run.files.insert(brief::FILE.into(), brief);
        Ok(run)
    }

    fn run_command(&self, ask: &Ask<'_>, mut run: Run) -> Result<Run, Misconfigured> {
        let model = ask.model.or(self.model.as_deref());
        run.env.extend(model.map(|model| (MODEL.to_owned(), model.to_owned())));
        run.argv = self.command_line(ask)?;
        // Not into a line for the shell, which would take it for its own words: that has the variable.
        if matches!(self.command, CommandLine::Argv(_)) {
            put_model(&mut run.argv, model)?;
        }
        match self.prompt_by() {
            PromptBy::Stdin if self.listens => return Err(Misconfigured::TwoUsesOfStdin),
            PromptBy::Stdin => run.stdin = Stdin::File(PROMPT.into()),
            PromptBy::Argument if ask.prompt.len() > LONGEST_ARGUMENT => {
                return Err(Misconfigured::LongPrompt(ask.prompt.len()));
            }
            PromptBy::Argument => {
                self.no_option(&run.argv, ask.prompt)?;
                put(&mut run.argv, PROMPT_HERE, ask.prompt);
            }
            PromptBy::File => put(&mut run.argv, PROMPT_FILE_HERE, &text(&ask.folder.join(PROMPT))?),
        }
        if self.prompt_by() != PromptBy::Argument {
            run.files.insert(PROMPT.into(), ask.prompt.into());
        }
        if self.listens || self.kind == Kind::Simulated {
            run.stdin = Stdin::Pipe;
        }
        Ok(run)
    }

    /// Refuses a prompt that the program would take for an option: whoever wrote the task is not whoever wrote the
    /// command. A `--` before it says that options are over.
    fn no_option(&self, argv: &[String], prompt: &str) -> Result<(), Misconfigured> {
        /// So much of it tells which one it is.
        const SHOWN: usize = 40;
        if !prompt.starts_with('-') {
            return Ok(());
        }
        let refused = || Err(Misconfigured::DashPrompt(prompt.chars().take(SHOWN).collect()));
        if let CommandLine::Shell(line) = &self.command {
            // It is `$1` there, and what the line does with that is in the line.
            return if line.split_whitespace().any(|word| word == "--") { Ok(()) } else { refused() };
        }
        let (mut stands, mut is_over) = (false, false);
        for word in argv.iter().skip(1) {
            if word.starts_with(PROMPT_HERE) && !is_over {
                return refused();
            }
            stands |= word.contains(PROMPT_HERE);
            is_over |= word == "--";
        }
        if stands || is_over { Ok(()) } else { refused() }
    }

    fn prompt_by(&self) -> PromptBy {
        if self.kind == Kind::Simulated { PromptBy::File } else { self.prompt }
    }

    fn command_line(&self, ask: &Ask<'_>) -> Result<Vec<String>, Misconfigured> {
        let words = match &self.command {
            CommandLine::Argv(words) => words.clone(),
            CommandLine::Shell(line) if line.trim().is_empty() => Vec::new(),
            CommandLine::Shell(line) => ["/bin/sh", "-c", line, "sh"].map(str::to_owned).to_vec(),
        };
        if self.kind == Kind::Simulated {
            let mut argv = vec![text(ask.program)?, "simulated-agent".into()];
            argv.extend(words);
            argv.extend(["--prompt-file".into(), PROMPT_FILE_HERE.into()]);
            return Ok(argv);
        }
        if words.first().is_none_or(String::is_empty) { Err(Misconfigured::NoCommand) } else { Ok(words) }
    }

    fn cwd(&self, root: &Path) -> PathBuf {
        self.cwd.as_ref().map_or_else(|| root.to_owned(), |cwd| root.join(cwd))
    }

    /// Returns the names of the variables of the asker's environment that it gets.
    pub fn variables(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.kind.variables().collect();
        names.extend(self.env.iter().map(String::as_str));
        names
    }

    fn environment(&self, asker: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        self.variables()
            .into_iter()
            .filter_map(|name| Some((name.to_owned(), asker.get(name)?.clone())))
            .collect()
    }
}

/// Puts a text where it is wanted, or at the end.
fn put(argv: &mut Vec<String>, wanted: &str, text: &str) {
    let mut put = false;
    for word in argv.iter_mut().skip(1).filter(|word| word.contains(wanted)) {
        *word = word.replace(wanted, text);
        put = true;
    }
    if !put {
        argv.push(text.into());
    }
}

/// Puts the model where it is wanted.
fn put_model(argv: &mut [String], model: Option<&str>) -> Result<(), Misconfigured> {
    for word in argv.iter_mut().skip(1).filter(|word| word.contains(MODEL_HERE)) {
        *word = word.replace(MODEL_HERE, model.ok_or(Misconfigured::NoModel)?);
    }
    Ok(())
}

fn text(path: &Path) -> Result<String, Misconfigured> {
    path.to_str().map(str::to_owned).ok_or_else(|| Misconfigured::Path(path.to_owned()))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn run(config: &str, prompt: &str) -> Result<Run, Misconfigured> {
        run_on(config, prompt, None)
    }

    fn run_on(config: &str, prompt: &str, model: Option<&str>) -> Result<Run, Misconfigured> {
        let config: AgentConfig = serde_json::from_str(config).unwrap();
        let env = [("PATH", "/bin"), ("KEY", "secret"), ("OTHER", "x")];
        let env = env.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let (root, folder, program) = (Path::new("/project"), Path::new("/s/1"), Path::new("/bin/qd"));
        config.run(&Ask { prompt, model, env: &env, root, folder, resume: None, program })
    }

    #[rstest]
    #[case(r#"{"kind":"command","command":["prog","-p"]}"#, &["prog", "-p"], &Stdin::File("prompt".into()))]
    #[case(r#"{"kind":"command","command":["prog","{prompt}","-x"],"prompt":"argument"}"#, &["prog", "do it", "-x"], &Stdin::None)]
    #[case(r#"{"kind":"command","command":["prog"],"prompt":"argument","listens":true}"#, &["prog", "do it"], &Stdin::Pipe)]
    #[case(r#"{"kind":"command","command":["prog","@{prompt-file}"],"prompt":"file"}"#, &["prog", "@/s/1/prompt"], &Stdin::None)]
    #[case(r#"{"kind":"command","command":"echo \"$1\"","prompt":"argument"}"#, &["/bin/sh", "-c", "echo \"$1\"", "sh", "do it"], &Stdin::None)]
    #[case(r#"{"kind":"simulated","command":["--seed","7"]}"#, &["/bin/qd", "simulated-agent", "--seed", "7", "--prompt-file", "/s/1/prompt"], &Stdin::Pipe)]
    fn the_prompt_reaches_the_agent_as_configured(
        #[case] config: &str,
        #[case] argv: &[&str],
        #[case] stdin: &Stdin,
    ) {
        let run = run(config, "do it").unwrap();
        assert_eq!((run.argv, &run.stdin), (argv.iter().map(|word| (*word).to_owned()).collect(), stdin));
    }

    #[test]
    fn it_gets_path_and_what_the_config_names_and_nothing_else() {
        let run =
            run(r#"{"kind":"command","command":["p"],"env":["KEY","MISSING"],"cwd":"sub"}"#, "").unwrap();
        let names: Vec<&str> = run.env.keys().map(String::as_str).collect();
        assert_eq!(names, ["KEY", "PATH"]);
        assert_eq!(run.cwd, Path::new("/project/sub"));
    }

    #[test]
    fn a_model_that_its_tool_would_take_for_an_option_is_refused() {
        for kind in ["claude", "codex", "gemini", "opencode"] {
            let config = format!(r#"{{"kind":"{kind}"}}"#);
            for model in ["--dangerously-skip-permissions", "-y"] {
                let refused = run_on(&config, "do it", Some(model));
                assert!(matches!(refused, Err(Misconfigured::Dash(_))), "{kind}: {refused:?}");
            }
            assert!(run_on(&config, "--yolo", Some("opus")).is_ok(), "{kind}: a prompt is no argument of it");
        }
    }

    #[rstest]
    #[case::the_last_argument(r#"["ls"]"#, true)]
    #[case::where_it_stands(r#"["ls","{prompt}","x"]"#, true)]
    #[case::it_begins_the_word(r#"["ls","{prompt}.txt"]"#, true)]
    #[case::the_end_of_options_comes_too_late(r#"["ls","{prompt}","--"]"#, true)]
    #[case::the_program_itself_ends_no_options(r#"["--"]"#, true)]
    #[case::once_with_and_once_without(r#"["ls","{prompt}","--","{prompt}"]"#, true)]
    #[case::a_line_for_the_shell(r#""ls \"$1\"""#, true)]
    #[case::the_value_of_an_option(r#"["ls","--prompt={prompt}"]"#, false)]
    #[case::options_are_over_before_the_last(r#"["ls","-l","--"]"#, false)]
    #[case::options_are_over_before_it(r#"["ls","--","{prompt}"]"#, false)]
    #[case::options_are_over_in_the_line(r#""ls -- \"$1\"""#, false)]
    fn a_prompt_that_a_command_would_take_for_an_option_is_refused(
        #[case] command: &str,
        #[case] is_refused: bool,
    ) {
        let config = format!(r#"{{"kind":"command","prompt":"argument","command":{command}}}"#);
        for prompt in ["--version", "-x", "- a list\n- of two"] {
            let refused = matches!(run(&config, prompt), Err(Misconfigured::DashPrompt(_)));
            assert_eq!(refused, is_refused, "{prompt}");
        }
        assert!(run(&config, "a prompt -- with --dashes").is_ok());
        for safe in ["stdin", "file"] {
            let config = config.replace("argument", safe);
            assert!(run(&config, "--version").is_ok(), "{safe}");
        }
    }

    #[test]
    fn a_model_cannot_bring_the_prompt_to_where_it_is_an_option() {
        let config = r#"{"kind":"command","prompt":"argument","command":["ls","{model}","--","{prompt}"]}"#;
        let refused = run_on(config, "--version", Some("{prompt}"));
        assert!(matches!(refused, Err(Misconfigured::DashPrompt(_))), "{refused:?}");
    }

    #[rstest]
    #[case(Some("opus"), "opus")]
    #[case(None, "small")]
    fn the_model_of_the_step_else_of_the_agent_reaches_it(#[case] asked: Option<&str>, #[case] gets: &str) {
        let argv = r#"{"kind":"command","command":["p","--model={model}","{prompt}"],"prompt":"argument","model":"small"}"#;
        let argument = run_on(argv, "say {model}", asked).unwrap();
        assert_eq!(argument.argv, ["p", &format!("--model={gets}"), "say {model}"]);
        assert_eq!(argument.env["QUARTERDECK_MODEL"], gets);
        let line = r#"{"kind":"command","command":"p {model} $QUARTERDECK_MODEL","model":"small"}"#;
        let shell = run_on(line, "", asked).unwrap();
        assert_eq!(shell.argv[2], "p {model} $QUARTERDECK_MODEL", "nothing of it is the shell's");
        assert_eq!(shell.env["QUARTERDECK_MODEL"], gets);
    }

    #[test]
    fn what_cannot_work_is_refused_with_the_way_out() {
        assert_eq!(run(r#"{"kind":"command"}"#, ""), Err(Misconfigured::NoCommand));
        assert_eq!(run(r#"{"kind":"command","command":["p","{model}"]}"#, ""), Err(Misconfigured::NoModel));
        let both = r#"{"kind":"command","command":["p"],"listens":true}"#;
        assert_eq!(run(both, ""), Err(Misconfigured::TwoUsesOfStdin));
        let long = "x".repeat(200_000);
        let argument = r#"{"kind":"command","command":["p"],"prompt":"argument"}"#;
        assert_eq!(run(argument, &long), Err(Misconfigured::LongPrompt(200_000)));
    }
}
