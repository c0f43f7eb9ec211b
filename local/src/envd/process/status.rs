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

fn signal_name(signal: i32) -> String {
    let name = match signal {
        libc::SIGHUP => "hangup",
        libc::SIGINT => "interrupt",
        libc::SIGQUIT => "quit",
        libc::SIGILL => "illegal instruction",
        libc::SIGTRAP => "trace/breakpoint trap",
        libc::SIGABRT => "aborted",
        libc::SIGBUS => "bus error",
        libc::SIGFPE => "floating point exception",
        libc::SIGKILL => "killed",
        libc::SIGUSR1 => "user defined signal 1",
        libc::SIGSEGV => "segmentation fault",
        libc::SIGUSR2 => "user defined signal 2",
        libc::SIGPIPE => "broken pipe",
        libc::SIGALRM => "alarm clock",
        libc::SIGTERM => "terminated",
        libc::SIGXCPU => "CPU time limit exceeded",
        libc::SIGXFSZ => "file size limit exceeded",
        libc::SIGSYS => "bad system call",
        _ => return format!("signal {signal}"),
    };
    name.into()
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
