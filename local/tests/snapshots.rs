//! Copies of a sandbox's files, and templates: what is in a new sandbox before anybody does anything.

mod support;

use serde_json::{Value, json};
use support::sandbox::{Sandbox, shell};
use support::server::{Server, wait_until};

fn snapshot(sandbox: &Sandbox<'_>, body: Value) -> support::http::Answer {
    sandbox.server.api("POST", &format!("/sandboxes/{}/snapshots", sandbox.id), Some(body))
}

fn create<'a>(server: &'a Server, template: &Value) -> Sandbox<'a> {
    server.create_with(json!({ "templateID": template, "timeout": 300 }))
}

fn delete(server: &Server, id: &Value) -> u16 {
    let id = id.as_str().unwrap().replace('/', "%2F");
    server.api("DELETE", &format!("/templates/{id}"), None).status()
}

#[test]
fn a_snapshot_has_everything_that_was_changed() {
    let server = Server::start();
    let sandbox = server.create();
    let script = "set -e; echo own > /home/user/file; ln -s file /home/user/link; ln /home/user/file /home/user/twin
        printf '#!/bin/sh\necho tool' > /tmp/tool; chmod 4755 /tmp/tool; mkfifo /tmp/pipe; mkdir -m 700 /home/user/closed
        setfattr -n user.e2b.kind -v test /home/user/file 2>/dev/null || true";
    assert_eq!(sandbox.run(script).exit_code(), 0);
    // Through the overlay: changed, new, and gone.
    let root = sandbox
        .run_as("root", "echo changed >> /etc/services; touch /usr/local/new; rm /etc/hostname; rm -r /usr/share/doc");
    let overlay = root.exit_code() == 0;
    sandbox.start(&shell("while :; do sleep 0.01; done"), &[]).pid();

    let answer = snapshot(&sandbox, json!({}));
    assert_eq!(answer.status(), 201, "{}", answer.text());
    let made = answer.json();
    let id = made["snapshotID"].as_str().unwrap();
    let (template_id, tag) = id.split_once(':').unwrap();
    assert_eq!((template_id.len(), tag, &made["names"]), (20, "default", &json!([])));
    assert_eq!(sandbox.run("echo changed > /home/user/file; echo on").out(), "on\n", "the original goes on");

    let copy = create(&server, &made["snapshotID"]);
    assert_eq!(copy.created["templateID"], template_id);
    let look = "cat /home/user/file; readlink /home/user/link; stat -c '%h %U' /home/user/twin
        stat -c '%a %F' /tmp/tool /tmp/pipe /home/user/closed; id -un";
    let expected = "own\nfile\n2 user\n4755 regular file\n644 fifo\n700 directory\nuser\n";
    assert_eq!(copy.run(look).out(), expected);
    if overlay {
        let look = "tail -n 1 /etc/services; ls /usr/local/new; ls /etc/hostname /usr/share/doc 2>/dev/null; grep -c ^user: /etc/passwd";
        assert_eq!(copy.run(look).out(), "changed\n/usr/local/new\n1\n");
        // What is hidden in a first sandbox is hidden in its copies.
        assert_eq!(copy.run_as("root", "cat /etc/shadow | grep -c '^root:\\*'").out(), "1\n");
    }
    let alone = "ps -e -o comm= | grep -c sleep";
    assert_eq!(copy.run(alone).out(), "0\n", "processes are not copied");

    assert_eq!(delete(&server, &made["snapshotID"]), 400, "it is in use");
    assert_eq!(server.api("DELETE", &format!("/sandboxes/{}", copy.id), None).status(), 204);
    assert_eq!(delete(&server, &made["snapshotID"]), 204);
    assert_eq!(delete(&server, &made["snapshotID"]), 404);
    assert_eq!(delete(&server, &json!("base")), 400);
}

