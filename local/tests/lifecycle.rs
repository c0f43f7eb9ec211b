//! Pausing and what wakes a sandbox: files, processes, tokens, times, and what callers are told.

mod support;

use serde_json::{Value, json};
use support::sandbox::{Sandbox, shell};
use support::server::{Server, wait_until};

fn call(sandbox: &Sandbox<'_>, what: &str, body: Value) -> support::http::Answer {
    sandbox.server.api("POST", &format!("/sandboxes/{}/{what}", sandbox.id), Some(body))
}

fn shown(sandbox: &Sandbox<'_>) -> Value {
    let answer = sandbox.server.api("GET", &format!("/sandboxes/{}", sandbox.id), None);
    assert_eq!(answer.status(), 200, "{}", answer.text());
    answer.json()
}

fn message(answer: &support::http::Answer) -> String {
    answer.json()["message"].as_str().unwrap().to_owned()
}

#[test]
fn files_and_processes_survive_a_pause() {
    let server = Server::start();
    let sandbox = server.create_with(json!({ "templateID": "base", "secure": true, "timeout": 300 }));
    let id = &sandbox.id;
    // A new session, a stopped process and a counter: all must be as they were.
    let script = "setsid sh -c 'while :; do echo x >> /tmp/ticks; sleep 0.02; done' & \
                  sleep 1000 & echo $! > /tmp/stopped; kill -STOP $!; wait";
    let mut stream = sandbox.start(&shell(script), &[]);
    let pid = stream.pid();
    wait_until("the counter counts", || sandbox.read_file("/tmp/ticks").body.len() > 4);
    // The counter may be ahead of the shell that stops the other process.
    let stopped_state = "awk '{print $3}' /proc/$(cat /tmp/stopped)/stat";
    wait_until("the other process is stopped", || sandbox.run(stopped_state).out() == "T\n");

    let before = shown(&sandbox);
    assert_eq!(call(&sandbox, "pause", json!({})).status(), 204);
    let refused = call(&sandbox, "pause", json!({}));
    assert_eq!(refused.status(), 409);
    assert_eq!(message(&refused), format!("Error pausing sandbox - sandbox '{id}' is already paused"));
    let paused = shown(&sandbox);
    assert_eq!((&paused["state"], &paused["domain"]), (&json!("paused"), &Value::Null));
    assert_eq!(paused["startedAt"], before["startedAt"]);
    assert_eq!(paused["envdAccessToken"], sandbox.created["envdAccessToken"]);
    assert!(paused["endAt"].as_str() < before["endAt"].as_str(), "the time of the pause");
    assert!(paused["alias"].is_string());
    // Connections into it break, and new ones find nobody.
    while stream.incoming.next().is_ok_and(|chunk| chunk.is_some()) {}
    let gone = server.send(&sandbox.envd("GET", "/health"));
    assert_eq!((gone.status(), message(&gone)), (502, "The sandbox was not found".to_owned()));
    for (what, body) in [("timeout", json!({ "timeout": 5 })), ("refreshes", json!({}))] {
        assert_eq!(call(&sandbox, what, body).status(), 404, "{what}");
    }
    let ids = |query: &str| server.api("GET", &format!("/v2/sandboxes{query}"), None);
    for (query, count, total) in [
        ("", 1, Some("0")),
        ("?state=paused", 1, None),
        ("?state=running", 0, Some("0")),
        ("?state=paused,running", 1, Some("0")),
    ] {
        let answer = ids(query);
        assert_eq!(answer.json().as_array().unwrap().len(), count, "{query}");
        assert_eq!(answer.header("x-total-running"), total, "{query}");
    }
    assert_eq!(server.api("GET", "/sandboxes", None).json(), json!([]));

    assert_eq!(call(&sandbox, "connect", json!({ "timeout": 100_000 })).status(), 400);
    let resumed = call(&sandbox, "connect", json!({ "timeout": 60 }));
    assert_eq!(resumed.status(), 201, "{}", resumed.text());
    assert_eq!(resumed.json()["envdAccessToken"], sandbox.created["envdAccessToken"]);
    assert_eq!(shown(&sandbox)["state"], "running");
    let ticks = sandbox.read_file("/tmp/ticks").body.len();
    wait_until("the counter goes on", || sandbox.read_file("/tmp/ticks").body.len() > ticks);
    assert_eq!(sandbox.run(stopped_state).out(), "T\n", "what was stopped before stays stopped");
    let list = sandbox.rpc("process.Process/List", json!({})).json();
    assert!(list["processes"].as_array().unwrap().iter().any(|process| process["pid"] == pid), "{list}");
    assert_eq!(call(&sandbox, "connect", json!({ "timeout": 10 })).status(), 200);
    let refused = call(&sandbox, "resume", json!({}));
    assert_eq!((refused.status(), message(&refused)), (409, format!("Sandbox {id} is already running")));

    assert_eq!(call(&sandbox, "pause", json!({ "memory": true })).status(), 204);
    assert_eq!(server.api("DELETE", &format!("/sandboxes/{id}"), None).status(), 204);
    for what in ["pause", "resume"] {
        assert_eq!(call(&sandbox, what, json!({})).status(), 404);
    }
    assert_eq!(call(&sandbox, "connect", json!({ "timeout": 10 })).status(), 404);
}

