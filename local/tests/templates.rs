//! Templates that clients build: from an empty name to sandboxes that are made from it.

mod support;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use support::http::{Answer, Request};
use support::sandbox::Sandbox;
use support::server::{Server, wait_until};
use tar::{Builder, EntryType, Header};

/// A build that was asked for.
struct Build<'a> {
    server: &'a Server,
    template: String,
    id: String,
    asked: Value,
}

impl<'a> Build<'a> {
    fn ask(server: &'a Server, body: Value) -> Self {
        let answer = server.api("POST", "/v3/templates", Some(body));
        assert_eq!(answer.status(), 202, "{}", answer.text());
        let asked = answer.json();
        let text = |name: &str| asked[name].as_str().unwrap().to_owned();
        Build { server, template: text("templateID"), id: text("buildID"), asked }
    }

    fn start(&self, body: Value) -> Answer {
        self.server.api("POST", &format!("/v2/templates/{}/builds/{}", self.template, self.id), Some(body))
    }

    fn status(&self, query: &str) -> Value {
        let target = format!("/templates/{}/builds/{}/status{query}", self.template, self.id);
        let answer = self.server.api("GET", &target, None);
        assert_eq!(answer.status(), 200, "{}", answer.text());
        answer.json()
    }

    /// The status at the end.
    fn end(&self) -> Value {
        wait_until("the build has ended", || {
            ["ready", "error"].contains(&self.status("").get("status").unwrap().as_str().unwrap())
        });
        self.status("")
    }

    fn succeed(&self, body: Value) {
        let answer = self.start(body);
        assert_eq!(answer.status(), 202, "{}", answer.text());
        assert!(answer.body.is_empty());
        let end = self.end();
        assert_eq!(end["status"], "ready", "{end:#}");
    }

    /// The reason of a failure.
    fn fail(&self, body: Value) -> Value {
        assert_eq!(self.start(body).status(), 202);
        let end = self.end();
        assert_eq!(end["status"], "error", "{end:#}");
        end["reason"].clone()
    }

    fn link(&self, hash: &str) -> Value {
        let answer = self.server.api("GET", &format!("/templates/{}/files/{hash}", self.template), None);
        assert_eq!(answer.status(), 201, "{}", answer.text());
        answer.json()
    }

    fn upload(&self, hash: &str, archive: &[u8]) {
        let link = self.link(hash);
        let answer = put(self.server, link["url"].as_str().unwrap(), archive);
        assert_eq!(answer.status(), 200, "{}", answer.text());
        assert_eq!(self.link(hash)["present"], true);
    }
}

/// Without any key: the link is the permission.
fn put(server: &Server, url: &str, archive: &[u8]) -> Answer {
    let target = url.strip_prefix(&format!("http://localhost:{}", server.port)).unwrap();
    server.send(&server.request("PUT", target).body(archive))
}

fn sandbox<'a>(server: &'a Server, template: &str) -> Sandbox<'a> {
    server.create_with(json!({ "templateID": template, "timeout": 300 }))
}

fn archive(files: &[(&str, u32, &[u8])]) -> Vec<u8> {
    let mut builder = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (name, mode, content) in files {
        let mut header = Header::new_gnu();
        header.set_mode(*mode);
        header.set_size(content.len() as u64);
        builder.append_data(&mut header, name, *content).unwrap();
    }
    builder.into_inner().unwrap().finish().unwrap()
}

/// Every sandbox has sockets in the runtime directory, also one that is not listed.
fn nothing_is_left(server: &Server) {
    let sockets = || std::fs::read_dir(server.runtime_dir().unwrap()).unwrap().flatten();
    let any = || sockets().any(|entry| entry.path().extension().is_some_and(|extension| extension == "http"));
    wait_until("no sandbox of a build is left", || !any());
}

fn run(command: &str) -> Value {
    json!({ "type": "RUN", "args": [command], "force": false })
}

fn copy(source: &str, target: &str, hash: &str) -> Value {
    json!({ "type": "COPY", "args": [source, target, "", ""], "filesHash": hash })
}

