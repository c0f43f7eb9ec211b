//! Commands: what they see, how they end, what becomes of their output.

mod support;

use std::collections::BTreeSet;
use std::fmt::Write;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use support::sandbox::shell;
use support::server::{Server, wait_until};

#[test]
fn commands_end_as_the_protocol_says() {
    let server = Server::start();
    let sandbox = server.create();
    for (message, code, status, error) in [
        (shell("true"), 0, "exit status 0", Value::Null),
        (shell("exit 3"), 3, "exit status 3", json!("exit status 3")),
        (shell("kill -TERM $$"), -1, "signal: terminated", json!("signal: terminated")),
        (json!({ "process": { "cmd": "/no/such" } }), 127, "exit status 127", json!("exit status 127")),
        (json!({ "process": { "cmd": "/etc/passwd" } }), 126, "exit status 126", json!("exit status 126")),
        (json!({ "process": { "cmd": "cat" }, "stdin": false }), 0, "exit status 0", Value::Null),
    ] {
        let finished = sandbox.start(&message, &[]).finish();
        assert_eq!(finished.exit_code(), code, "{message}");
        assert_eq!(finished.end["status"], status, "{message}");
        assert_eq!(finished.end["error"], error, "{message}");
        assert_eq!(finished.end["exited"].as_bool().unwrap_or(false), code >= 0, "{message}");
        assert!(finished.pid > 0);
        assert_eq!(finished.stderr.is_empty(), !matches!(code, 126 | 127), "the shell complains: {finished:?}");
    }
    let plain = json!({ "process": { "cmd": "echo", "args": ["$HOME", "a b"] } });
    assert_eq!(sandbox.start(&plain, &[]).finish().out(), "$HOME a b\n", "nothing is expanded or split");
    assert_eq!(sandbox.rpc("process.Process/List", json!({})).json(), json!({}));

    // What only a shell can start is still started by one.
    sandbox.run("mkdir ~/bin ~/dir; printf 'echo script $1' > ~/bin/plain; chmod +x ~/bin/plain; ln -s dir ~/link");
    for (process, expected) in [
        (json!({ "cmd": "/home/user/bin/plain", "args": ["x"] }), "script x\n"),
        (json!({ "cmd": "plain", "args": ["y"], "envs": { "PATH": "/none:/home/user/bin" } }), "script y\n"),
        (json!({ "cmd": "bin/plain", "args": ["z"], "envs": { "not.a.name": "1" } }), "script z\n"),
        (json!({ "cmd": "printenv", "args": ["PWD"], "cwd": "/home/user/link" }), "/home/user/dir\n"),
        (json!({ "cmd": "bash", "args": ["-l", "-c", "shopt -q login_shell && echo $UID"] }), "1000\n"),
    ] {
        let finished = sandbox.start(&json!({ "process": process }), &[]).finish();
        assert!(finished.out().starts_with(expected), "{process}: {finished:?}");
    }
}

#[test]
fn identity_directory_and_environment_follow_the_rules() {
    let server = Server::start();
    let sandbox = server.create_with(json!({ "templateID": "base", "envVars": { "A": "create", "B": "create" } }));
    assert_eq!(
        sandbox.run("id -un; id -u; pwd; echo $HOME $USER $LOGNAME").out(),
        "user\n1000\n/home/user\n/home/user user user\n"
    );
    assert_eq!(sandbox.run_as("root", "id -un; id -u; pwd; echo $HOME").out(), "root\n0\n/root\n/root\n");
    let refused = sandbox.run_as("nouser", "true");
    assert_eq!(refused.error, json!({ "code": "unauthenticated", "message": "invalid username: 'nouser'" }));

    let environment =
        sandbox.start(&json!({ "process": { "cmd": "env", "envs": { "B": "call", "HOME": "/x" } } }), &[]).finish();
    let lines: Vec<_> = environment.out().lines().collect();
    for expected in ["A=create", "B=call", "HOME=/x", "USER=user", "LOGNAME=user", "E2B_SANDBOX=false"] {
        assert!(lines.contains(&expected), "{expected} is missing: {lines:?}");
    }
    assert!(!lines.iter().any(|line| line.starts_with("TERM=") || line.starts_with("CARGO")), "{lines:?}");

    sandbox.run("mkdir -p ~/d; touch ~/file");
    sandbox.run_as("root", "mkdir -m 700 /tmp/closed");
    for (cwd, expected) in [
        ("~", Ok("/home/user")),
        ("~/d", Ok("/home/user/d")),
        ("d", Ok("/home/user/d")),
        ("/", Ok("/")),
        ("~other", Err("cannot expand user-specific home dir")),
        ("/tmp/none", Err("cwd '/tmp/none' does not exist")),
        ("/tmp/closed", Err("permission denied")),
        ("file", Err("not a directory")),
    ] {
        let finished = sandbox.start(&json!({ "process": { "cmd": "pwd", "cwd": cwd } }), &[]).finish();
        match expected {
            Ok(directory) => assert_eq!(finished.out().trim_end(), directory, "{cwd}"),
            Err(message) => {
                assert_eq!(finished.error["code"], "invalid_argument", "{cwd}: {finished:?}");
                assert!(finished.error["message"].as_str().unwrap().contains(message), "{cwd}: {finished:?}");
            }
        }
    }
}

