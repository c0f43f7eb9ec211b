//! How a process ended, in the words of the protocol.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use crate::protocol::process::process_event::EndEvent;

/// The `end` event for `status`.
pub(super) fn end_event(status: ExitStatus) -> EndEvent {
    let text = match status.signal() {
        Some(signal) => {
            let core = if status.core_dumped() { " (core dumped)" } else { "" };
            format!("signal: {}{core}", signal_name(signal))
        }
        None => format!("exit status {}", status.code().unwrap_or(-1)),
    };
    EndEvent {
        exit_code: status.code().unwrap_or(-1),
        exited: status.code().is_some(),
        error: (!status.success()).then(|| text.clone()),
        status: text,
        ..Default::default()
    }
}

/// Signals by number, with their words and their names.
const SIGNALS: [(i32, &str, &str); 18] = [
    (libc::SIGHUP, "hangup", "SIGHUP"),
    (libc::SIGINT, "interrupt", "SIGINT"),
    (libc::SIGQUIT, "quit", "SIGQUIT"),
    (libc::SIGILL, "illegal instruction", "SIGILL"),
    (libc::SIGTRAP, "trace/breakpoint trap", "SIGTRAP"),
    (libc::SIGABRT, "aborted", "SIGABRT"),
    (libc::SIGBUS, "bus error", "SIGBUS"),
    (libc::SIGFPE, "floating point exception", "SIGFPE"),
    (libc::SIGKILL, "killed", "SIGKILL"),
    (libc::SIGUSR1, "user defined signal 1", "SIGUSR1"),
    (libc::SIGSEGV, "segmentation fault", "SIGSEGV"),
    (libc::SIGUSR2, "user defined signal 2", "SIGUSR2"),
    (libc::SIGPIPE, "broken pipe", "SIGPIPE"),
    (libc::SIGALRM, "alarm clock", "SIGALRM"),
    (libc::SIGTERM, "terminated", "SIGTERM"),
    (libc::SIGXCPU, "CPU time limit exceeded", "SIGXCPU"),
    (libc::SIGXFSZ, "file size limit exceeded", "SIGXFSZ"),
    (libc::SIGSYS, "bad system call", "SIGSYS"),
];

fn signal_name(signal: i32) -> String {
    let known = SIGNALS.iter().find(|(number, ..)| *number == signal);
    known.map_or_else(|| format!("signal {signal}"), |(_, words, _)| (*words).to_owned())
}

/// Number and name of the signal that ended a process, when a signal with a name did.
pub(super) fn signal_of(end: &EndEvent) -> Option<(i32, &'static str)> {
    let words = end.status.strip_prefix("signal: ")?.trim_end_matches(" (core dumped)");
    SIGNALS.iter().find(|(_, known, _)| *known == words).map(|(number, _, name)| (*number, *name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_end_has_its_words() {
        for (raw, exit_code, exited, status, error) in [
            (0, 0, true, "exit status 0", None),
            (3 << 8, 3, true, "exit status 3", Some("exit status 3")),
            (9, -1, false, "signal: killed", Some("signal: killed")),
            (11 | 0x80, -1, false, "signal: segmentation fault (core dumped)", None),
            (40, -1, false, "signal: signal 40", Some("signal: signal 40")),
        ] {
            let end = end_event(ExitStatus::from_raw(raw));
            assert_eq!((end.exit_code, end.exited, end.status.as_str()), (exit_code, exited, status));
            assert_eq!(end.error.as_deref(), if raw == 0 { None } else { error.or(Some(status)) });
        }
    }
}