#[test]
fn what_is_asked_for_is_checked() {
    let server = Server::start();
    for (body, text) in [
        (json!({}), "Name is required"),
        (json!({ "name": "" }), "Name is required"),
        (json!({ "name": "a b" }), "Invalid name: "),
        (json!({ "name": "base" }), "Invalid name: "),
        (json!({ "name": "n", "tags": ["a b"] }), "Invalid tag: "),
        (json!({ "name": "n", "cpuCount": 33 }), "CPU count must be at most 32"),
        (json!({ "name": "n", "cpuCount": 34 }), "CPU count must be at most 32"),
        (json!({ "name": "n", "cpuCount": 3 }), "CPU count must be 1 or an even number"),
        (json!({ "name": "n", "cpuCount": 0 }), "validation error: "),
        (json!({ "name": "n", "memoryMB": 1025 }), "Memory must be divisible by 2"),
        (json!({ "name": "n", "memoryMB": 1 }), "validation error: "),
        (json!({ "name": "n", "memoryMB": 1 << 20 }), "Memory can't be higher than "),
        (json!({ "name": 5 }), "validation error: "),
    ] {
        let answer = server.api("POST", "/v3/templates", Some(body.clone()));
        assert_eq!(answer.status(), 400, "{body}");
        assert!(answer.json()["message"].as_str().unwrap().starts_with(text), "{body}: {}", answer.text());
    }
    assert_eq!(server.api("GET", "/templates/aliases/n", None).status(), 404, "nothing was made");

    let build = Build::ask(&server, json!({ "name": "n:v2", "tags": ["v1"], "cpuCount": 4, "memoryMB": 512 }));
    assert_eq!((&build.asked["names"], &build.asked["tags"]), (&json!(["n"]), &json!(["v1", "v2"])));
    assert_eq!(server.api("GET", "/templates/aliases/n", None).json()["templateID"], build.template.as_str());
    let listed = server.api("GET", "/v2/templates", None).json();
    let listed = listed.as_array().unwrap().iter().find(|item| item["names"][0] == "n").unwrap().clone();
    assert_eq!(
        (&listed["buildStatus"], &listed["cpuCount"], &listed["memoryMB"]),
        (&json!("waiting"), &json!(4), &json!(512))
    );
    let refused = server.api("POST", "/sandboxes", Some(json!({ "templateID": "n" })));
    assert_eq!(refused.json()["message"], "tag 'default' does not exist for template 'n'");

    assert_eq!(build.status("")["status"], "waiting");
    let status =
        |template: &str, id: &str| server.api("GET", &format!("/templates/{template}/builds/{id}/status"), None);
    let unknown = "00000000-0000-4000-8000-000000000000";
    for (template, id, status_code, text) in [
        (build.template.as_str(), "not-a-uuid", 400, "Invalid build id".to_owned()),
        (build.template.as_str(), unknown, 400, format!("Build '{unknown}' not found")),
        ("free", build.id.as_str(), 404, "template 'free' not found".into()),
    ] {
        let answer = status(template, id);
        assert_eq!((answer.status(), answer.json()["message"].as_str()), (status_code, Some(text.as_str())));
    }
    for (body, text) in [
        (json!({ "steps": [{ "type": "EXPOSE", "args": ["80"] }] }), "Invalid step 1: "),
        (
            json!({ "steps": [run("x"), { "type": "COPY", "args": ["../a", "/"], "filesHash": "h" }] }),
            "Invalid step 2: ",
        ),
        (json!({ "fromImage": "a", "fromTemplate": "b" }), "fromImage and fromTemplate"),
        (json!({ "steps": 5 }), "validation error: "),
    ] {
        let answer = build.start(body);
        assert_eq!(answer.status(), 400);
        assert!(answer.json()["message"].as_str().unwrap().starts_with(text), "{}", answer.text());
    }
    assert_eq!(build.status("")["status"], "waiting", "it was not started");
    for query in ["?limit=101", "?limit=x", "?logsOffset=-1", "?level=loud"] {
        let target = format!("/templates/{}/builds/{}/status{query}", build.template, build.id);
        assert_eq!(server.api("GET", &target, None).status(), 400, "{query}");
    }
}

