//! Carrying a plan out: in a sandbox of the server's own, whose files are kept at the end.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;

use super::Build;
use super::copy::{Copy, copy};
use super::images::stand_in;
use super::plan::{Base, Plan, Step, expand};
use crate::control::Api;
use crate::control::daemon::{self, Command, Ended, Output};
use crate::sandbox::journal::Level;
use crate::sandbox::lifecycle::StateError;
use crate::sandbox::registry::{Sandbox, Spec};
use crate::sandbox::setup::Setup;

/// How long a build may take once it has begun.
const LIMIT: Duration = Duration::from_secs(1800);

/// What comes before the first step and after the last one has these names.
const BASE: &str = "base";
const FINALIZE: &str = "finalize";

/// Why a build ends whose template is no longer wanted.
const DELETED: &str = "the template was deleted";

/// What a user's shell would know, as the base for variables.
const LIST_VARIABLES: &str = "env -0";

/// Makes a directory, and those above it, the user's.
const MAKE_DIRECTORY: &str = r#"
set -eu
make() {
  if [ ! -d "$1" ]; then
    make "$(dirname -- "$1")"
    mkdir -- "$1"
    if [ "$(id -u)" = 0 ]; then chown -- "$BUILD_USER" "$1"; fi
  fi
}
make "$BUILD_PATH"
"#;

/// Makes sure that a user exists, and says its name.
const MAKE_USER: &str = r#"
set -eu
name=${BUILD_USER%%:*}
if ! id -u -- "$name" > /dev/null 2>&1; then useradd --create-home --shell /bin/bash -- "$name" >&2; fi
name=$(id -un -- "$name")
if [ "$BUILD_SUDO" = true ]; then echo "$name ALL=(ALL:ALL) NOPASSWD: ALL" >> /etc/sudoers; fi
printf %s "$name"
"#;

/// A step that did not succeed.
struct Failed {
    step: String,
    message: String,
}

impl Failed {
    fn at(step: &str, error: impl std::fmt::Display) -> Self {
        Failed { step: step.to_owned(), message: format!("{error:#}") }
    }
}

/// Waits for its turn unless it has one, builds, and says how it ended.
pub(super) async fn run(api: Arc<Api>, build: Arc<Build>, plan: Plan, turn: Option<OwnedSemaphorePermit>) {
    // The semaphore is never closed.
    let _turn = match turn {
        Some(turn) => Ok(turn),
        None => {
            build.say(BASE, Level::Info, "waiting until other builds have ended");
            tokio::select! {
                turn = Arc::clone(&api.builds.turns).acquire_owned() => turn,
                () = build.cancelled.cancelled() => return build.fail(BASE, DELETED.into()),
            }
        }
    };
    let sandbox = OnceLock::new();
    let outcome = tokio::select! {
        outcome = tokio::time::timeout(LIMIT, carry_out(&api, &build, &plan, &sandbox)) => {
            outcome.unwrap_or_else(|_| Err(Failed::at(FINALIZE, format!("not done after {} s", LIMIT.as_secs()))))
        }
        () = build.cancelled.cancelled() => Err(Failed::at(FINALIZE, DELETED)),
    };
    if let Some(id) = sandbox.get() {
        api.registry.kill(id).await;
    }
    match outcome {
        Ok(()) => build.succeed(),
        Err(Failed { step, message }) => {
            tracing::info!(build = build.id, step, "a build failed");
            build.fail(&step, message);
        }
    }
}

async fn carry_out(api: &Arc<Api>, build: &Build, plan: &Plan, sandbox: &OnceLock<String>) -> Result<(), Failed> {
    let mut builder = Builder::begin(api, build, plan, sandbox).await?;
    for (index, step) in plan.steps.iter().enumerate() {
        let name = (index + 1).to_string();
        build.say(&name, Level::Info, &format!("[{name}/{}] {}", plan.steps.len(), step.title()));
        builder.step(&name, step).await.map_err(|error| Failed::at(&name, error))?;
    }
    builder.finish(plan).await.map_err(|error| Failed::at(FINALIZE, error))
}

/// A build under way: its sandbox, and what the steps so far have set.
struct Builder<'a> {
    api: &'a Api,
    build: &'a Build,
    sandbox: Arc<Sandbox>,
    /// What sandboxes of the template will be set up with.
    setup: Setup,
    user: String,
    workdir: String,
}

