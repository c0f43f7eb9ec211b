//! One context: a place where runs follow each other, in a kernel that may be replaced.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;
use tokio::sync::{Mutex, mpsc, watch};

use super::Host;
use super::kernel::{Hidden, Kernel, StartError};
use super::languages;
use super::lines;
use super::run::{self, Ended, Run};

/// The epoch in which there is no kernel any more.
const DELETED: u64 = u64::MAX;

/// Variables that one run asked for.
pub(super) type Variables = BTreeMap<String, String>;

/// One context.
pub(super) struct Context {
    pub(super) description: Description,
    kind: languages::Kernel,
    host: Arc<Host>,
    /// Counts restarts. A kernel of an earlier epoch is not used any more.
    epoch: watch::Sender<u64>,
    /// Held for the length of a run. Whoever waits gets it in the order of asking.
    slot: Mutex<Slot>,
}

/// What clients see of a context.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Description {
    pub(super) id: String,
    pub(super) language: String,
    pub(super) cwd: String,
}

#[derive(Default)]
struct Slot {
    epoch: u64,
    started: Option<Started>,
    /// The working directory is that of the first kernel only.
    had_kernel: bool,
}

struct Started {
    kernel: Kernel,
    /// The sandbox's variables, as the kernel has them.
    variables: Variables,
    fresh: bool,
}

/// What became of a run.
enum Outcome {
    Ended(Ended),
    /// There is no kernel for it.
    NotStarted(String),
}

impl Context {
    pub(super) fn new(host: Arc<Host>, kind: languages::Kernel, description: Description) -> Arc<Self> {
        Arc::new(Context { description, kind, host, epoch: watch::Sender::new(0), slot: Mutex::default() })
    }

    /// Starts the kernel if there is none.
    pub(super) async fn start(&self) -> Result<(), StartError> {
        let mut slot = self.slot.lock().await;
        self.started(&mut slot).await.map(|_| ())
    }

    /// Replaces the kernel. A run in progress is cut; those that wait for their turn get the new kernel.
    pub(super) async fn restart(&self) -> Result<(), StartError> {
        self.epoch.send_modify(|epoch| *epoch = epoch.saturating_add(u64::from(*epoch != DELETED)));
        self.start().await
    }

    /// Ends the kernel for good, and waits until it is gone.
    pub(super) async fn delete(&self) {
        self.epoch.send_replace(DELETED);
        self.slot.lock().await.started = None;
    }