#[test]
fn a_template_is_built_and_used() {
    let server = Server::start();
    let build = Build::ask(&server, json!({ "name": "app" }));
    let files = archive(&[
        ("src/main.sh", 0o755, b"#!/bin/sh\necho run\n"),
        ("src/deep/a.txt", 0o640, b"deep"),
        ("one.txt", 0o644, b"one"),
    ]);
    build.upload("hash1", &files);
    let steps = json!([
        { "type": "USER", "args": ["builder", "true"] },
        { "type": "WORKDIR", "args": ["/srv/app"] },
        { "type": "ENV", "args": ["GREETING", "hi there", "TWICE", "$GREETING-$HOME"] },
        { "type": "COPY", "args": ["src", "code", "", ""], "filesHash": "hash1" },
        { "type": "COPY", "args": ["one.txt", "/opt/renamed.txt", "root", "0600"], "filesHash": "hash1" },
        { "type": "COPY", "args": ["*.txt", "/opt/all/"], "filesHash": "hash1" },
        { "type": "COPY", "args": [".", "/opt/every thing"], "filesHash": "hash1" },
        run("pwd > where; id -un >> where; echo \"$GREETING\" >> where; echo to-stdout; echo to-stderr >&2"),
        { "type": "RUN", "args": ["id -un > /srv/root-was-here", "root"] },
        { "type": "RUN", "args": ["tail -n 1 /etc/sudoers > /srv/sudoers", "root"] },
    ]);
    let start = "echo started $GREETING > /tmp/started; exec sleep 1000";
    build.succeed(
        json!({ "fromTemplate": "base", "steps": steps, "startCmd": start, "readyCmd": "test -s /tmp/started" }),
    );
    assert_eq!(build.start(json!({})).json()["message"], "build is not in waiting state");

    let made = sandbox(&server, "app");
    assert_eq!((&made.created["templateID"], &made.created["alias"]), (&json!(build.template), &json!("app")));
    let look =
        "cat where; stat -c '%U %a %n' code code/main.sh code/deep/a.txt where; ./code/main.sh; cat /opt/all/one.txt";
    let expected = "/srv/app\nbuilder\nhi there\nbuilder 755 code\nbuilder 755 code/main.sh\nbuilder 640 code/deep/a.txt\n\
        builder 644 where\nrun\none";
    assert_eq!(made.run(look).out(), expected);
    assert_eq!(
        made.run("echo $TWICE; cat /srv/root-was-here /srv/sudoers; cat /tmp/started").out(),
        "hi there-/home/builder\nroot\nbuilder ALL=(ALL:ALL) NOPASSWD: ALL\nstarted hi there\n"
    );
    assert_eq!(
        made.run_as("root", "stat -c '%U %a' /opt/renamed.txt; ls '/opt/every thing' /root -A | tr '\\n' ' '").out(),
        "root 600\n/opt/every thing:\none.txt\nsrc\n\n/root:\n".replace('\n', " ").replacen(
            "root 600 ",
            "root 600\n",
            1
        )
    );
    // It was started anew, once.
    made.settle("pgrep -x sleep | wc -l", "1\n");

    // Logs: the same entries whatever the page size, each with its step.
    let all = build.status("")["logEntries"].clone();
    let mut paged = Vec::new();
    loop {
        let page = build.status(&format!("?logsOffset={}&limit=3", paged.len()));
        assert_eq!(page["logs"].as_array().unwrap().len(), page["logEntries"].as_array().unwrap().len());
        match page["logEntries"].as_array().unwrap().as_slice() {
            [] => break,
            entries => paged.extend(entries.to_vec()),
        }
    }
    assert_eq!(json!(paged), all);
    let entry = |text: &str| {
        all.as_array()
            .unwrap()
            .iter()
            .find(|entry| entry["message"] == text)
            .unwrap_or_else(|| panic!("{all:#}"))
            .clone()
    };
    assert_eq!((&entry("to-stdout")["step"], &entry("to-stdout")["level"]), (&json!("8"), &json!("info")));
    assert_eq!((&entry("to-stderr")["step"], &entry("to-stderr")["level"]), (&json!("8"), &json!("warn")));
    assert!(!build.status("")["logs"].to_string().contains("hi there-"), "values of variables are not logged");
    let warnings = build.status("?level=warn")["logEntries"].clone();
    assert!(warnings.as_array().unwrap().iter().all(|entry| entry["level"] == "warn"), "{warnings}");
    let logs = server.api(
        "GET",
        &format!("/templates/{}/builds/{}/logs?direction=backward&limit=1", build.template, build.id),
        None,
    );
    assert_eq!(logs.json()["logs"][0], all.as_array().unwrap().last().unwrap().clone());

    // Built on, with its own start command inherited.
    let further = Build::ask(&server, json!({ "name": "further" }));
    further.succeed(json!({ "fromTemplate": "app", "steps": [run("pwd > /tmp/further; id -un >> /tmp/further")] }));
    let made_of_it = sandbox(&server, "further");
    assert_eq!(made_of_it.run("cat /tmp/further; echo $GREETING").out(), "/srv/app\nbuilder\nhi there\n");
    made_of_it.settle("pgrep -x sleep | wc -l", "1\n");
    // A snapshot and a fork of such a sandbox are like it.
    let forks = server.api("POST", &format!("/sandboxes/{}/fork", made_of_it.id), Some(json!({ "timeout": 60 })));
    assert_eq!(
        Sandbox::new(&server, forks.json()[0]["sandbox"].clone()).run("pwd; id -un").out(),
        "/srv/app\nbuilder\n"
    );

    assert_eq!(server.api("GET", "/snapshots", None).json(), json!([]), "builds are no snapshots");
    let listed = server.api("GET", "/v2/sandboxes", None).json();
    assert_eq!(listed.as_array().unwrap().len(), 3, "no sandbox of a build is shown: {listed}");
}

