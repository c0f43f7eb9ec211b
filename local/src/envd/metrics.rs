//! `GET /metrics`: what the sandbox's machine uses.

use std::fs;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header;
use serde_json::json;

use super::state::Envd;

/// Processor time at the last request; the share is what was used since.
#[derive(Default)]
pub(super) struct CpuMeter {
    last: Mutex<CpuTimes>,
}

#[derive(Clone, Copy, Default)]
struct CpuTimes {
    busy: u64,
    total: u64,
}

impl CpuTimes {
    fn read() -> Self {
        let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
        let line = stat.lines().next().unwrap_or("");
        let times: Vec<u64> = line.split_whitespace().skip(1).take(8).map(|time| time.parse().unwrap_or(0)).collect();
        let total = times.iter().sum();
        let idle: u64 = times.iter().skip(3).take(2).sum();
        CpuTimes { busy: total - idle, total }
    }
}

impl CpuMeter {
    /// Percent of all processors used since the last call, with two decimals.
    fn used_percent(&self) -> f64 {
        let now = CpuTimes::read();
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *last, now);
        let total = now.total.saturating_sub(before.total);
        if total == 0 {
            return 0.0;
        }
        let used = now.busy.saturating_sub(before.busy) as f64 / total as f64;
        (used * 10_000.0).round() / 100.0
    }
}

pub(super) async fn metrics(State(envd): State<Arc<Envd>>) -> Response {
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let bytes = |name: &str| {
        let line = memory.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()).unwrap_or(0) * 1024
    };
    let total = bytes("MemTotal");
    let used = total.saturating_sub(bytes("MemAvailable"));
    let disk = nix::sys::statvfs::statvfs("/").ok();
    let (disk_total, disk_used) = disk.map_or((0, 0), |disk| {
        let unit = disk.fragment_size();
        (disk.blocks() * unit, (disk.blocks() - disk.blocks_free()) * unit)
    });
    const MIB: u64 = 1024 * 1024;
    let body = json!({
        "ts": SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs()),
        "cpu_count": std::thread::available_parallelism().map_or(1, usize::from),
        "cpu_used_pct": envd.cpu.used_percent(),
        "mem_total_mib": total / MIB,
        "mem_used_mib": used / MIB,
        "mem_total": total,
        "mem_used": used,
        "mem_cache": bytes("Cached"),
        "disk_used": disk_used,
        "disk_total": disk_total,
    });
    ([(header::CACHE_CONTROL, "no-store"), (header::CONTENT_TYPE, "application/json")], format!("{body}\n"))
        .into_response()
}