impl<'a> Builder<'a> {
    async fn begin(
        api: &'a Arc<Api>,
        build: &'a Build,
        plan: &Plan,
        started: &OnceLock<String>,
    ) -> Result<Self, Failed> {
        let failed = |error: String| Failed::at(BASE, error);
        let (template, program) = match &plan.base {
            Base::Template(name) => (name.as_str(), None),
            Base::Image(image) => {
                let stand_in = stand_in(image).map_err(failed)?;
                let text =
                    format!("template '{}' and this machine's programs stand in for image {image}", stand_in.template);
                build.say(BASE, Level::Warn, &text);
                (stand_in.template, stand_in.program)
            }
        };
        let source = api.catalog.source(template).map_err(|error| failed(error.text().to_owned()))?;
        let spec = Spec {
            template_id: build.project.template_id.clone(),
            timeout: LIMIT * 2,
            secure: true,
            internal: true,
            snapshot: source.snapshot.clone(),
            ..Spec::default()
        };
        let creation = {
            let api = Arc::clone(api);
            // A task of its own: whoever stops waiting for it must not leave half a sandbox.
            tokio::spawn(async move { api.registry.create(spec).await })
        };
        let created = creation.await.map_err(|error| failed(error.to_string()))?;
        let sandbox = created.map_err(|error| failed(error.to_string()))?;
        let _ = started.set(sandbox.id.clone());
        let setup = Setup { files: Vec::new(), user: None, ..(*source.setup).clone() };
        let user = setup.commander().to_owned();
        let workdir = setup.workdir.clone().unwrap_or_default();
        let mut builder = Builder { api, build, sandbox, setup, user, workdir };
        if source.snapshot.is_none() {
            let put = daemon::put_files(&builder.sandbox, &source.setup).await;
            put.map_err(|error| failed(format!("{error:#}")))?;
        }
        builder.find_out(program).await.map_err(|error| failed(format!("{error:#}")))?;
        Ok(builder)
    }

    /// Where the user is, and whether `program` exists.
    async fn find_out(&mut self, program: Option<&str>) -> anyhow::Result<()> {
        if let Some(program) = program {
            let script = format!("command -v {program} > /dev/null");
            if !self.quietly(&script, "user", &BTreeMap::new()).await?.0.success {
                anyhow::bail!(
                    "this machine has no {program}, which would stand in for the image; install it, or use another image"
                );
            }
        }
        if self.workdir.is_empty() {
            self.workdir = self.quietly("pwd", &self.user, &BTreeMap::new()).await?.1.trim_end().to_owned();
        }
        Ok(())
    }

    async fn step(&mut self, name: &str, step: &Step) -> anyhow::Result<()> {
        match step {
            Step::Run { command, user } => {
                let user = user.as_deref().unwrap_or(&self.user);
                let command = Command { script: command, user, cwd: Some(&self.workdir), envs: &self.setup.envs };
                let mut lines = Lines::new(self.build, name);
                let ended = daemon::run(&self.sandbox, &command, &mut |from, bytes| lines.add(from, bytes)).await;
                lines.end();
                succeeded(&ended?, "the command")
            }
            Step::Copy { source, target, owner, mode, hash } => {
                let archive = self.api.uploads.get(&self.build.project.template_id, hash);
                let archive = archive
                    .ok_or_else(|| anyhow::anyhow!("the files of this step were not uploaded, or had to give way"))?;
                let target = self.expanded(target).await?;
                self.copy(name, source, &target, owner.as_deref(), mode.as_deref(), &archive).await
            }
            Step::Env(pairs) => {
                for (key, value) in pairs {
                    let value = self.expanded(value).await?;
                    self.setup.envs.insert(key.clone(), value);
                }
                Ok(())
            }
            Step::Workdir(path) => {
                let path = self.expanded(path).await?;
                let path = Path::new(&self.workdir).join(path).to_string_lossy().into_owned();
                let envs =
                    BTreeMap::from([("BUILD_PATH".into(), path.clone()), ("BUILD_USER".into(), self.user.clone())]);
                self.as_root(name, MAKE_DIRECTORY, &envs).await?;
                self.setup.workdir = Some(path.clone());
                self.workdir = path;
                Ok(())
            }
            Step::User { name: user, sudo } => {
                let envs = BTreeMap::from([
                    ("BUILD_USER".to_owned(), user.clone()),
                    ("BUILD_SUDO".to_owned(), sudo.to_string()),
                ]);
                self.user = self.as_root(name, MAKE_USER, &envs).await?;
                self.setup.default_user = Some(self.user.clone());
                Ok(())
            }
        }
    }

    async fn copy(
        &self,
        name: &str,
        source: &str,
        target: &str,
        owner: Option<&str>,
        mode: Option<&str>,
        archive: &File,
    ) -> anyhow::Result<()> {
        let (owner, mode) = (owner.unwrap_or(&self.user), mode.unwrap_or(""));
        let what = Copy { source, target, owner, mode, cwd: &self.workdir };
        let mut lines = Lines::new(self.build, name);
        let ended = copy(&self.sandbox, archive, &what, &mut |from, bytes| lines.add(from, bytes)).await;
        lines.end();
        succeeded(&ended?, "copying")
    }