#[test]
fn failures_name_their_step() {
    let server = Server::start();
    let ask = || Build::ask(&server, json!({ "name": "n" }));
    let reason = ask().fail(json!({ "steps": [run("true"), run("echo last words >&2; exit 3"), run("touch /never")] }));
    assert_eq!((&reason["step"], &reason["message"]), (&json!("2"), &json!("the command ended with exit status 3")));
    let messages: Vec<_> =
        reason["logEntries"].as_array().unwrap().iter().map(|entry| entry["message"].as_str().unwrap()).collect();
    assert!(messages.contains(&"last words"), "{messages:?}");

    for (body, step, text) in [
        (json!({ "fromTemplate": "not-there" }), "base", "template 'not-there' not found"),
        (json!({ "fromImage": "alpine:3" }), "base", "fromTemplate('base')"),
        (
            json!({ "fromImage": "private.example/python", "fromImageRegistry": { "type": "registry", "username": "u", "password": "s3cret" } }),
            "base",
            "without a container engine",
        ),
        (json!({ "steps": [copy("a", "/x", "missing")] }), "1", "were not uploaded"),
        (json!({ "steps": [{ "type": "RUN", "args": ["true", "nobody-here"] }] }), "1", "nobody-here"),
        (
            json!({ "startCmd": "echo cannot start >&2; exit 7", "readyCmd": "false" }),
            "finalize",
            "the start command ended with exit status 7",
        ),
    ] {
        let build = ask();
        let reason = build.fail(body.clone());
        assert_eq!(reason["step"], step, "{body}: {reason}");
        assert!(reason["message"].as_str().unwrap().contains(text), "{body}: {reason}");
        assert!(!build.status("").to_string().contains("s3cret"));
    }
    assert!(!server.log().contains("s3cret"));
    let build = ask();
    let hostile = archive(&[("a", 0o644, b"x")]);
    build.upload("fine", &hostile);
    let reason = build.fail(json!({ "steps": [copy("nothing/*", "/x", "fine")] }));
    assert!(reason["logEntries"].to_string().contains("nothing in the uploaded archive matches"), "{reason}");

    nothing_is_left(&server);
    let refused = server.api("POST", "/sandboxes", Some(json!({ "templateID": "n" })));
    assert_eq!(refused.status(), 404, "nothing that failed can be used");
}