    async fn started<'a>(&self, slot: &'a mut Slot) -> Result<&'a mut Started, StartError> {
        let epoch = *self.epoch.borrow();
        if epoch != slot.epoch {
            slot.started = None;
            slot.epoch = epoch;
        }
        if epoch == DELETED {
            return Err(StartError::Failed(format!("Context {} not found", self.description.id)));
        }
        if slot.started.is_none() {
            let variables = self.host.variables().await.map_err(|error| StartError::Failed(error.to_string()))?;
            let directory = if slot.had_kernel { self.host.home.as_path() } else { Path::new(&self.description.cwd) };
            let kernel = Kernel::start(&self.host, self.kind, directory, &variables).await?;
            slot.started = Some(Started { kernel, variables, fresh: true });
            slot.had_kernel = true;
        }
        slot.started.as_mut().ok_or_else(|| StartError::Failed("there is no kernel".into()))
    }

    /// Runs `code` when its turn comes, and writes what happens to `answer`. When the reader of `answer` goes away, the
    /// run is interrupted; the next one waits until that is done.
    pub(super) async fn run(self: Arc<Self>, code: String, variables: Variables, answer: mpsc::Sender<Bytes>) {
        let mut slot = tokio::select! {
            slot = self.slot.lock() => slot,
            () = answer.closed() => return,
        };
        let mut epoch = self.epoch.subscribe();
        let driven = tokio::select! {
            biased;
            // The sender lives in this context: there is no other reason to return.
            _ = epoch.changed() => None,
            outcome = self.drive(&mut slot, &code, variables, &answer) => Some(outcome),
        };
        let deleted = *self.epoch.borrow() == DELETED;
        let error = match driven {
            Some(Outcome::Ended(Ended::Done | Ended::Abandoned)) => None,
            Some(Outcome::Ended(Ended::Died)) => {
                slot.started = None;
                Some(lines::error("ContextRestarting", "Context was restarted", ""))
            }
            Some(Outcome::NotStarted(reason)) if !deleted => Some(lines::error("KernelError", &reason, "")),
            None | Some(Outcome::NotStarted(_)) => {
                slot.started = None;
                Some(lines::error(
                    "UnexpectedEndOfExecution",
                    "Connection to the execution was closed before the execution was finished",
                    "",
                ))
            }
        };
        // A reader that does not read must not hold the next run back.
        drop(slot);
        for line in error.into_iter().chain([lines::end()]) {
            if answer.send(line.into()).await.is_err() {
                return;
            }
        }
    }

    async fn drive(&self, slot: &mut Slot, code: &str, variables: Variables, answer: &mpsc::Sender<Bytes>) -> Outcome {
        let started = match self.started(slot).await {
            Ok(started) => started,
            Err(StartError::Directory) => return Outcome::NotStarted("Failed to set working directory".into()),
            Err(StartError::Failed(reason)) => return Outcome::NotStarted(reason),
        };
        Outcome::Ended(self.drive_started(started, code, &variables, answer).await)
    }

    async fn drive_started(
        &self,
        started: &mut Started,
        code: &str,
        variables: &Variables,
        answer: &mpsc::Sender<Bytes>,
    ) -> Ended {
        if started.fresh {
            // They may have changed since the kernel was started, which can be long ago.
            let current = self.host.variables().await.unwrap_or_else(|_| started.variables.clone());
            if let Hidden::Died = started.renew(current).await {
                return Ended::Died;
            }
            started.fresh = false;
        }
        for (name, value) in variables {
            if let Some(reason) = self.kind.refuses_variable(name, value) {
                return run::send(answer, lines::error("ValueError", &reason, "")).await;
            }
        }
        match started.set(variables).await {
            Hidden::Done => {}
            Hidden::Died => return Ended::Died,
            Hidden::Raised(name, value) => return run::send(answer, lines::error(&name, &value, "")).await,
        }
        let Some(id) = started.kernel.execute(code, false, true).await else { return Ended::Died };
        let mut run = Run::new(id);
        let ended = run.follow(&mut started.kernel, answer).await;
        let alive = match ended {
            Ended::Done => true,
            Ended::Abandoned => run.stop(&mut started.kernel).await,
            Ended::Died => false,
        };
        if !alive {
            return Ended::Died;
        }
        match started.unset(variables).await {
            Hidden::Died => Ended::Died,
            Hidden::Done | Hidden::Raised(..) => ended,
        }
    }
}

impl Started {
    /// Brings the kernel's variables up to `current`, before its first run.
    async fn renew(&mut self, current: Variables) -> Hidden {
        let gone = self.variables.keys().filter(|name| !current.contains_key(*name)).map(|name| (name.clone(), None));
        let new = current.iter().filter(|(name, value)| self.variables.get(*name) != Some(value));
        let changes: BTreeMap<_, _> =
            gone.chain(new.map(|(name, value)| (name.clone(), Some(value.clone())))).collect();
        self.variables = current;
        if changes.is_empty() && !self.kernel.kind.counts_preparation() {
            return Hidden::Done;
        }
        let code = self.kernel.kind.set_variables(&changes);
        self.kernel.execute_hidden(&code, true).await
    }

    /// Sets the variables of one run.
    async fn set(&mut self, variables: &Variables) -> Hidden {
        let changes: BTreeMap<_, _> =
            variables.iter().map(|(name, value)| (name.clone(), Some(value.clone()))).collect();
        self.change(changes, false).await
    }

    /// Gives the variables of one run the values back that they have in the sandbox.
    async fn unset(&mut self, variables: &Variables) -> Hidden {
        let changes: BTreeMap<_, _> =
            variables.keys().map(|name| (name.clone(), self.variables.get(name).cloned())).collect();
        // Clients of JavaScript are used to this one taking a number.
        self.change(changes, true).await
    }

    async fn change(&mut self, changes: BTreeMap<String, Option<String>>, counts: bool) -> Hidden {
        if changes.is_empty() {
            return Hidden::Done;
        }
        let code = self.kernel.kind.set_variables(&changes);
        self.kernel.execute_hidden(&code, counts).await
    }
}