#[test]
fn without_memory_only_files_survive() {
    let server = Server::start();
    let sandbox = server.create_with(json!({ "templateID": "base", "secure": true, "envVars": { "GREETING": "hi" } }));
    let mut stream = sandbox.start(&shell("echo kept > /home/user/file; setsid sleep 1000 & sleep 1000"), &[]);
    stream.pid();
    wait_until("the file is there", || sandbox.read_file("/home/user/file").body == b"kept\n");
    assert_eq!(call(&sandbox, "pause", json!({ "memory": false })).status(), 204);
    let refused = call(&sandbox, "resume", json!({ "memory": false }));
    assert_eq!((refused.status(), &refused.json()["error_code"]), (400, &json!("sandbox_memory_override_disabled")));
    assert_eq!(call(&sandbox, "resume", json!({ "timeout": 60 })).status(), 201);
    assert_eq!(sandbox.read_file("/home/user/file").body, b"kept\n");
    assert_eq!(sandbox.run("pgrep -x sleep; echo $GREETING").out(), "hi\n");
    // And it can be done again.
    assert_eq!(call(&sandbox, "pause", json!({ "memory": false })).status(), 204);
    assert_eq!(call(&sandbox, "connect", json!({ "timeout": 60 })).status(), 201);
    assert_eq!(sandbox.run("echo again").out(), "again\n");
}

#[test]
fn many_callers_at_a_time_agree() {
    let server = Server::start();
    let sandbox = server.create();
    let all = |what: &str, body: Value| -> Vec<u16> {
        std::thread::scope(|scope| {
            let callers: Vec<_> = (0..6).map(|_| scope.spawn(|| call(&sandbox, what, body.clone()).status())).collect();
            callers.into_iter().map(|caller| caller.join().unwrap()).collect()
        })
    };
    for _ in 0..3 {
        let paused = all("pause", json!({}));
        assert!(paused.contains(&204) && paused.iter().all(|status| [204, 409].contains(status)), "{paused:?}");
        let connected = all("connect", json!({ "timeout": 60 }));
        assert!(connected.iter().all(|status| [200, 201].contains(status)), "{connected:?}");
        assert_eq!(connected.iter().filter(|status| **status == 201).count(), 1, "{connected:?}");
        assert_eq!(sandbox.run("echo usable").out(), "usable\n");
    }
    assert_eq!(call(&sandbox, "pause", json!({})).status(), 204);
    let resumed = all("resume", json!({ "timeout": 60 }));
    assert_eq!(resumed.iter().filter(|status| **status == 201).count(), 1, "{resumed:?}");
    assert!(resumed.iter().all(|status| [201, 409].contains(status)), "{resumed:?}");
}

