//! What one sandbox uses up is missing nowhere else.

mod support;

use std::fs;

use support::sandbox::shell;
use support::server::{Server, wait_until};

/// How many processes and threads descend from the one with this pid.
fn family(pid: u32) -> usize {
    let mut count = 0;
    let mut pending = vec![pid];
    while let Some(pid) = pending.pop() {
        for task in fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
            count += 1;
            let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            pending.extend(children.split_whitespace().map(|child| child.parse::<u32>().unwrap()));
        }
    }
    count
}

#[test]
fn a_fork_bomb_is_held_and_disturbs_nobody() {
    let server = Server::start_with(&["--max-processes", "100"]);
    let (bomb, other) = (server.create(), server.create());
    let quiet = family(server.pid());
    let mut stream =
        bomb.start(&shell("bomb() { bomb | bomb & }; while true; do bomb 2>/dev/null; sleep 0.1; done"), &[]);
    stream.pid();
    wait_until("it has exploded", || family(server.pid()) > quiet + 60);
    for round in 0..20 {
        assert_eq!(other.run(&format!("echo {round} | cat")).out(), format!("{round}\n"));
        // The few that are counted for another user, or are the server's own threads, come on top.
        let now = family(server.pid());
        assert!(now <= quiet + 120, "{now} processes, and {quiet} before");
    }
    assert_eq!(server.api("DELETE", &format!("/sandboxes/{}", bomb.id), None).status(), 204);
    wait_until("its processes are gone", || family(server.pid()) <= quiet + 20);
    assert_eq!(other.run("echo still here").out(), "still here\n");
}

#[test]
fn memory_is_limited_where_the_machine_can_and_said_where_not() {
    let server = Server::start_with(&["--max-memory", "192"]);
    if server.log().contains("MEMORY IS NOT LIMITED") {
        return;
    }
    assert!(server.log().contains("192 MiB of memory"), "{}", server.log());
    let (greedy, other) = (server.create(), server.create());
    let finished = greedy.run("python3 -c 'x = bytearray(1 << 30); print(len(x))'");
    assert_eq!((finished.out(), finished.end["status"].as_str()), ("", Some("signal: killed")), "{finished:?}");
    assert_eq!(greedy.run("echo alive").out(), "alive\n", "its daemon lives");
    assert_eq!(other.run("python3 -c 'x = bytearray(1 << 26); print(len(x))'").out(), "67108864\n");
}

#[test]
fn files_are_limited_by_size_and_by_number_of_open_ones() {
    let server = Server::start_with(&["--max-disk", "32"]);
    let sandbox = server.create();
    for path in ["/home/user/big", "/tmp/big", "/usr/big", "/dev/shm/big"] {
        let script = format!("dd if=/dev/zero of={path} bs=1M count=40 2>&1 | grep -o 'No space left'; rm {path}");
        assert_eq!(sandbox.run_as("root", &script).out(), "No space left\n", "{path}");
    }
    let full = sandbox.upload("big", &vec![0; 40 << 20]);
    assert_eq!(full.status(), 507, "{}", full.text());
    sandbox.run("rm -f big");
    assert_eq!(sandbox.run("echo fits > small && cat small").out(), "fits\n");
    let open: u64 = sandbox.run("ulimit -Hn").out().trim().parse().unwrap();
    assert!(open <= 65536, "{open}");
    let listed = server.api("GET", &format!("/sandboxes/{}", sandbox.id), None).json();
    assert_eq!(listed["diskSizeMB"], 32);
}