#[test]
fn a_command_has_nothing_of_the_daemon_s() {
    let server = Server::start();
    let sandbox = server.create();
    let start = |cmd: &str, args: &[&str]| {
        sandbox
            .start(&json!({ "process": { "cmd": cmd, "args": args }, "stdin": false }), &[])
            .finish()
            .out()
            .to_owned()
    };
    // Many at a time: no descriptor of one may reach another, and what a change of user switches off is on again.
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                assert_eq!(start("ls", &["/proc/self/fd"]), "0\n1\n2\n3\n", "the last one is the directory");
                assert_eq!(start("cat", &["/proc/self/oom_score_adj"]), "100\n");
            });
        }
    });
    let status = start("cat", &["/proc/self/status"]);
    let signals = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        u64::from_str_radix(line.trim(), 16).unwrap()
    };
    assert_eq!((signals("SigBlk:"), signals("SigCgt:")), (0, 0), "{status}");
    const PIPE: u64 = 1 << (13 - 1);
    assert_eq!(signals("SigIgn:") & PIPE, 0, "writing to nobody ends a program: {status}");
    assert_eq!(sandbox.run("ps -o pgid= -p $$ | tr -d ' '; echo $$").out().lines().collect::<BTreeSet<_>>().len(), 1);
}

#[test]
fn large_and_binary_output_arrives_whole() {
    let server = Server::start();
    let sandbox = server.create();
    const SIZE: usize = 60 * 1024 * 1024;
    let finished = sandbox.run(&format!("seq 1 99999999 | head -c {SIZE}; echo done >&2"));
    assert_eq!(finished.exit_code(), 0);
    let mut expected = String::with_capacity(SIZE + 16);
    for number in 1u64.. {
        writeln!(expected, "{number}").unwrap();
        if expected.len() >= SIZE {
            break;
        }
    }
    assert!(finished.stdout == expected.as_bytes()[..SIZE], "something is lost, repeated or swapped");
    assert_eq!(finished.stderr, b"done\n");

    let all: Vec<u8> = (0..=255).collect();
    sandbox.write_file("/tmp/all", &all);
    assert_eq!(sandbox.run("cat /tmp/all").stdout, all);
}

