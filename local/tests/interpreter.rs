//! The code interpreter under circumstances that no recording shows: clients that vanish, runs that do not end, output
//! without end, kernels that die, and what is left afterwards.

mod support;

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use support::kernels::{self, error, printed, value};
use support::sandbox::Sandbox;
use support::server::{Server, wait_until};

fn sandbox(server: &Server) -> Sandbox<'_> {
    server.create_with(json!({ "templateID": "code-interpreter-v1", "timeout": 600, "envVars": { "GLOBAL": "g" } }))
}

/// The kernels of a server's sandboxes, as process ids of this machine.
fn kernels_of(server: &Server) -> BTreeSet<i32> {
    let mut parents = Vec::new();
    let mut kernels = BTreeSet::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<i32>() else { continue };
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        let parent = stat.rsplit(')').next().unwrap().split_whitespace().nth(1).unwrap().parse::<i32>().unwrap();
        parents.push((pid, parent));
        let command = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        if String::from_utf8_lossy(&command).contains("/connection.json") {
            kernels.insert(pid);
        }
    }
    let below = |mut pid: i32| loop {
        match parents.iter().find(|(child, _)| *child == pid) {
            Some((_, parent)) if *parent == server.pid() as i32 => return true,
            Some((_, parent)) => pid = *parent,
            None => return false,
        }
    };
    kernels.retain(|pid| below(*pid));
    kernels
}

#[test]
fn nothing_is_left_of_a_kernel() {
    let mut server = kernels::server();
    let sandbox = sandbox(&server);
    assert_eq!(value(&sandbox.python("", "1")), Some("1"));
    let at_first = kernels_of(&server);
    assert_eq!(at_first.len(), 1, "only Python is started before it is needed");

    let context = sandbox.new_context(json!({ "language": "js" }));
    assert_eq!(kernels_of(&server).len(), 2);
    let answer = sandbox.interpreter_json("DELETE", &format!("/contexts/{context}"), None);
    assert_eq!((answer.status(), answer.text()), (200, "null"));
    wait_until("the deleted context's kernel is gone", || kernels_of(&server) == at_first);

    let answer = sandbox.interpreter_json("POST", "/contexts", Some(json!({ "cwd": "/nowhere" })));
    assert_eq!((answer.status(), answer.text()), (500, "Failed to set working directory"));
    assert_eq!(sandbox.interpreter_json("GET", "/contexts", None).json().as_array().unwrap().len(), 2);

    server.api("DELETE", &format!("/sandboxes/{}", sandbox.id), None);
    wait_until("the sandbox's kernels are gone", || kernels_of(&server).is_empty());

    let another = self::sandbox(&server);
    assert_eq!(value(&another.python("", "1")), Some("1"));
    let running = kernels_of(&server);
    assert!(!running.is_empty());
    drop(another);
    server.stop("KILL");
    wait_until("the killed server's kernels are gone", || {
        running.iter().all(|pid| !std::path::Path::new(&format!("/proc/{pid}")).exists())
    });
}

#[test]
fn a_client_that_leaves_interrupts_its_run() {
    let server = kernels::server();
    let sandbox = sandbox(&server);
    let code = "import time\nstate = 'running'\nprint(state, flush=True)\ntry:\n    time.sleep(600)\n\
        except KeyboardInterrupt:\n    state = 'interrupted'\n    raise";
    let mut lines = sandbox.execute(json!({ "code": code, "env_vars": { "ONCE": "1", "GLOBAL": "changed" } }));
    while lines.next().unwrap().unwrap()["type"] != "stdout" {}
    // One waits behind it, and leaves before its turn: it never runs.
    let open = || {
        let listed = sandbox.run_as("root", "ls /proc/$(pgrep -of code-interpreter)/fd | wc -l");
        listed.out().trim().parse::<u32>().unwrap_or_else(|_| panic!("{listed:?}"))
    };
    let before = open();
    let waiting = sandbox.execute(json!({ "code": "state = 'never'" }));
    waiting.connection.close();
    wait_until("the interpreter has noticed", || open() <= before);
    lines.connection.close();
    // Held back until the interrupt is done, however soon it comes.
    let lines = sandbox.python("", "import os\nprint(state, os.environ.get('ONCE'), os.environ['GLOBAL'])");
    assert_eq!(printed(&lines, "stdout"), "interrupted None g\n", "{lines:?}");

    // JavaScript loses its variables and goes on.
    let mut lines = sandbox.execute(json!({ "code": "console.log('on'); while (true) {}", "language": "js" }));
    while lines.next().unwrap().unwrap()["type"] != "stdout" {}
    lines.connection.close();
    let lines = sandbox.execute(json!({ "code": "6 * 7", "language": "js" })).rest();
    assert_eq!(value(&lines), Some("42"), "{lines:?}");

    let mut lines = sandbox.execute(json!({ "code": "kept=1; echo on; sleep 600", "language": "bash" }));
    while lines.next().unwrap().unwrap()["type"] != "stdout" {}
    lines.connection.close();
    let lines = sandbox.execute(json!({ "code": "echo $kept", "language": "bash" })).rest();
    assert_eq!(printed(&lines, "stdout"), "1\n", "{lines:?}");
}