#[test]
fn images_are_stood_in_for_by_this_machine() {
    let server = Server::start();
    let build = Build::ask(&server, json!({ "name": "n" }));
    build.succeed(json!({ "fromImage": "e2bdev/base" }));
    let warning = build.status("?level=warn")["logs"][0].clone();
    assert!(warning.as_str().unwrap().contains("stand in for image e2bdev/base"), "{warning}");
    assert_eq!(sandbox(&server, "n").run("pwd; id -un").out(), "/home/user\nuser\n");
}

#[test]
fn archives_cannot_reach_out() {
    let server = Server::start();
    let build = Build::ask(&server, json!({ "name": "n" }));
    let entry = |name: &str, kind: EntryType, target: &str, content: &[u8]| {
        let mut header = Header::new_gnu();
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.as_old_mut().linkname[..target.len()].copy_from_slice(target.as_bytes());
        header.set_entry_type(kind);
        header.set_mode(0o644);
        header.set_size(content.len() as u64);
        header.set_cksum();
        let mut bytes = header.as_bytes().to_vec();
        bytes.extend(content);
        bytes.resize(bytes.len().next_multiple_of(512), 0);
        bytes
    };
    let traversal = entry("../../../tmp/escaped", EntryType::Regular, "", b"x");
    let through_link =
        [entry("l", EntryType::Symlink, "/tmp", b""), entry("l/escaped", EntryType::Regular, "", b"x")].concat();
    let device = entry("null", EntryType::Char, "", b"");
    for (index, (bytes, text)) in
        [(traversal, "leads out"), (through_link, "below something"), (device, "neither a file")]
            .into_iter()
            .enumerate()
    {
        let build = Build::ask(&server, json!({ "name": "n" }));
        let hash = format!("bad{index}");
        build.upload(&hash, &bytes);
        let reason = build.fail(json!({ "steps": [copy(".", "/x", &hash)] }));
        assert!(reason["message"].as_str().unwrap().contains(text), "{reason}");
    }
    // A link among the files is a link in the sandbox, and leads nowhere else.
    let outside = server.directory.path().join("secret");
    std::fs::write(&outside, "of the host").unwrap();
    let link = entry("link", EntryType::Symlink, outside.to_str().unwrap(), b"");
    build.upload("link", &link);
    build.succeed(json!({ "steps": [copy("link", "/home/user/link", "link")] }));
    assert_ne!(sandbox(&server, "n").run("cat link").exit_code(), 0);

    // Links for uploads.
    let url = build.link("other")["url"].as_str().unwrap().to_owned();
    let (base, signature) = url.rsplit_once("signature=").unwrap();
    for wrong in [
        base.to_owned(),
        format!("{base}signature={}", "0".repeat(signature.len())),
        url.replace("/files/other", "/files/link"),
    ] {
        assert_eq!(put(&server, &wrong, b"x").status(), 403, "{wrong}");
    }
    assert!(!server.log().contains(signature), "links are not logged");
    let target = url.strip_prefix(&format!("http://localhost:{}", server.port)).unwrap().to_owned();
    let huge: Request<'_> = server.request("PUT", &target).header("Content-Length", "99999999999");
    assert_eq!(server.send(&huge).status(), 413);
    assert_eq!(build.link("other")["present"], false);
    assert_eq!(server.api("GET", &format!("/templates/{}/files/a%2Fb", build.template), None).status(), 400);
}