#[test]
fn names_stand_for_the_newest_snapshot() {
    let server = Server::start();
    let (sandbox, other) = (server.create(), server.create());
    for (bad, status) in [("a b", 400), ("base", 400), (":v", 400)] {
        let answer = snapshot(&sandbox, json!({ "name": bad }));
        assert_eq!(answer.status(), status, "{bad}");
        assert!(answer.json()["message"].as_str().unwrap().starts_with("Invalid name: "), "{}", answer.text());
    }
    sandbox.write_file("/home/user/state", b"first");
    let first = snapshot(&sandbox, json!({ "name": "n:v2" })).json();
    assert!(first["snapshotID"].as_str().unwrap().ends_with("n:v2"), "{first}");
    assert_eq!(first["names"], json!([first["snapshotID"]]));
    assert_eq!(create(&server, &json!("n:v2")).read_file("/home/user/state").body, b"first");
    sandbox.write_file("/home/user/state", b"second");
    let second = snapshot(&sandbox, json!({ "name": "n:v2" })).json();
    assert_eq!(create(&server, &second["snapshotID"]).read_file("/home/user/state").body, b"second");
    let missing = server.api("POST", "/sandboxes", Some(json!({ "templateID": "n" })));
    assert_eq!(missing.json()["message"], "tag 'default' does not exist for template 'n'");
    assert_eq!(snapshot(&other, json!({})).status(), 201);
    assert_eq!(snapshot(&sandbox, json!({})).status(), 201);

    let count = |query: &str| {
        let answer = server.api("GET", &format!("/snapshots{query}"), None);
        (answer.json().as_array().unwrap().len(), answer.header("x-next-token").map(str::to_owned))
    };
    assert_eq!(count("").0, 3);
    assert_eq!(count(&format!("?sandboxID={}", sandbox.id)).0, 2);
    assert_eq!(count("?name=n").0, 1);
    assert_eq!(count("?name=unknown").0, 0);
    let (shown, next) = count("?limit=2");
    assert_eq!((shown, count(&format!("?limit=2&nextToken={}", next.unwrap()))), (2, (1, None)));
    assert_eq!(server.api("GET", "/snapshots?limit=0", None).status(), 400);
    assert_eq!(server.api("GET", "/templates/aliases/n:v2", None).status(), 200);
    assert_eq!(server.api("GET", "/templates/n", None).json()["builds"].as_array().unwrap().len(), 1);

    assert_eq!(server.api("POST", &format!("/sandboxes/{}/pause", other.id), None).status(), 204);
    assert_eq!(snapshot(&other, json!({})).status(), 404, "a paused one");
    assert_eq!(server.api("POST", "/sandboxes/inothere/snapshots", Some(json!({}))).status(), 404);
}

#[test]
fn forks_are_independent() {
    let server = Server::start_with(&["--max-sandboxes", "3"]);
    let sandbox =
        server.create_with(json!({ "templateID": "base", "secure": true, "envVars": { "A": "1" }, "timeout": 300 }));
    sandbox.write_file("/home/user/shared", b"original");
    let fork = |body: Value| server.api("POST", &format!("/sandboxes/{}/fork", sandbox.id), Some(body));
    for (count, text) in [(0, "Count must be at least 1"), (101, "Count cannot be greater than 100")] {
        let answer = fork(json!({ "count": count }));
        assert_eq!((answer.status(), answer.json()["message"].as_str()), (400, Some(text)));
    }
    let answer = fork(json!({ "count": 3, "timeout": 100 }));
    assert_eq!(answer.status(), 201, "{}", answer.text());
    let results = answer.json();
    let copies: Vec<_> = results.as_array().unwrap().iter().filter(|result| result["sandbox"].is_object()).collect();
    let errors: Vec<_> = results.as_array().unwrap().iter().filter(|result| result["error"]["code"] == 429).collect();
    assert_eq!((copies.len(), errors.len()), (2, 1), "{results}");
    let copies: Vec<_> = copies.iter().map(|copy| Sandbox::new(&server, copy["sandbox"].clone())).collect();
    assert_ne!(copies[0].created["envdAccessToken"], sandbox.created["envdAccessToken"]);
    copies[0].write_file("/home/user/shared", b"one");
    assert_eq!(copies[1].read_file("/home/user/shared").body, b"original");
    assert_eq!(sandbox.read_file("/home/user/shared").body, b"original");
    assert_eq!(copies[1].run("echo $A $E2B_SANDBOX_ID").out(), format!("1 {}\n", copies[1].id));
    assert_eq!(server.api("POST", &format!("/sandboxes/{}/pause", sandbox.id), None).status(), 204);
    let refused = fork(json!({}));
    let text = format!("Sandbox '{}' is paused and cannot be forked; resume it first", sandbox.id);
    assert_eq!((refused.status(), refused.json()["message"].as_str()), (409, Some(text.as_str())));
}

#[test]
fn during_a_snapshot_others_wait_or_are_told() {
    let server = Server::start();
    let sandbox = server.create();
    // Enough for the snapshot to take a while.
    assert_eq!(sandbox.run("head -c 200M /dev/urandom > /home/user/large").exit_code(), 0);
    let path = |what: &str| format!("/sandboxes/{}/{what}", sandbox.id);
    std::thread::scope(|scope| {
        let text = format!("Sandbox snapshot is currently being created for sandbox '{}'", sandbox.id);
        let mut told = false;
        // On a busy machine a snapshot may be over before anybody has asked.
        for _ in 0..10 {
            let making = scope.spawn(|| snapshot(&sandbox, json!({})).status());
            while !making.is_finished() {
                let refused = server.api("POST", &path("resume"), Some(json!({})));
                assert_eq!(refused.status(), 409, "{}", refused.text());
                told |= refused.json()["message"] == text;
            }
            assert_eq!(making.join().unwrap(), 201);
            if told {
                break;
            }
        }
        assert!(told, "a snapshot under way is not mentioned");
        let making = scope.spawn(|| snapshot(&sandbox, json!({})).status());
        wait_until("it is under way", || {
            let refused = server.api("POST", &path("resume"), Some(json!({})));
            refused.json()["message"] == text || making.is_finished()
        });
        assert_eq!(server.api("POST", &path("pause"), None).status(), 204);
        assert_eq!(making.join().unwrap(), 201, "pausing waits");
    });
}

