//! Templates that clients build: what was asked for, how far it is, what it said. Everything is in memory, and bounded.
//!
//! | module | what it is for |
//! |---|---|
//! | `api` | the routes |
//! | `plan` | what a client asks for, checked |
//! | `uploads` | archives of the files that a build copies |
//! | `images` | what stands in for images of a container engine |
//! | `run` | carrying a plan out, in a sandbox |
//! | `copy` | the step that takes files from an archive |

pub(super) mod api;
mod copy;
mod images;
mod plan;
mod run;
pub(super) mod uploads;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use time::OffsetDateTime;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::catalog::{Project, new_build_id};
use super::sandboxes::timestamp;
use crate::sandbox::journal::Level;

/// How many builds run at a time; others wait.
const AT_A_TIME: usize = 4;

/// How many may run or wait.
const MOST_UNDER_WAY: usize = 20;

/// How many are remembered. Older ones that have ended, or were never started, give way.
const MOST_REMEMBERED: usize = 200;

/// What a build may say, in bytes. Clients count entries, so what comes later is dropped and not what came first.
const LOG_LIMIT: usize = 4 << 20;

/// Longer lines are cut, in bytes.
const LONGEST_LINE: usize = 8 << 10;

/// How many lines before a failure are told with its reason.
const REASON_LINES: usize = 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    /// Not started.
    Waiting,
    Building,
    Ready,
    Error,
}

impl Status {
    pub(super) fn name(self) -> &'static str {
        match self {
            Status::Waiting => "waiting",
            Status::Building => "building",
            Status::Ready => "ready",
            Status::Error => "error",
        }
    }
}

/// What sandboxes of a template are said to have. This machine gives all of them all it has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    pub(super) cpu_count: usize,
    pub(super) memory_mb: u64,
}

/// One build of a template.
#[derive(Debug)]
pub(super) struct Build {
    pub(super) id: String,
    pub(super) project: Project,
    pub(super) tags: Vec<String>,
    pub(super) size: Size,
    pub(super) created_at: OffsetDateTime,
    progress: Mutex<Progress>,
    /// Its template was deleted.
    cancelled: CancellationToken,
}

#[derive(Debug)]
struct Progress {
    status: Status,
    entries: Vec<LogEntry>,
    bytes: usize,
    reason: Option<Reason>,
}

#[derive(Debug, Clone)]
struct LogEntry {
    time: OffsetDateTime,
    level: Level,
    message: String,
    step: String,
}

/// Why a build failed.
#[derive(Debug, Clone)]
struct Reason {
    message: String,
    step: String,
    entries: Vec<LogEntry>,
}

impl LogEntry {
    fn described(&self) -> Value {
        json!({ "timestamp": timestamp(self.time), "level": self.level, "message": self.message, "step": self.step })
    }
}

impl Build {
    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn status(&self) -> Status {
        self.progress().status
    }

    /// Whether this caller is the one who starts it.
    fn begin(&self) -> bool {
        let mut progress = self.progress();
        let begins = progress.status == Status::Waiting;
        if begins {
            progress.status = Status::Building;
        }
        begins
    }

    fn say(&self, step: &str, level: Level, message: &str) {
        let mut progress = self.progress();
        if progress.bytes > LOG_LIMIT {
            return;
        }
        let mut end = message.len().min(LONGEST_LINE);
        while !message.is_char_boundary(end) {
            end -= 1;
        }
        let mut message = message[..end].to_owned();
        progress.bytes += message.len();
        if progress.bytes > LOG_LIMIT {
            message = "this build says more than is kept".to_owned();
        }
        progress.entries.push(LogEntry { time: OffsetDateTime::now_utc(), level, message, step: step.to_owned() });
    }

    fn succeed(&self) {
        self.progress().status = Status::Ready;
    }

    fn fail(&self, step: &str, message: String) {
        self.say(step, Level::Error, &message);
        let mut progress = self.progress();
        let of_step: Vec<_> = progress.entries.iter().filter(|entry| entry.step == step).cloned().collect();
        let entries = of_step[of_step.len().saturating_sub(REASON_LINES)..].to_vec();
        progress.reason = Some(Reason { message, step: step.to_owned(), entries });
        progress.status = Status::Error;
    }

    /// What the status call answers: entries of at least `level`, from `offset` on.
    fn described(&self, offset: usize, limit: usize, level: Level) -> Value {
        let progress = self.progress();
        let entries = progress.entries.iter().filter(|entry| entry.level >= level).skip(offset).take(limit);
        let entries: Vec<_> = entries.collect();
        let mut body = json!({
            "templateID": self.project.template_id,
            "buildID": self.id,
            "status": progress.status.name(),
            "logs": entries.iter().map(|entry| &entry.message).collect::<Vec<_>>(),
            "logEntries": entries.iter().map(|entry| entry.described()).collect::<Vec<_>>(),
        });
        if let Some(Reason { message, step, entries }) = &progress.reason {
            let entries: Vec<_> = entries.iter().map(LogEntry::described).collect();
            body["reason"] = json!({ "message": message, "step": step, "logEntries": entries });
        }
        body
    }