    /// `text` with its variables replaced: those of earlier steps, and those that every shell has.
    async fn expanded(&self, text: &str) -> anyhow::Result<String> {
        if !text.contains('$') {
            return Ok(text.to_owned());
        }
        let (_, listed) = self.quietly(LIST_VARIABLES, &self.user, &self.setup.envs).await?;
        let pairs = listed.split('\0').filter_map(|pair| pair.split_once('='));
        let mut values: BTreeMap<_, _> = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        values.extend(self.setup.envs.clone());
        Ok(expand(text, &values))
    }

    /// Runs a script of ours; what it writes to standard output.
    async fn as_root(&self, name: &str, script: &str, envs: &BTreeMap<String, String>) -> anyhow::Result<String> {
        let command = Command { script, user: "root", cwd: Some("/"), envs };
        let mut out = Vec::new();
        let mut lines = Lines::new(self.build, name);
        let mut keep = |from, bytes: &[u8]| match from {
            Output::Stdout => out.extend_from_slice(bytes),
            Output::Stderr => lines.add(from, bytes),
        };
        let ended = daemon::run(&self.sandbox, &command, &mut keep).await;
        lines.end();
        succeeded(&ended?, "it")?;
        Ok(String::from_utf8_lossy(&out).into_owned())
    }

    async fn quietly(
        &self,
        script: &str,
        user: &str,
        envs: &BTreeMap<String, String>,
    ) -> anyhow::Result<(Ended, String)> {
        let mut out = Vec::new();
        let command = Command { script, user, cwd: None, envs };
        let mut keep = |from, bytes: &[u8]| {
            if from == Output::Stdout {
                out.extend_from_slice(bytes);
            }
        };
        let ended = daemon::run(&self.sandbox, &command, &mut keep).await?;
        Ok((ended, String::from_utf8_lossy(&out).into_owned()))
    }

    /// Starts what the template starts, waits until it is ready, and keeps the files.
    async fn finish(mut self, plan: &Plan) -> anyhow::Result<()> {
        if plan.start.is_some() {
            self.setup.start.clone_from(&plan.start);
            self.setup.ready = None;
        }
        if plan.ready.is_some() {
            self.setup.ready.clone_from(&plan.ready);
        }
        let setup = Setup { workdir: Some(self.workdir.clone()), ..self.setup.clone() };
        let mut lines = Lines::new(self.build, FINALIZE);
        if setup.start.is_some() || setup.ready.is_some() {
            self.build.say(FINALIZE, Level::Info, "starting, and waiting until it is ready");
        }
        let started =
            daemon::start_up(&self.sandbox, &setup, &setup.envs, &mut |from, bytes| lines.add(from, bytes)).await;
        lines.end();
        started?;
        self.build.say(FINALIZE, Level::Info, "keeping the files");
        let archive = self.sandbox.archive().await.map_err(|error| match error {
            StateError::Failed(error) => error.context("keeping the files"),
            StateError::Gone | StateError::Conflict(_) => anyhow::anyhow!("the build's sandbox has ended"),
        })?;
        let Build { project, id, tags, .. } = self.build;
        if !self.api.catalog.add_build(project, id, tags, self.setup, archive) {
            anyhow::bail!("the template was deleted");
        }
        self.build.say(
            FINALIZE,
            Level::Info,
            &format!("template {} is ready, tagged {}", project.name, tags.join(", ")),
        );
        Ok(())
    }
}

fn succeeded(ended: &Ended, what: &str) -> anyhow::Result<()> {
    if ended.success {
        return Ok(());
    }
    anyhow::bail!("{what} ended with {}", ended.status)
}

/// Output on its way into the log, line by line.
struct Lines<'a> {
    build: &'a Build,
    step: &'a str,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl<'a> Lines<'a> {
    fn new(build: &'a Build, step: &'a str) -> Self {
        Lines { build, step, stdout: Vec::new(), stderr: Vec::new() }
    }

    fn add(&mut self, from: Output, bytes: &[u8]) {
        let (open, level) = match from {
            Output::Stdout => (&mut self.stdout, Level::Info),
            Output::Stderr => (&mut self.stderr, Level::Warn),
        };
        open.extend_from_slice(bytes);
        while let Some(end) = open.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = open.drain(..=end).collect();
            self.build.say(self.step, level, String::from_utf8_lossy(&line).trim_end());
        }
        // A line without an end is not waited for for ever.
        if open.len() > super::LONGEST_LINE {
            self.build.say(self.step, level, &String::from_utf8_lossy(open));
            open.clear();
        }
    }

    /// What has no line end.
    fn end(&mut self) {
        for (open, level) in [(&self.stdout, Level::Info), (&self.stderr, Level::Warn)] {
            if !open.is_empty() {
                self.build.say(self.step, level, &String::from_utf8_lossy(open));
            }
        }
    }
}