#[test]
fn runs_follow_each_other_in_a_context_and_overlap_in_two() {
    let server = kernels::server();
    let sandbox = sandbox(&server);
    let other = sandbox.new_context(json!({}));
    // Each waits for something from another: the other context's run begins during the first, and ends after the second
    // has begun.
    let run = |makes: &str, awaits: &str| {
        format!(
            "import os, time\nstart = time.time()\nopen('/tmp/{makes}', 'w').close()\n\
             while not os.path.exists('/tmp/{awaits}'): time.sleep(0.01)\nprint(start, time.time())"
        )
    };
    let answers = [
        sandbox.execute(json!({ "code": run("first", "other") })),
        sandbox.execute(json!({ "code": run("second", "second") })),
        sandbox.execute(json!({ "code": run("other", "second"), "context_id": other })),
    ];
    let spans: Vec<(f64, f64)> = answers
        .into_iter()
        .map(|answer| {
            let text = printed(&answer.rest(), "stdout");
            let (start, end) = text.trim().split_once(' ').unwrap();
            (start.parse().unwrap(), end.parse().unwrap())
        })
        .collect();
    assert!(spans[0].1 <= spans[1].0, "{spans:?}");
    assert!(spans[2].0 <= spans[0].1 && spans[1].0 <= spans[2].1, "{spans:?}");
    assert_eq!(error(&sandbox.python(&other, "start")), None);
    sandbox.python("", "only_here = 1");
    assert_eq!(error(&sandbox.python(&other, "only_here")), Some("NameError"));
}

#[test]
fn a_restart_cuts_runs_and_keeps_the_id() {
    let server = kernels::server();
    let sandbox = sandbox(&server);
    let context = sandbox.new_context(json!({ "cwd": "/tmp" }));
    sandbox.python(&context, "kept = 1");
    let mut running = sandbox.execute(json!({ "code": "import time; time.sleep(600)", "context_id": context }));
    running.next().unwrap().unwrap();
    // Waits for its turn over the restart, and runs in the new kernel.
    let waiting =
        sandbox.execute(json!({ "code": "import os; print('kept' in globals(), os.getcwd())", "context_id": context }));
    let answer = sandbox.interpreter_json("POST", &format!("/contexts/{context}/restart"), None);
    assert_eq!((answer.status(), answer.text()), (200, "null"));
    let lines = running.rest();
    assert_eq!(error(&lines), Some("UnexpectedEndOfExecution"), "{lines:?}");
    assert_eq!(lines.last().unwrap()["type"], "end_of_execution");
    let lines = waiting.rest();
    assert_eq!(printed(&lines, "stdout"), "False /home/user\n", "{lines:?}");
    let counted = lines.iter().find(|line| line["type"] == "number_of_executions");
    assert_eq!(counted.unwrap()["execution_count"], 1);

    // Killed from within, by whatever means: the next run has a new kernel.
    let lines = sandbox.python(&context, "import os, signal; os.kill(os.getpid(), signal.SIGKILL)");
    assert_eq!(error(&lines), Some("ContextRestarting"), "{lines:?}");
    assert_eq!(value(&sandbox.python(&context, "os.environ['GLOBAL'] if 'os' in globals() else 'new'")), Some("new"));

    // The default context is made anew when it was deleted, by name or by id.
    let default_id = || {
        let list = sandbox.interpreter_json("GET", "/contexts", None).json();
        let python = |entry: &&Value| entry["language"] == "python" && entry["id"] != *context;
        list.as_array().unwrap().iter().find(python).unwrap()["id"].as_str().unwrap().to_owned()
    };
    let first = default_id();
    for id in ["default", &first] {
        let expected = if id == "default" { 200 } else { 404 };
        let answer = sandbox.interpreter_json("DELETE", &format!("/contexts/{id}"), None);
        assert_eq!(answer.status(), expected, "{}", answer.text());
        assert_eq!(value(&sandbox.python("", "1")), Some("1"));
    }
    let answer = sandbox.interpreter_json("DELETE", &format!("/contexts/{}", default_id()), None);
    assert_eq!(answer.status(), 200);
    assert_eq!(value(&sandbox.python("default", "2")), Some("2"));
}

