//! A place for a real agent to work in: its own HOME, its own folder, and a model server.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::model_server::ModelServer;

/// How long a run may take: they start slowly on a busy machine.
const PATIENCE: Duration = Duration::from_mins(2);

/// Returns an agent's program, or says loudly that it is not there.
pub fn find(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("QUARTERDECK_TEST_AGENTS")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("target/agents/bin"), PathBuf::from);
    let path = folder.join(name);
    if path.exists() {
        return Some(path);
    }
    // Past the harness, which keeps what a passing test prints to itself.
    let _ = writeln!(
        std::io::stderr(),
        "SKIPPED: {name} is not in {}; run tests/real/install to test with it",
        folder.display()
    );
    None
}

/// Where a real agent works.
pub struct Place {
    folder: tempfile::TempDir,
    pub server: ModelServer,
}

impl Place {
    pub fn new() -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap(), server: ModelServer::start() };
        for folder in [place.home(), place.work()] {
            std::fs::create_dir_all(folder).unwrap();
        }
        place.configure_codex();
        place.configure_opencode();
        place.configure_gemini(1);
        place
    }

    /// Lets Gemini ask a provider again that has failed.
    pub fn gemini_asks_again(&self) {
        self.configure_gemini(2);
    }

    pub fn home(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("home")
    }

    pub fn work(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("work")
    }

    /// Returns a command that runs in this place and knows of no other.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(self.environment()).current_dir(self.work()).stdin(Stdio::null());
        command
    }

    /// Returns the environment in which every agent finds the model server and nothing else.
    pub fn environment(&self) -> Vec<(String, String)> {
        let path = std::env::var("PATH").unwrap_or_default();
        let (home, url, work) = (self.home(), self.server.url(), self.work());
        let own = [
            ("PATH", path.as_str()),
            ("PWD", work.to_str().unwrap()),
            ("HOME", home.to_str().unwrap()),
            ("ANTHROPIC_BASE_URL", &url),
            ("ANTHROPIC_API_KEY", "sk-ant-for-tests"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("DISABLE_TELEMETRY", "1"),
            ("DISABLE_ERROR_REPORTING", "1"),
            ("DISABLE_AUTOUPDATER", "1"),
            // It refuses to work without asking when it is run by root.
            ("IS_SANDBOX", "1"),
            ("MODEL_KEY", "for-tests"),
            ("GEMINI_API_KEY", "for-tests"),
            ("GOOGLE_GEMINI_BASE_URL", &url),
            ("GEMINI_CLI_NO_RELAUNCH", "true"),
            ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
            ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
            ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"),
            ("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1"),
        ];
        own.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    fn configure_codex(&self) {
        let config = format!(
            "model = \"gpt-5.5\"\nmodel_provider = \"local\"\napproval_policy = \"never\"\n\
             sandbox_mode = \"danger-full-access\"\ncheck_for_update_on_startup = false\n\
             [model_providers.local]\nname = \"local\"\nbase_url = \"{}/v1\"\nwire_api = \"responses\"\n\
             env_key = \"MODEL_KEY\"\nrequest_max_retries = 2\nstream_max_retries = 2\n\
             supports_websockets = false\n[analytics]\nenabled = false\n[otel]\nexporter = \"none\"\n\
             [features]\napps = false\nplugins = false\nremote_plugin = false\ndaemon_auto_start = false\n\
             [agents]\nmax_depth = 3\n",
            self.server.url()
        );
        self.write(".codex/config.toml", &config);
    }

    fn configure_opencode(&self) {
        let model = json!({
            "name": "Local", "reasoning": true, "tool_call": true,
            "cost": { "input": 3, "output": 15, "cache_read": 0.3, "cache_write": 3.75 },
            "limit": { "context": 200_000, "output": 32_000 },
        });
        let config = json!({
            "autoupdate": false, "share": "disabled", "model": "local/large", "small_model": "local/small",
            "provider": { "local": {
                "npm": "@ai-sdk/openai-compatible", "name": "Local",
                "options": { "baseURL": format!("{}/v1", self.server.url()), "apiKey": "for-tests" },
                "models": { "large": model, "small": model },
            } },
        });
        self.write(".config/opencode/opencode.json", &config.to_string());
    }

    fn configure_gemini(&self, attempts: u32) {
        let config = json!({
            "security": { "auth": { "selectedType": "gemini-api-key" } },
            // How often it asks a provider again that has failed: it waits for half a minute in between.
            "general": { "enableAutoUpdate": false, "disableUpdateNag": true, "maxAttempts": attempts },
            "privacy": { "usageStatisticsEnabled": false }, "telemetry": { "enabled": false },
            "experimental": { "enableAgents": true },
        });
        self.write(".gemini/settings.json", &config.to_string());
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.home().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

/// Runs a command to its end, and no longer than patience lasts.
pub fn run(mut command: Command) -> Output {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (mut out, mut err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let read = |stream: &mut dyn std::io::Read| {
        let mut text = Vec::new();
        let _ = stream.read_to_end(&mut text);
        text
    };
    std::thread::scope(|scope| {
        let out = scope.spawn(|| read(&mut out));
        let err = scope.spawn(|| read(&mut err));
        let status = wait(&mut child);
        Output { status, stdout: out.join().unwrap(), stderr: err.join().unwrap() }
    })
}

fn wait(child: &mut std::process::Child) -> std::process::ExitStatus {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if Instant::now() > deadline {
            let _ = child.kill();
            panic!("it did not end in {PATIENCE:?}: {:?}", child.wait());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Returns a prompt that carries a script.
pub fn prompt(task: &str, script: &Value) -> String {
    format!("{task} {} {script}", crate::model_server::script::MARK)
}
