//! What each sandbox uses, measured from outside every few seconds: the processor time and memory of its processes, and
//! its files.

use std::collections::{HashMap, VecDeque};
use std::fs;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use time::OffsetDateTime;
use tokio::time::{Instant, MissedTickBehavior};

use super::lifecycle::State;
use super::limits::machine_memory;
use super::registry::{Registry, Sandbox};

const INTERVAL: Duration = Duration::from_secs(5);

/// Six hours.
const CAPACITY: usize = 6 * 3600 / 5;

/// One measurement. Sizes are in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    pub(crate) time: OffsetDateTime,
    /// Percent of all processors.
    pub(crate) cpu_used: f64,
    pub(crate) memory_used: u64,
    pub(crate) memory_total: u64,
    /// Files are in memory, too.
    pub(crate) memory_cache: u64,
    pub(crate) disk_used: u64,
    pub(crate) disk_total: u64,
}

/// The measurements of one sandbox.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    samples: VecDeque<Sample>,
    /// Processor time in ticks at the last measurement, and when that was.
    last: Option<(u64, Instant)>,
}

impl Metrics {
    /// Oldest first.
    pub(crate) fn samples(&self) -> Vec<Sample> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).samples.iter().copied().collect()
    }

    pub(crate) fn latest(&self) -> Option<Sample> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).samples.back().copied()
    }

    fn add(&self, used: Used, memory_total: u64, (disk_used, disk_total): (u64, u64)) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let cpu_used = inner.last.map_or(0.0, |(ticks, then)| {
            let seconds = used.ticks.saturating_sub(ticks) as f64 / ticks_per_second();
            let processors = std::thread::available_parallelism().map_or(1, usize::from) as f64;
            let share = seconds / ((now - then).as_secs_f64().max(f64::EPSILON) * processors);
            (share * 10_000.0).round() / 100.0
        });
        inner.last = Some((used.ticks, now));
        if inner.samples.len() == CAPACITY {
            inner.samples.pop_front();
        }
        inner.samples.push_back(Sample {
            time: OffsetDateTime::now_utc(),
            cpu_used,
            memory_used: used.memory,
            memory_total,
            memory_cache: disk_used,
            disk_used,
            disk_total,
        });
    }
}

/// Measures all running sandboxes for as long as there is a registry.
pub(super) async fn measure(registry: Weak<Registry>) {
    let mut ticks = tokio::time::interval(INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let Some(registry) = registry.upgrade() else { return };
        let mut sandboxes = registry.all();
        sandboxes.retain(|sandbox| sandbox.state() == State::Running);
        if !sandboxes.is_empty() {
            // Reading `/proc` may take a while.
            let _ = tokio::task::spawn_blocking(move || measure_all(&sandboxes)).await;
        }
    }
}

fn measure_all(sandboxes: &[Arc<Sandbox>]) {
    let table = ProcessTable::read();
    let memory_total = machine_memory();
    for sandbox in sandboxes {
        // Whoever holds the leash is about to change what we would measure.
        let Ok(leash) = sandbox.leash.try_lock() else { continue };
        let disk = leash.disk().unwrap_or_default();
        sandbox.metrics.add(table.used_by(sandbox.process), memory_total, disk);
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Used {
    ticks: u64,
    memory: u64,
}

/// The processes of this machine.
struct ProcessTable {
    children: HashMap<u32, Vec<u32>>,
    used: HashMap<u32, Used>,
}

impl ProcessTable {
    fn read() -> Self {
        let mut table = ProcessTable { children: HashMap::new(), used: HashMap::new() };
        for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
            if let Some((parent, used)) = parse(&stat) {
                table.children.entry(parent).or_default().push(pid);
                table.used.insert(pid, used);
            }
        }
        table
    }

    /// What `root` and its descendants use.
    fn used_by(&self, root: u32) -> Used {
        let mut sum = Used::default();
        let mut pending = vec![root];
        while let Some(pid) = pending.pop() {
            let used = self.used.get(&pid).copied().unwrap_or_default();
            sum.ticks += used.ticks;
            sum.memory += used.memory;
            pending.extend(self.children.get(&pid).into_iter().flatten());
        }
        sum
    }
}

/// Parent, processor time and resident memory of a line of `/proc/<pid>/stat`. The time of children that were waited
/// for is included: it is not lost when they end.
fn parse(stat: &str) -> Option<(u32, Used)> {
    // The name in parentheses may contain anything.
    let fields: Vec<&str> = stat.get(stat.rfind(')')? + 1..)?.split_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    let ticks = number(11)? + number(12)? + number(13)? + number(14)?;
    Some((u32::try_from(number(1)?).ok()?, Used { ticks, memory: number(21)? * page_size() }))
}

fn page_size() -> u64 {
    system_value(nix::unistd::SysconfVar::PAGE_SIZE, 4096)
}

fn ticks_per_second() -> f64 {
    system_value(nix::unistd::SysconfVar::CLK_TCK, 100) as f64
}

fn system_value(name: nix::unistd::SysconfVar, usual: u64) -> u64 {
    nix::unistd::sysconf(name).ok().flatten().and_then(|value| u64::try_from(value).ok()).unwrap_or(usual)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_parentheses_do_not_confuse() {
        let line = "7 (a) b (c) S 3 7 7 0 -1 4194560 1 0 0 0 10 5 2 1 20 0 1 0 100 1000 25 18446744073709551615";
        let (parent, used) = parse(line).unwrap();
        assert_eq!((parent, used.ticks, used.memory), (3, 18, 25 * page_size()));
        assert!(parse("7 (a").is_none() && parse("").is_none());
    }

    #[test]
    fn this_process_uses_something() {
        assert!(ProcessTable::read().used_by(std::process::id()).memory > 0);
    }
}