    /// All entries of at least `level`, oldest first, with their times in milliseconds.
    fn entries(&self, level: Level) -> Vec<(i64, Value)> {
        let milliseconds = |entry: &LogEntry| (entry.time.unix_timestamp_nanos() / 1_000_000) as i64;
        let progress = self.progress();
        let entries = progress.entries.iter().filter(|entry| entry.level >= level);
        entries.map(|entry| (milliseconds(entry), entry.described())).collect()
    }
}

/// All builds of a server that are remembered.
pub(super) struct Builds {
    list: Mutex<VecDeque<Arc<Build>>>,
    turns: Arc<Semaphore>,
}

impl Builds {
    pub(super) fn new() -> Self {
        Builds { list: Mutex::default(), turns: Arc::new(Semaphore::new(AT_A_TIME)) }
    }

    fn list(&self) -> MutexGuard<'_, VecDeque<Arc<Build>>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, project: Project, tags: Vec<String>, size: Size) -> Arc<Build> {
        let build = Arc::new(Build {
            id: new_build_id(),
            project,
            tags,
            size,
            created_at: OffsetDateTime::now_utc(),
            progress: Mutex::new(Progress { status: Status::Waiting, entries: Vec::new(), bytes: 0, reason: None }),
            cancelled: CancellationToken::new(),
        });
        let mut list = self.list();
        while list.len() >= MOST_REMEMBERED {
            let Some(oldest) = list.iter().position(|build| build.status() != Status::Building) else { break };
            list.remove(oldest);
        }
        list.push_back(Arc::clone(&build));
        build
    }

    fn get(&self, id: &str) -> Option<Arc<Build>> {
        self.list().iter().find(|build| build.id == id).cloned()
    }

    fn under_way(&self) -> usize {
        self.list().iter().filter(|build| build.status() == Status::Building).count()
    }

    /// Newest first.
    pub(super) fn of_template(&self, template_id: &str) -> Vec<Arc<Build>> {
        self.list().iter().rev().filter(|build| build.project.template_id == template_id).cloned().collect()
    }

    /// Gives up what is under way, and forgets everything.
    pub(super) fn forget_template(&self, template_id: &str) {
        self.list().retain(|build| {
            let keep = build.project.template_id != template_id;
            if !keep {
                build.cancelled.cancel();
            }
            keep
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn builds() -> (Builds, Project) {
        let created_at = OffsetDateTime::now_utc();
        (Builds::new(), Project { template_id: "t".into(), name: "n".into(), public: false, created_at })
    }

    const SIZE: Size = Size { cpu_count: 2, memory_mb: 1024 };

    #[test]
    fn logs_are_bounded_and_offsets_stay() {
        let (builds, project) = builds();
        let build = builds.add(project, vec!["default".into()], SIZE);
        build.say("1", Level::Info, "first");
        let long = "é".repeat(LONGEST_LINE);
        for _ in 0..LOG_LIMIT / LONGEST_LINE * 2 {
            build.say("1", Level::Debug, &long);
        }
        let entries = build.entries(Level::Debug);
        assert!(entries.len() <= LOG_LIMIT / LONGEST_LINE + 2, "{}", entries.len());
        assert_eq!(entries[0].1["message"], "first");
        assert_eq!(entries.last().unwrap().1["message"], "this build says more than is kept");
        assert_eq!(build.described(1, 1, Level::Debug)["logs"][0].as_str().unwrap().len(), LONGEST_LINE);
        assert_eq!(build.described(0, 100, Level::Info)["logs"], json!(["first"]));
        build.fail("1", "it broke".into());
        let body = build.described(0, 100, Level::Info);
        assert_eq!((&body["status"], &body["reason"]["step"]), (&json!("error"), &json!("1")));
        assert_eq!(body["reason"]["logEntries"].as_array().unwrap().len(), REASON_LINES);
    }

    #[test]
    fn a_build_begins_once_and_old_ones_give_way() {
        let (builds, project) = builds();
        let first = builds.add(project.clone(), Vec::new(), SIZE);
        assert!(first.begin() && !first.begin());
        let second = builds.add(project.clone(), Vec::new(), SIZE);
        for _ in 0..MOST_REMEMBERED {
            builds.add(project.clone(), Vec::new(), SIZE);
        }
        assert!(builds.get(&first.id).is_some(), "it is under way");
        assert!(builds.get(&second.id).is_none());
        assert_eq!(builds.of_template("t").len(), MOST_REMEMBERED);
        builds.forget_template("t");
        assert!(first.cancelled.is_cancelled() && builds.of_template("t").is_empty());
    }
}