#[test]
fn a_slow_reader_misses_nothing_of_a_run_that_is_over() {
    const MEGABYTES: usize = 30;
    let server = kernels::server();
    let sandbox = sandbox(&server);
    let code = format!("for i in range({MEGABYTES}):\n    print('x' * 999_999)");
    let mut answer = sandbox.execute(json!({ "code": code }));
    let (mut read, mut rested) = (0, 0);
    while let Some(line) = answer.next().unwrap() {
        read += line["text"].as_str().map_or(0, str::len);
        // Slower than the kernel prints, so that it reports the end of the run long before its output is through.
        if read > rested + 1_000_000 {
            rested = read;
            std::thread::sleep(Duration::from_millis(400));
        }
    }
    assert_eq!(read, MEGABYTES * 1_000_000);
}

#[test]
fn output_without_end_is_passed_on_without_loss() {
    const LINES: usize = 400_000;
    let server = kernels::server();
    let sandbox = sandbox(&server);
    let mut answer = sandbox.execute(json!({ "code": format!("for i in range({LINES}):\n    print(i)") }));
    // A reader that takes its time at first.
    std::thread::sleep(Duration::from_secs(3));
    let mut text = String::new();
    let mut longest = 0;
    while let Some(line) = answer.next().unwrap() {
        longest = longest.max(line["text"].as_str().map_or(0, str::len));
        text += line["text"].as_str().unwrap_or("");
    }
    assert!(longest <= 64 * 1024, "{longest}");
    assert_eq!(text.lines().count(), LINES);
    assert!(text.lines().enumerate().all(|(index, line)| line.parse() == Ok(index)));

    // The interpreter has not kept any of it.
    let memory = sandbox.run("grep VmHWM /proc/$(pgrep -of code-interpreter)/status | tr -dc 0-9");
    let kibibytes: u64 = memory.out().parse().unwrap_or_else(|_| panic!("{memory:?}"));
    assert!(kibibytes < 100 * 1024, "{kibibytes} KiB");
}

#[test]
fn hostile_output_and_input_do_no_harm() {
    let server = kernels::server();
    let sandbox = sandbox(&server);
    let lines =
        sandbox.python("", "import os, sys\nos.write(1, bytes(range(256)))\nprint('\\ud800\\x00\\x1b[0m')\n'\\udfff'");
    assert_eq!(lines.last().unwrap()["type"], "end_of_execution", "{lines:?}");
    for (variables, expected) in [
        (json!({ "A": "it's \"$HOME\" \\ \n 世界" }), None),
        (json!({ "A=B": "1" }), Some("ValueError")),
        (json!({ "": "1" }), Some("ValueError")),
        (json!({ "A": "\u{0}" }), Some("ValueError")),
    ] {
        for language in ["python", "bash", "javascript"] {
            let code = match language {
                "python" => "import os; print(os.environ['A'], end='')",
                "bash" => "printf '%s' \"$A\"",
                _ => "process.stdout.write(process.env.A)",
            };
            let lines = sandbox.execute(json!({ "code": code, "language": language, "env_vars": variables })).rest();
            assert_eq!(error(&lines), expected, "{language}, {variables}: {lines:?}");
            if expected.is_none() {
                // The shell's kernel completes the last line.
                let text = printed(&lines, "stdout");
                assert_eq!(text.trim_end_matches('\n'), variables["A"].as_str().unwrap(), "{language}");
            }
        }
    }
    let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
    for body in [deep.as_str(), "", "{\"code\": \"\\ud800\"}", "\u{0}"] {
        let request = sandbox.interpreter("POST", "/execute").header("Content-Type", "application/json").body(body);
        assert_eq!(server.send(&request).status(), 422, "{:?}", &body[..body.len().min(20)]);
    }
    assert_eq!(value(&sandbox.python("", "1 + 1")), Some("2"));
}

#[test]
fn a_kernel_that_is_not_installed_says_how_to_install_it() {
    let server = Server::start_with(&["--kernels", "/nonexistent"]);
    let sandbox = sandbox(&server);
    for (target, body) in [
        ("/execute", json!({ "code": "1" })),
        ("/execute", json!({ "code": "1", "language": "ts" })),
        ("/contexts", json!({ "language": "bash" })),
    ] {
        let answer = sandbox.interpreter_json("POST", target, Some(body));
        assert_eq!(answer.status(), 500);
        assert!(answer.text().starts_with("Failed to create context: {"), "{}", answer.text());
        assert!(answer.text().contains("cargo xtask setup --kernels"), "{}", answer.text());
    }
    assert_eq!(sandbox.interpreter_json("GET", "/health", None).json(), Value::from("OK"));
    assert_eq!(sandbox.run("echo works").out(), "works\n");
}