#[test]
fn input_is_delivered_and_closed() {
    let server = Server::start();
    let sandbox = server.create();
    let mut stream = sandbox.start(&json!({ "process": { "cmd": "cat" }, "tag": "kitten" }), &[]);
    let pid = stream.pid();
    let by_pid = json!({ "pid": pid });
    let send = |selector: &Value, input: Value| {
        sandbox.rpc("process.Process/SendInput", json!({ "process": selector, "input": input }))
    };
    assert_eq!(send(&by_pid, json!({ "stdin": BASE64_STANDARD.encode("hi\n") })).status(), 200);
    assert_eq!(send(&json!({ "tag": "kitten" }), json!({ "stdin": BASE64_STANDARD.encode("ho\n") })).status(), 200);
    for (selector, input, status, message) in [
        (by_pid.clone(), json!({}), 501, "invalid input type"),
        (by_pid.clone(), json!({ "pty": "aGk=" }), 500, "tty not assigned to process"),
        (json!({ "pid": 999999 }), json!({ "stdin": "" }), 404, "process with pid 999999 not found"),
        (json!({ "tag": "dog" }), json!({ "stdin": "" }), 404, "process with tag dog not found"),
        (json!({}), json!({ "stdin": "" }), 501, "invalid input type"),
    ] {
        let answer = send(&selector, input.clone());
        assert_eq!(answer.status(), status, "{selector} {input}");
        assert!(answer.json()["message"].as_str().unwrap().contains(message), "{}", answer.text());
    }
    let listed = sandbox.rpc("process.Process/List", json!({})).json();
    assert_eq!(listed, json!({ "processes": [{ "config": { "cmd": "cat" }, "pid": pid, "tag": "kitten" }] }));
    let close = |pid: u64| sandbox.rpc("process.Process/CloseStdin", json!({ "process": { "pid": pid } })).status();
    assert_eq!(close(pid), 200);
    let finished = stream.finish();
    assert_eq!((finished.out(), finished.exit_code()), ("hi\nho\n", 0));

    // A command that never reads: the write fills the pipe and waits, closing ends the write, closing again is fine.
    let deaf = sandbox.start(&json!({ "process": { "cmd": "sleep", "args": ["100"] } }), &[]).pid();
    let flood = json!({ "stdin": BASE64_STANDARD.encode(vec![0; 1_000_000]) });
    let stuck = std::thread::scope(|scope| {
        let stuck = scope.spawn(|| send(&json!({ "pid": deaf }), flood));
        std::thread::sleep(std::time::Duration::from_millis(300));
        assert!(!stuck.is_finished(), "the pipe is smaller than that");
        assert_eq!((close(deaf), close(deaf)), (200, 200));
        stuck.join().unwrap()
    });
    for answer in [stuck, send(&json!({ "pid": deaf }), json!({ "stdin": "" }))] {
        assert_eq!(answer.status(), 500);
        assert!(
            answer.json()["message"].as_str().unwrap().contains("stdin not enabled or closed"),
            "{}",
            answer.text()
        );
    }
}

#[test]
fn signals_reach_the_command_alone() {
    let server = Server::start();
    let sandbox = server.create();
    for (signal, status) in [("SIGNAL_SIGKILL", "signal: killed"), ("SIGNAL_SIGTERM", "signal: terminated")] {
        // The grandchild keeps the pipes open; the end must not wait for it.
        let mut stream = sandbox.start(&shell("sleep 100 & echo started; wait"), &[]);
        let pid = stream.pid();
        stream.next().unwrap();
        let send = |signal: &str| {
            sandbox.rpc("process.Process/SendSignal", json!({ "process": { "pid": pid }, "signal": signal }))
        };
        assert_eq!(send("SIGNAL_UNSPECIFIED").status(), 501);
        assert_eq!(send(signal).status(), 200);
        let finished = stream.finish();
        assert_eq!((finished.exit_code(), finished.end["status"].as_str()), (-1, Some(status)));
        assert_eq!(send(signal).status(), 404, "it is gone");
    }
    // The children live on, and become what they were started as.
    sandbox.settle("pgrep -c sleep", "2\n");
}

#[test]
fn a_deadline_kills_the_command_even_unobserved() {
    let server = Server::start();
    let sandbox = server.create();
    let finished = sandbox.run_with("sleep 100", &[("Connect-Timeout-Ms", "300")]);
    assert_eq!(finished.error["code"], "deadline_exceeded", "{finished:?}");
    // Long enough to begin on any machine.
    let mut unobserved = sandbox.start(&shell("exec sleep 200"), &[("Connect-Timeout-Ms", "4000")]);
    unobserved.pid();
    unobserved.connection.close();
    wait_until("both are killed", || sandbox.rpc("process.Process/List", json!({})).json() == json!({}));
    assert_eq!(sandbox.run("pgrep -c sleep").out(), "0\n");
}