#[test]
fn templates_come_from_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let template = "start = \"echo $GREETING > /tmp/greeting; exec sleep 1000\"\nready = \"test -s /tmp/greeting\"\n\
        [envs]\nGREETING = \"hello\"\nKEPT = \"template\"\n[[files]]\npath = \"notes/a.txt\"\ncontent = \"text\"\n";
    std::fs::write(folder.path().join("greeter.toml"), template).unwrap();
    std::fs::write(folder.path().join("broken.toml"), "start = \"echo odd >&2\"\nuser = \"nobody-here\"\n").unwrap();
    let server = Server::start_with(&["--template-dir", folder.path().to_str().unwrap()]);
    let sandbox =
        server.create_with(json!({ "templateID": "greeter", "timeout": 300, "envVars": { "KEPT": "request" } }));
    assert_eq!(sandbox.created["alias"], "greeter");
    assert_eq!(sandbox.read_file("/tmp/greeting").body, b"hello\n");
    assert_eq!(sandbox.read_file("/home/user/notes/a.txt").body, b"text");
    assert_eq!(sandbox.run("echo $KEPT").out(), "request\n");
    sandbox.settle("pgrep -x sleep | wc -l", "1\n");
    // A copy has its files, and starts its own processes.
    sandbox.write_file("/home/user/notes/a.txt", b"mine");
    let copies = server.api("POST", &format!("/sandboxes/{}/fork", sandbox.id), Some(json!({ "timeout": 60 })));
    let copy = Sandbox::new(&server, copies.json()[0]["sandbox"].clone());
    assert_eq!(copy.read_file("/home/user/notes/a.txt").body, b"mine");
    copy.settle("pgrep -x sleep | wc -l", "1\n");

    let refused = server.api("POST", "/sandboxes", Some(json!({ "templateID": "broken" })));
    assert_eq!((refused.status(), &refused.json()["error_code"]), (500, &json!("sandbox_create_failed")));
    assert_eq!(
        server.api("GET", "/sandboxes", None).json().as_array().unwrap().len(),
        2,
        "no half-made sandbox is left"
    );

    let names = |target: &str| -> Vec<String> {
        let answer = server.api("GET", target, None).json();
        answer.as_array().unwrap().iter().map(|item| item["names"][0].as_str().unwrap().to_owned()).collect()
    };
    for target in ["/templates", "/v2/templates"] {
        let names = names(target);
        assert!(["base", "broken", "greeter"].iter().all(|name| names.contains(&(*name).to_owned())), "{names:?}");
    }
    let alias = server.api("GET", "/templates/aliases/greeter", None).json();
    assert_eq!(alias["templateID"], sandbox.created["templateID"]);
    let one = server.api("GET", &format!("/templates/{}", alias["templateID"].as_str().unwrap()), None).json();
    assert_eq!((&one["names"], &one["builds"][0]["status"]), (&json!(["greeter"]), &json!("ready")));
    for target in ["/templates/free", "/templates/aliases/free", "/templates/free/tags"] {
        assert_eq!(server.api("GET", target, None).status(), 404, "{target}");
    }
}

#[test]
fn the_code_interpreter_starts_again_in_copies_and_after_pauses() {
    let server = Server::start();
    let sandbox = server.create_with(json!({ "templateID": "code-interpreter-v1", "timeout": 300 }));
    let healthy = |sandbox: &Sandbox<'_>| {
        wait_until("the interpreter answers", || {
            server.send(&sandbox.request(49999, "GET", "/health")).status() == 200
        });
    };
    healthy(&sandbox);
    let call = |what: &str, body: Value| server.api("POST", &format!("/sandboxes/{}/{what}", sandbox.id), Some(body));
    assert_eq!(call("pause", json!({ "memory": false })).status(), 204);
    assert_eq!(call("connect", json!({ "timeout": 300 })).status(), 201);
    healthy(&sandbox);
    let copies = call("fork", json!({ "timeout": 60 })).json();
    healthy(&Sandbox::new(&server, copies[0]["sandbox"].clone()));
}
