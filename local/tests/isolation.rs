//! What a sandbox cannot see, touch or leave behind.

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use support::server::{Server, descendants, wait_until};

/// Pids on the host whose command line contains `marker`.
fn processes_with(marker: &str) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        if String::from_utf8_lossy(&line).contains(marker) {
            found.push(pid);
        }
    }
    found
}

/// Control groups of the server `pid`.
fn groups_of(pid: u32) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![PathBuf::from("/sys/fs/cgroup")];
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if entry.file_name() == *format!("agent-sandbox-local-{pid}") {
                    found.push(entry.path());
                }
                pending.push(entry.path());
            }
        }
    }
    found
}

#[test]
fn the_host_is_out_of_sight_and_out_of_reach() {
    let server = Server::start();
    let sandbox = server.create();
    let secret = tempfile::Builder::new().prefix("asl-secret").tempfile_in("/tmp").unwrap();
    fs::write(secret.path(), "host secret").unwrap();
    let secret_path = secret.path().to_str().unwrap();
    let host_pid = server.pid();
    for user in ["user", "root"] {
        for (script, expected) in [
            // Processes.
            ("ls /proc | grep -c '^[0-9]*$' | awk '{print ($1 < 20)}'", "1\n"),
            (&*format!("kill -0 {host_pid} 2>/dev/null || echo unseen"), "unseen\n"),
            ("hostname", "sandbox\n"),
            // Files.
            (&*format!("cat {secret_path} 2>/dev/null || echo unseen"), "unseen\n"),
            ("ls /home", "user\n"),
            ("ls -A /tmp /root 2>/dev/null | grep -v : | grep .", ""),
            ("cat ~/.ssh/* /root/.ssh/* /etc/ssh/*_key 2>/dev/null", ""),
            (&*format!("mount | grep -c {}", server.directory.path().display()), "0\n"),
            (
                "echo x 2>/dev/null > /proc/1/root/../host || echo refused; ls /host 2>/dev/null | wc -l",
                if user == "root" { "1\n" } else { "refused\n0\n" },
            ),
            (
                "grep -c '^[^:]*:[*!]:' /etc/shadow 2>/dev/null; grep -vc '^[^:]*:[*!]:' /etc/shadow 2>/dev/null",
                if user == "root" { "2\n0\n" } else { "" },
            ),
            ("ls /var/run/docker.sock /run/docker.sock /var/lib/docker 2>/dev/null", ""),
            // Privileges.
            ("mount -t tmpfs none /mnt 2>/dev/null || echo refused", "refused\n"),
            ("umount /usr 2>/dev/null || echo refused", "refused\n"),
            ("echo 1 2>/dev/null > /proc/sys/kernel/sysrq || echo refused", "refused\n"),
            ("echo b 2>/dev/null > /proc/sysrq-trigger || echo refused", "refused\n"),
            ("chroot /proc/1/root ls /home", if user == "root" { "user\n" } else { "" }),
            ("mknod /tmp/disk b 8 0 2>/dev/null || echo refused", "refused\n"),
        ] {
            let finished = sandbox.run_as(user, script);
            assert_eq!(finished.out(), expected, "{user}: {script}: {finished:?}");
        }
    }
    sandbox.run(&format!("ln -s {secret_path} ~/secret; ln -s ../../../../../..{secret_path} ~/climbing"));
    sandbox.run("ln -s / ~/root; ln -s /proc/1/cwd ~/cwd");
    let escapes = ["secret", "climbing", &format!("root{secret_path}"), &format!("cwd{secret_path}")];
    for path in escapes {
        let read = server.send(&sandbox.envd("GET", &format!("/files?path={path}")));
        assert!(read.status() == 404 || read.text() == "from inside", "{path}: {}", read.text());
        // Writing through a link makes a file inside, or none.
        sandbox.upload(path, b"from inside");
        assert_eq!(fs::read(secret_path).unwrap(), b"host secret", "{path}");
    }
    sandbox.run_as("root", &format!("rm -f {secret_path}"));
    for target in [format!("/files?path={secret_path}"), "/files?path=/proc/1/root/../../etc/hostname".into()] {
        let answer = server.send(&sandbox.envd("GET", &target));
        assert!(answer.status() == 404 || answer.text() == "sandbox\n", "{target}: {}", answer.text());
    }
}