#[test]
fn a_lost_client_leaves_the_command_running() {
    let server = Server::start();
    let sandbox = server.create();
    let mut first = sandbox.start(&shell("echo before; read line; echo after $line; exit 7"), &[]);
    let pid = first.pid();
    first.next().unwrap();
    first.connection.close();

    let mut streams: Vec<_> =
        (0..2).map(|_| sandbox.stream("process.Process/Connect", &json!({ "process": { "pid": pid } }), &[])).collect();
    for stream in &mut streams {
        assert_eq!(stream.pid(), pid);
    }
    let input = json!({ "process": { "pid": pid }, "input": { "stdin": BASE64_STANDARD.encode("x\n") } });
    assert_eq!(sandbox.rpc("process.Process/SendInput", input).status(), 200);
    for stream in streams {
        let finished = stream.finish();
        assert_eq!((finished.out(), finished.exit_code()), ("after x\n", 7), "earlier output is not repeated");
    }
    let late = sandbox.stream("process.Process/Connect", &json!({ "process": { "pid": pid } }), &[]).finish();
    assert_eq!((late.pid, late.exit_code()), (pid, 7), "the end is remembered");
    let never = sandbox.stream("process.Process/Connect", &json!({ "process": { "pid": 999999 } }), &[]).finish();
    assert_eq!(never.error["code"], "not_found");
}

#[test]
fn output_nobody_reads_does_not_stop_the_command() {
    let server = Server::start();
    let sandbox = server.create();
    let mut stream = sandbox.start(&shell("sleep 0.2; head -c 5000000 /dev/zero; touch /tmp/finished"), &[]);
    stream.pid();
    stream.connection.close();
    wait_until("it has finished", || sandbox.read_file("/tmp/finished").status() == 200);
}

#[test]
fn a_slow_reader_gets_everything_and_costs_little() {
    let server = Server::start();
    let sandbox = server.create();
    let mut stream = sandbox.start(&shell("head -c 80000000 /dev/zero"), &[]);
    stream.pid();
    // Nothing is read for a while: the command must wait instead of the daemon keeping it all.
    std::thread::sleep(std::time::Duration::from_millis(500));
    let resident: u64 =
        sandbox.run_as("root", "grep VmRSS /proc/2/status").out().split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(resident < 60_000, "the daemon holds {resident} kB");
    assert_eq!(stream.finish().stdout.len(), 80_000_000);
}

#[test]
fn terminals_have_a_size_and_an_end() {
    let server = Server::start();
    let sandbox = server.create();
    let request = json!({
        "process": { "cmd": "/bin/bash", "args": ["-i"], "envs": { "TERM": "xterm", "PS1": "" } },
        "pty": { "size": { "cols": 80, "rows": 24 } },
    });
    let mut stream = sandbox.start(&request, &[]);
    let pid = stream.pid();
    let select = json!({ "pid": pid });
    let send = |text: &str| {
        let body = json!({ "process": select, "input": { "pty": BASE64_STANDARD.encode(text) } });
        assert_eq!(sandbox.rpc("process.Process/SendInput", body).status(), 200);
    };
    let refused = sandbox.rpc("process.Process/SendInput", json!({ "process": select, "input": { "stdin": "" } }));
    assert!(refused.json()["message"].as_str().unwrap().contains("tty assigned to process"), "{}", refused.text());
    let refused = sandbox.rpc("process.Process/CloseStdin", json!({ "process": select }));
    assert_eq!((refused.status(), refused.json()["code"].as_str()), (500, Some("unknown")));
    send("stty size; tty\n");
    let resize = json!({ "process": select, "pty": { "size": { "cols": 100, "rows": 30 } } });
    let mut seen = String::new();
    while !seen.contains("/dev/pts/") {
        let (_, message) = stream.next().unwrap();
        let data = message["event"]["data"]["pty"].as_str().expect("a terminal has one stream");
        seen += &String::from_utf8_lossy(&BASE64_STANDARD.decode(data).unwrap());
    }
    assert!(seen.contains("24 80"), "{seen:?}");
    assert_eq!(sandbox.rpc("process.Process/Update", resize).status(), 200);
    send("stty size; exit 4\n");
    let finished = stream.finish();
    assert!(finished.out().contains("30 100"), "{:?}", finished.out());
    assert_eq!(finished.exit_code(), 4);
}