#[test]
fn at_its_timeout_a_sandbox_may_be_paused_instead() {
    let server = Server::start();
    for (body, status) in [
        (json!({ "templateID": "base", "autoPauseMemory": false }), 400),
        (
            json!({ "templateID": "base", "autoPause": true, "autoPauseMemory": false, "autoResume": { "enabled": true } }),
            400,
        ),
    ] {
        assert_eq!(server.api("POST", "/sandboxes", Some(body)).status(), status);
    }
    let sandbox = server.create_with(json!({ "templateID": "base", "timeout": 60, "autoPause": true }));
    assert_eq!(shown(&sandbox)["lifecycle"], json!({ "autoResume": false, "onTimeout": "pause" }));
    assert_eq!(call(&sandbox, "timeout", json!({ "timeout": 0 })).status(), 204);
    wait_until("it is paused", || shown(&sandbox)["state"] == "paused");
    assert_eq!(server.send(&sandbox.envd("GET", "/health")).status(), 502, "traffic does not wake it");
    wait_until("the pause is complete", || call(&sandbox, "pause", json!({})).status() == 409);
    assert_eq!(call(&sandbox, "connect", json!({ "timeout": 60 })).status(), 201);
    assert_eq!(sandbox.run("echo on").out(), "on\n");
}

#[test]
fn traffic_wakes_who_wants_to_be_woken() {
    let server = Server::start();
    let wanted = json!({
        "templateID": "base", "timeout": 60, "secure": true, "autoPause": true, "autoResume": { "enabled": true },
    });
    let sandbox = server.create_with(wanted);
    let host = format!("49983-{}.localhost:{}", sandbox.id, server.port);
    let bare = |method| support::http::Request::new(method, "/health").header("Host", host.clone());
    let preflight =
        bare("OPTIONS").header("Origin", "https://page.test").header("Access-Control-Request-Method", "GET");
    assert_eq!(call(&sandbox, "pause", json!({})).status(), 204);
    for refused in [bare("GET"), bare("GET").header("X-Access-Token", "wrong"), preflight] {
        let answer = server.send(&refused);
        assert_eq!(answer.status(), 403);
        let text =
            "This sandbox can't be resumed with the credentials provided. Check your access token and try again.";
        assert_eq!(message(&answer), text);
        assert_eq!(answer.header("access-control-allow-origin"), None);
    }
    assert_eq!(shown(&sandbox)["state"], "paused");
    assert_eq!(sandbox.run("echo awake").out(), "awake\n");
    let now = shown(&sandbox);
    assert_eq!(now["state"], "running");
    // At least 300 s from now, although it was created for 60.
    assert_eq!(call(&sandbox, "refreshes", json!({ "duration": 200 })).status(), 204);
    assert_eq!(shown(&sandbox)["endAt"], now["endAt"]);

    assert_eq!(call(&sandbox, "pause", json!({ "memory": false })).status(), 204);
    assert_eq!(server.send(&sandbox.envd("GET", "/health")).status(), 502, "there is no memory to wake");
    assert_eq!(shown(&sandbox)["state"], "paused");
}

#[test]
fn without_isolation_processes_are_paused_as_well() {
    let mut server = Server::start_with(&["--isolation", "none"]);
    let sandbox = server.create();
    let directory = server.directory.path().join("ticks");
    let ticks = || std::fs::read(&directory).map_or(0, |ticks| ticks.len());
    let script = format!("setsid sh -c 'while :; do echo x >> {}; sleep 0.02; done' & wait", directory.display());
    sandbox.start(&shell(&script), &[]).pid();
    wait_until("the counter counts", || ticks() > 4);
    assert_eq!(call(&sandbox, "pause", json!({})).status(), 204);
    let stopped = ticks();
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert!(ticks() <= stopped + 2, "it stands still");
    assert_eq!(call(&sandbox, "pause", json!({})).status(), 409);
    assert_eq!(call(&sandbox, "connect", json!({ "timeout": 60 })).status(), 201);
    let before = ticks();
    wait_until("the counter goes on", || ticks() > before);
    let refused = call(&sandbox, "pause", json!({ "memory": false }));
    assert_eq!(refused.status(), 500, "{}", refused.text());
    assert_eq!(shown(&sandbox)["state"], "running");
    assert_eq!(call(&sandbox, "pause", json!({})).status(), 204);
    drop(sandbox);
    server.stop("TERM");
    let after = ticks();
    std::thread::sleep(std::time::Duration::from_millis(100));
    assert_eq!(ticks(), after, "a paused process does not survive the server");
}