#[test]
fn what_a_sandbox_writes_stays_in_it() {
    let server = Server::start();
    let (first, second) = (server.create(), server.create());
    let marker = format!("asl-marker-{}", std::process::id());
    for directory in ["/usr/bin", "/etc", "/opt", "/tmp", "/home/user", "/root", "/var/tmp", "/run"] {
        let path = format!("{directory}/{marker}");
        let finished = first.run_as("root", &format!("echo x > {path} && cat {path}"));
        assert_eq!(finished.out(), "x\n", "root writes {path}: {finished:?}");
        assert!(!Path::new(&path).exists(), "{path} is on the host");
        assert_eq!(second.run_as("root", &format!("cat {path} 2>/dev/null || echo unseen")).out(), "unseen\n");
    }
    assert_eq!(first.run(&format!("echo x > /usr/bin/{marker}2 2>/dev/null || echo refused")).out(), "refused\n");
    let passwd = fs::read("/etc/passwd").unwrap();
    assert_eq!(
        first.run_as("root", "echo changed >> /etc/passwd; rm /usr/bin/env; ls /usr/bin/env 2>&1 | wc -l").exit_code(),
        0
    );
    assert_eq!(fs::read("/etc/passwd").unwrap(), passwd);
    assert!(Path::new("/usr/bin/env").exists());
    assert_eq!(second.run("ls /usr/bin/env").out(), "/usr/bin/env\n");
    first.run("sleep 1000 >/dev/null 2>&1 &");
    first.settle("pgrep -c sleep", "1\n");
    second.run("kill -9 -1");
    assert_eq!(first.run("pgrep -c sleep").out(), "1\n");
}

#[test]
fn the_end_of_a_sandbox_leaves_nothing() {
    let server = Server::start();
    let sandbox = server.create();
    let marker = format!("98765{}", std::process::id());
    // A daemon of its own session, which nobody waits for.
    sandbox.run(&format!("setsid sh -c 'sleep {marker} & sleep {marker}' >/dev/null 2>&1 &"));
    sandbox.run_as("root", "mkdir -p /root/deep/er; echo x > /root/deep/er/file; chmod 0 /root/deep");
    wait_until("the daemon runs", || processes_with(&marker).len() >= 2);
    let runtime = server.runtime_dir().unwrap();
    assert!(fs::read_dir(&runtime).unwrap().count() > 1);
    assert_eq!(server.api("DELETE", &format!("/sandboxes/{}", sandbox.id), None).status(), 204);
    assert_eq!(processes_with(&marker), Vec::<u32>::new(), "the answer comes when everything is gone");
    let left: Vec<_> = fs::read_dir(&runtime).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["lock"]);
    assert_eq!(descendants(server.pid()), Vec::<u32>::new());
}

#[test]
fn nothing_outlives_the_server() {
    for signal in ["INT", "TERM", "KILL"] {
        let mut server = Server::start();
        let sandbox = server.create();
        let marker = format!("12345{}{}", signal.len(), std::process::id());
        sandbox.run(&format!("setsid sleep {marker} >/dev/null 2>&1 &"));
        let mut stream = sandbox.start(&support::sandbox::shell(&format!("sleep {marker}")), &[]);
        stream.pid();
        let id = sandbox.id.clone();
        let family = descendants(server.pid());
        assert!(family.len() >= 4, "{family:?}");
        server.stop(signal);
        wait_until("all processes are gone", || {
            processes_with(&marker).is_empty() && family.iter().all(|pid| !Path::new(&format!("/proc/{pid}")).exists())
        });
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        assert!(!mounts.contains(&id), "{mounts}");
        if signal != "KILL" {
            assert_eq!(server.runtime_dir(), None, "{signal}: the runtime directory is left");
            continue;
        }
        // A killed server cannot tidy up; the next one does.
        let stale = server.runtime_dir().unwrap();
        let next = Command::new(env!("CARGO_BIN_EXE_agent-sandbox-local"))
            .args(["serve", "--port", "0", "--ready-file"])
            .arg(server.directory.path().join("next.json"))
            .env("XDG_RUNTIME_DIR", server.directory.path())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn();
        let mut next = next.unwrap();
        wait_until("the next server is ready", || server.directory.path().join("next.json").exists());
        assert!(!stale.exists());
        assert_eq!(groups_of(server.pid()), Vec::<PathBuf>::new());
        next.kill().unwrap();
        next.wait().unwrap();
    }
}

#[test]
fn without_isolation_the_server_says_so_and_still_cleans_up() {
    let mut server = Server::start_with(&["--isolation", "none"]);
    assert!(server.log().contains("ISOLATION IS OFF"), "{}", server.log());
    let sandbox = server.create();
    let marker = format!("55555{}", std::process::id());
    assert_eq!(sandbox.run("echo hello; exit 3").out(), "hello\n");
    assert_eq!(sandbox.run("exit 3").exit_code(), 3);
    sandbox.run(&format!("setsid sleep {marker} >/dev/null 2>&1 &"));
    wait_until("it runs", || !processes_with(&marker).is_empty());
    assert_eq!(server.api("DELETE", &format!("/sandboxes/{}", sandbox.id), None).status(), 204);
    assert_eq!(processes_with(&marker), Vec::<u32>::new());
    server.stop("TERM");
}

#[test]
fn the_first_process_holds_nothing_that_leads_out() {
    let server = Server::start();
    let sandbox = server.create();
    // Directories would lead past the overlays, to what they hide.
    let script = "for fd in /proc/1/fd/*; do [ -d \"$fd\" ] && readlink \"$fd\"; done; ls /proc/1/fd | wc -l";
    let lines = sandbox.run_as("root", script);
    assert_eq!(lines.out().lines().count(), 1, "{lines:?}");
}