#[test]
fn tags_name_builds() {
    let server = Server::start();
    let first = Build::ask(&server, json!({ "name": "n" }));
    first.succeed(json!({ "steps": [run("echo first > /tmp/which")] }));
    let assign = |body: Value| server.api("POST", "/templates/tags", Some(body));
    let remove = |body: Value| server.api("DELETE", "/templates/tags", Some(body));
    let answer = assign(json!({ "target": "n:default", "tags": ["v1", "stable"] }));
    assert_eq!((answer.status(), answer.json()), (201, json!({ "tags": ["v1", "stable"], "buildID": first.id })));
    let second = Build::ask(&server, json!({ "name": "n" }));
    assert_eq!(second.template, first.template, "a new build of the same template");
    second.succeed(json!({ "steps": [run("echo second > /tmp/which")] }));
    let which = |template: &str| sandbox(&server, template).run("cat /tmp/which").out().to_owned();
    assert_eq!(
        (which("n").as_str(), which("n:v1").as_str(), which("n:stable").as_str()),
        ("second\n", "first\n", "first\n")
    );
    let tags = server.api("GET", "/templates/n/tags", None).json();
    let mut names: Vec<_> = tags
        .as_array()
        .unwrap()
        .iter()
        .map(|tag| (tag["tag"].as_str().unwrap().to_owned(), tag["buildID"].clone()))
        .collect();
    names.sort_by(|a, b| a.0.cmp(&b.0));
    let expected = [("default", &second.id), ("stable", &first.id), ("v1", &first.id)]
        .map(|(tag, id)| (tag.to_owned(), json!(id)));
    assert_eq!(names, expected);

    for (answer, status, text) in [
        (assign(json!({ "target": "n:none", "tags": ["x"] })), 404, "tag 'none' does not exist for template 'n'"),
        (assign(json!({ "target": "free", "tags": ["x"] })), 404, "template 'free' not found"),
        (assign(json!({ "target": "n", "tags": [] })), 400, "At least one tag is required"),
        (assign(json!({ "target": "n", "tags": ["a:b"] })), 400, "Invalid tag: "),
        (assign(json!({ "target": "base", "tags": ["x"] })), 403, "template 'base' belongs to this server"),
        (remove(json!({ "name": "n", "tags": ["default"] })), 400, "Cannot delete the 'default' tag"),
        (remove(json!({ "name": "free", "tags": ["x"] })), 404, "template 'free' not found"),
        (remove(json!({ "name": "n" })), 400, "validation error: "),
    ] {
        assert_eq!(answer.status(), status, "{text}");
        assert!(answer.json()["message"].as_str().unwrap().starts_with(text), "{}", answer.text());
    }
    assert_eq!(remove(json!({ "name": "n", "tags": ["v1", "never-was"] })).status(), 204);
    assert_eq!(server.api("POST", "/sandboxes", Some(json!({ "templateID": "n:v1" }))).status(), 404);

    let public = server.api("PATCH", &format!("/v2/templates/{}", first.template), Some(json!({ "public": true })));
    assert_eq!((public.status(), public.json()), (200, json!({ "names": ["n"] })));
    assert_eq!(server.api("GET", "/templates/aliases/n", None).json()["public"], true);
    assert_eq!(server.api("DELETE", "/templates/n", None).status(), 400, "sandboxes use it");
    for item in server.api("GET", "/v2/sandboxes", None).json().as_array().unwrap() {
        server.api("DELETE", &format!("/sandboxes/{}", item["sandboxID"].as_str().unwrap()), None);
    }
    assert_eq!(server.api("DELETE", "/templates/n", None).status(), 204);
    assert_eq!(server.api("DELETE", "/templates/n", None).status(), 404);
    for target in ["/templates/aliases/n", "/templates/n", "/templates/n/tags"] {
        assert_eq!(server.api("GET", target, None).status(), 404, "{target}");
    }
}

#[test]
fn builds_wait_for_each_other_and_end_with_their_template() {
    let server = Server::start();
    let names = ["a", "b", "c", "d", "e"];
    let builds = names.map(|name| Build::ask(&server, json!({ "name": name })));
    for build in &builds {
        assert_eq!(build.start(json!({ "steps": [run("while ! test -e /tmp/go; do sleep 0.1; done")] })).status(), 202);
    }
    wait_until("the last one waits", || {
        builds[4].status("")["logs"].to_string().contains("waiting until other builds")
    });
    wait_until("the others run", || {
        builds[..4].iter().all(|build| build.status("")["logs"].to_string().contains("[1/1]"))
    });
    assert_eq!(builds[4].status("")["logEntries"].as_array().unwrap().len(), 1);
    // A build is under way, and no sandbox of it can be seen or ended by clients.
    assert_eq!(server.api("GET", "/sandboxes", None).json(), json!([]));
    for name in &names[..4] {
        assert_eq!(server.api("DELETE", &format!("/templates/{name}"), None).status(), 204);
    }
    wait_until("it is the last one's turn", || builds[4].status("")["logs"].to_string().contains("[1/1]"));
    assert_eq!(server.api("DELETE", "/templates/e", None).status(), 204);
    nothing_is_left(&server);
}
