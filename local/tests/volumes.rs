//! Volumes: what they are called, what is in them, who sees them, and what hostile sandboxes can do to their readers.

mod support;

use std::io::Write;

use serde_json::{Value, json};
use support::http::{Answer, Connection, Incoming, Request};
use support::sandbox::Sandbox;
use support::server::{Server, descendants, wait_until};

/// A volume, and its content over HTTP.
struct Volume<'a> {
    server: &'a Server,
    id: String,
    token: String,
}

impl<'a> Volume<'a> {
    fn create(server: &'a Server, name: &str) -> Self {
        let answer = server.api("POST", "/volumes", Some(json!({ "name": name })));
        assert_eq!(answer.status(), 201, "{}\n{}", answer.text(), server.log());
        let made = answer.json();
        let text = |name: &str| made[name].as_str().unwrap().to_owned();
        assert_eq!((text("name"), text("domain")), (name.to_owned(), format!("localhost:{}", server.port)));
        Volume { server, id: text("volumeID"), token: text("token") }
    }

    fn target(&self, what: &str, path: &str, more: &str) -> String {
        let path = form_urlencoded::byte_serialize(path.as_bytes()).collect::<String>();
        format!("/volumecontent/{}/{what}?path={path}{more}", self.id)
    }

    fn request<'r>(&self, method: &'r str, target: &'r str) -> Request<'r> {
        self.server.request(method, target).header("Authorization", format!("Bearer {}", self.token))
    }

    fn send(&self, method: &str, what: &str, path: &str, more: &str, body: &[u8]) -> Answer {
        self.server.send(&self.request(method, &self.target(what, path, more)).body(body))
    }

    fn write(&self, path: &str, body: &[u8], more: &str) -> Answer {
        self.send("PUT", "file", path, more, body)
    }

    fn read(&self, path: &str) -> Answer {
        self.send("GET", "file", path, "", b"")
    }

    fn stat(&self, path: &str) -> Answer {
        self.send("GET", "path", path, "", b"")
    }

    fn make_dir(&self, path: &str, more: &str) -> Answer {
        self.send("POST", "dir", path, more, b"")
    }

    fn remove(&self, path: &str) -> Answer {
        self.send("DELETE", "path", path, "", b"")
    }

    fn paths(&self, path: &str, depth: u32) -> Vec<String> {
        let answer = self.send("GET", "dir", path, &format!("&depth={depth}"), b"");
        assert_eq!(answer.status(), 200, "{}", answer.text());
        answer.json().as_array().unwrap().iter().map(|entry| entry["path"].as_str().unwrap().to_owned()).collect()
    }
}

fn mounted<'a>(server: &'a Server, mounts: &Value) -> Sandbox<'a> {
    server.create_with(json!({ "templateID": "base", "timeout": 300, "volumeMounts": mounts }))
}

/// Status and `code` of a refusal of the content API.
fn refusal(answer: &Answer) -> (u16, String) {
    let body = answer.json();
    assert!(!body["message"].as_str().unwrap().is_empty(), "{body}");
    (answer.status(), body["code"].as_str().unwrap().to_owned())
}

fn refused(status: u16, code: &str) -> (u16, String) {
    (status, code.to_owned())
}

#[test]
fn volumes_come_and_go() {
    let server = Server::start();
    let listed = || server.api("GET", "/volumes", None).json();
    assert_eq!(listed(), json!([]));
    let (one, two) = (Volume::create(&server, "one"), Volume::create(&server, "Two_2-x"));
    let entry = |volume: &Volume<'_>, name: &str| json!({ "volumeID": volume.id, "name": name });
    assert_eq!(listed(), json!([entry(&one, "one"), entry(&two, "Two_2-x")]));
    let got = server.api("GET", &format!("/volumes/{}", one.id), None);
    assert_eq!((got.status(), &got.json()["token"]), (200, &json!(one.token)));
    assert_ne!(one.token, two.token);

    let create = |body: Value| server.api("POST", "/volumes", Some(body));
    let taken = create(json!({ "name": "one" }));
    assert_eq!((taken.status(), &taken.json()["message"]), (400, &json!("Volume with name 'one' already exists")));
    for wrong in [
        json!({}),
        json!({ "name": 5 }),
        json!({ "name": "" }),
        json!({ "name": "a b" }),
        json!({ "name": "x".repeat(1000) }),
    ] {
        assert_eq!(create(wrong.clone()).status(), 400, "{wrong}");
    }
    assert_eq!(server.send(&server.request("GET", "/volumes")).status(), 401);

    let delete = |id: &str| server.api("DELETE", &format!("/volumes/{id}"), None).status();
    assert_eq!((delete(&one.id), delete(&one.id), delete("../x")), (204, 404, 404));
    assert_eq!(server.api("GET", &format!("/volumes/{}", one.id), None).status(), 404);
    assert_eq!(listed(), json!([entry(&two, "Two_2-x")]));
    assert_eq!(refusal(&one.stat("/")), refused(404, "volume_not_found"));
    // Its name is free, its content is not what it was.
    two.write("/kept", b"x", "");
    Volume::create(&server, "one");
    assert_eq!(two.read("/kept").body, b"x");
}

#[test]
fn content_has_an_api() {
    let server = Server::start();
    let volume = Volume::create(&server, "v");
    let root = volume.stat("/").json();
    assert_eq!(
        (&root["type"], &root["path"], &root["uid"], &root["mode"]),
        (&json!("directory"), &json!("/"), &json!(1000), &json!(0o755))
    );

    let made = volume.make_dir("/d", "");
    assert_eq!((made.status(), &made.json()["mode"], &made.json()["gid"]), (201, &json!(0o755), &json!(1000)));
    assert_eq!(refusal(&volume.make_dir("/d", "")), refused(409, "already_exists"));
    assert_eq!(volume.make_dir("/d", "&force=true").status(), 201, "as it is");
    assert_eq!(refusal(&volume.make_dir("/no/parent", "")), refused(404, "path_not_found"));
    assert_eq!(volume.make_dir("/e/f/g", "&force=true&mode=448").json()["mode"], 0o700);
    assert_eq!(volume.stat("/e").json()["mode"], 0o700);

    let name = "/d/ü +&%41\n.txt";
    let written = volume.write(name, "héllo".as_bytes(), "");
    let entry = written.json();
    assert_eq!(
        (written.status(), &entry["type"], &entry["size"], &entry["mode"]),
        (201, &json!("file"), &json!(6), &json!(0o644))
    );
    assert_eq!((&entry["path"], &entry["name"]), (&json!(name), &json!("ü +&%41\n.txt")));
    for time in ["atime", "mtime", "ctime"] {
        assert!(entry[time].as_str().unwrap().ends_with('Z'), "{entry}");
    }
    let read = volume.read(name);
    assert_eq!((read.status(), read.header("content-type")), (200, Some("application/octet-stream")));
    assert_eq!((read.text(), read.header("content-length")), ("héllo", Some("6")));
    assert_eq!(refusal(&volume.write(name, b"other", "")), refused(409, "already_exists"));
    assert_eq!(volume.write(name, b"", "&force=true").json()["size"], 0);
    assert_eq!(volume.read(name).body, b"");
    // A new version keeps what nobody changes.
    volume.write("/run.sh", b"1", "&mode=493");
    assert_eq!(volume.write("/run.sh", b"2", "&force=true").json()["mode"], 0o755);
    assert_eq!(volume.write("/run.sh", b"2", "&force=true&mode=384").json()["mode"], 0o600);

    let update = |path: &str, body: Value| volume.send("PATCH", "path", path, "", body.to_string().as_bytes());
    let updated = update("/run.sh", json!({ "mode": 0o640 }));
    assert_eq!((updated.status(), &updated.json()["mode"]), (200, &json!(0o640)));
    assert_eq!(update("/run.sh", json!({})).json()["mode"], 0o640);
    assert_eq!(refusal(&update("/nothing", json!({ "mode": 1 }))), refused(404, "path_not_found"));
    for wrong in [
        json!({ "mode": -1 }),
        json!({ "mode": 0o10000 }),
        json!({ "uid": "root" }),
        json!({ "uid": 70000 }),
        json!([]),
    ] {
        assert_eq!(refusal(&update("/run.sh", wrong.clone())), refused(400, "invalid_argument"), "{wrong}");
    }

    assert_eq!(volume.paths("/", 1), ["/d", "/e", "/run.sh"]);
    assert_eq!(volume.paths("/", 2), ["/d", name, "/e", "/e/f", "/run.sh"]);
    assert_eq!(volume.paths("e", 9), ["/e/f", "/e/f/g"]);

    let long = "x".repeat(300);
    for (method, what, path, more, expected) in [
        ("GET", "path", "/nothing", "", refused(404, "path_not_found")),
        ("GET", "path", "/run.sh/below", "", refused(404, "path_not_found")),
        ("GET", "path", "", "", refused(400, "invalid_argument")),
        ("GET", "path", "a\0b", "", refused(400, "invalid_argument")),
        ("GET", "path", &long, "", refused(400, "invalid_argument")),
        ("GET", "dir", "/nothing", "", refused(404, "path_not_found")),
        ("GET", "dir", "/run.sh", "", refused(400, "invalid_argument")),
        ("GET", "dir", "/", "&depth=0", refused(400, "invalid_argument")),
        ("GET", "dir", "/", "&depth=many", refused(400, "invalid_argument")),
        ("GET", "file", "/d", "", refused(400, "invalid_argument")),
        ("GET", "file", "/nothing", "", refused(404, "path_not_found")),
        ("PUT", "file", "/d", "&force=true", refused(409, "conflict")),
        ("PUT", "file", "/", "", refused(409, "conflict")),
        ("PUT", "file", "/no/parent", "", refused(404, "path_not_found")),
        ("PUT", "file", "/x", "&mode=4096", refused(400, "invalid_argument")),
        ("PUT", "file", "/x", "&uid=70000", refused(400, "invalid_argument")),
        ("PUT", "file", "/x", "&force=maybe", refused(400, "invalid_argument")),
        ("POST", "dir", "/run.sh/x", "&force=true", refused(409, "conflict")),
        ("DELETE", "path", "/nothing", "", refused(404, "path_not_found")),
        ("DELETE", "path", "/d/..", "", refused(400, "invalid_argument")),
    ] {
        assert_eq!(refusal(&volume.send(method, what, path, more, b"")), expected, "{method} {what} {path:?} {more}");
    }
    let without_path = format!("/volumecontent/{}/path", volume.id);
    assert_eq!(volume.server.send(&volume.request("GET", &without_path)).status(), 400);
    assert_eq!(volume.send("GET", "other", "/", "", b"").status(), 404);
    assert_eq!(volume.send("POST", "file", "/", "", b"").status(), 405);

    assert_eq!(volume.remove("/d").status(), 204, "with all it has");
    assert_eq!(volume.remove("/d").status(), 404);
    assert_eq!(volume.paths("/", 1), ["/e", "/run.sh"]);
}

#[test]
fn content_is_for_the_holder_of_the_token() {
    let server = Server::start();
    let (mine, other) = (Volume::create(&server, "mine"), Volume::create(&server, "other"));
    mine.write("/secret", b"secret", "");
    let target = mine.target("file", "/secret", "");
    for header in [
        None,
        Some(("Authorization", format!("Bearer {}", other.token))),
        Some(("Authorization", "Bearer ".into())),
        Some(("Authorization", format!("Basic {}", mine.token))),
        Some(("X-API-Key", server.api_key.clone())),
        Some(("Authorization", format!("Bearer {}", server.api_key))),
    ] {
        let request = server.request("GET", &target);
        let request = match &header {
            Some((name, value)) => request.header(name, value.clone()),
            None => request,
        };
        assert_eq!(refusal(&server.send(&request)), refused(401, "unauthorized"), "{header:?}");
    }
    let escaped = format!("/volumecontent/{}/..%2f..%2f{}/file?path=/secret", other.id, mine.id);
    assert_eq!(server.send(&other.request("GET", &escaped)).status(), 404);
    // Pages can read answers, refusals included.
    let page = server.send(&server.request("GET", &target).header("Origin", "http://page.test"));
    assert_eq!((page.status(), page.header("access-control-allow-origin")), (401, Some("*")));
    assert!(!server.log().contains(&mine.token) && !server.log().contains("path=%2Fsecret"));
}

#[test]
fn sandboxes_share_what_is_mounted() {
    let server = Server::start();
    let volume = Volume::create(&server, "shared");
    Volume::create(&server, "second");
    volume.write("/from-outside", b"outside", "");
    let mounts = json!([{ "name": "shared", "path": "/mnt/data" }, { "name": "second", "path": "/home/user/a/b/" }]);
    let (one, two) = (mounted(&server, &mounts), mounted(&server, &json!([{ "name": "shared", "path": "/data" }])));
    let shown = |id: &str| server.api("GET", &format!("/sandboxes/{id}"), None).json()["volumeMounts"].clone();
    assert_eq!(shown(&one.id).as_array().unwrap().len(), 2);
    assert_eq!(shown(&two.id), json!([{ "name": "shared", "path": "/data" }]));
    assert_eq!(shown(&server.create().id), Value::Null);

    let script = "cat /mnt/data/from-outside; echo inside > /mnt/data/from-inside; mkdir -m 750 /mnt/data/dir
        stat -c '%U:%G %a' /mnt/data /mnt/data/* /home/user/a; touch /home/user/a/mine /home/user/a/b/mine; id -un";
    let expected = "outsideuser:user 755\nuser:user 750\nuser:user 644\nuser:user 644\nuser:user 755\nuser\n";
    assert_eq!(one.run(script).out(), expected);
    assert_eq!(two.run("cat /data/from-inside").out(), "inside\n");
    assert_eq!(volume.read("/from-inside").body, b"inside\n");
    assert_eq!(one.read_file("/mnt/data/from-inside").body, b"inside\n", "through the daemon too");
    assert_eq!(volume.stat("/dir").json()["mode"], 0o750);
    // Other users are the same ones everywhere, where there are any.
    if two.run_as("root", "touch /data/of-root; chown 5:6 /data/dir; stat -c %u /data/of-root").out() == "0\n" {
        assert_eq!(volume.stat("/of-root").json()["uid"], 0);
        let dir = volume.stat("/dir").json();
        assert_eq!((&dir["uid"], &dir["gid"]), (&json!(5), &json!(6)));
        assert_eq!(volume.write("/for-root", b"", "&uid=0&gid=0&mode=384").json()["uid"], 0);
        assert_eq!(one.run("cat /mnt/data/for-root || echo refused").out(), "refused\n");
    }
    for script in ["umount /mnt/data", "mount -o remount,suid /mnt/data", "mknod /mnt/data/disk b 8 0"] {
        assert_ne!(one.run_as("root", script).exit_code(), 0, "{script}");
    }

    // It outlives the sandboxes.
    for sandbox in [&one, &two] {
        assert_eq!(server.api("DELETE", &format!("/sandboxes/{}", sandbox.id), None).status(), 204);
    }
    let later = mounted(&server, &json!([{ "name": "shared", "path": "/later/on" }]));
    assert_eq!(later.run("cat /later/on/from-inside").out(), "inside\n");
}

#[test]
fn mounts_outlast_pauses_and_are_not_copied() {
    let server = Server::start();
    let volume = Volume::create(&server, "v");
    let sandbox = mounted(&server, &json!([{ "name": "v", "path": "/mnt/v" }]));
    let call = |what: &str, body: Value| server.api("POST", &format!("/sandboxes/{}/{what}", sandbox.id), Some(body));
    sandbox.write_file("/mnt/v/file", b"1");
    for memory in [true, false] {
        assert_eq!(call("pause", json!({ "memory": memory })).status(), 204);
        let paused = server.api("GET", &format!("/sandboxes/{}", sandbox.id), None).json();
        assert_eq!((&paused["state"], &paused["volumeMounts"]), (&json!("paused"), &Value::Null));
        assert_eq!(volume.write("/meanwhile", b"2", "&force=true").status(), 201);
        assert_eq!(call("connect", json!({ "timeout": 300 })).status(), 201);
        assert_eq!(sandbox.run("cat /mnt/v/*").out(), "12");
    }

    let snapshot = call("snapshots", json!({})).json();
    let copy = server.create_with(json!({ "templateID": snapshot["snapshotID"], "timeout": 300 }));
    assert_eq!(copy.run("ls -A /mnt/v; echo nothing").out(), "nothing\n", "a snapshot has the directory alone");
    copy.run_as("root", "rmdir /mnt/v; ln -s /home/user /mnt/v; echo x > /home/user/mine");
    let copies = server.api("POST", &format!("/sandboxes/{}/snapshots", copy.id), Some(json!({}))).json();
    let linked = server.create_with(json!({
        "templateID": copies["snapshotID"], "timeout": 300, "volumeMounts": [{ "name": "v", "path": "/mnt/v/sub" }],
    }));
    assert_eq!(linked.run("cat /home/user/sub/file").out(), "1", "a link in the way is the sandbox's own");

    let fork = call("fork", json!({ "timeout": 60 })).json();
    let fork = Sandbox::new(&server, fork[0]["sandbox"].clone());
    fork.write_file("/mnt/v/file", b"from the fork");
    assert_eq!(sandbox.read_file("/mnt/v/file").body, b"from the fork", "a fork has the same volume");

    // Deleted while it is mounted: whoever has it keeps it, nobody gets it any more.
    assert_eq!(server.api("DELETE", &format!("/volumes/{}", volume.id), None).status(), 204);
    assert_eq!(sandbox.run("echo on > /mnt/v/on; cat /mnt/v/on").out(), "on\n");
    assert_eq!(fork.read_file("/mnt/v/on").body, b"on\n");
    let failed = call("fork", json!({ "timeout": 60 })).json();
    assert_eq!(failed[0]["error"]["message"], "invalid mounts:\nvolume 'v' not found");
    Volume::create(&server, "v");
    let fresh = mounted(&server, &json!([{ "name": "v", "path": "/mnt/v" }]));
    assert_eq!(fresh.run("ls -A /mnt/v").out(), "");
}

#[test]
fn wrong_mounts_are_all_named() {
    let server = Server::start();
    Volume::create(&server, "v");
    let create = |mounts: Value| {
        let request = json!({ "templateID": "base", "timeout": 300, "volumeMounts": mounts });
        let answer = server.api("POST", "/sandboxes", Some(request));
        (answer.status(), answer.json()["message"].as_str().unwrap_or("").to_owned())
    };
    let mount = |name: &str, path: &str| json!({ "name": name, "path": path });
    let (status, message) = create(json!([
        mount("v", "/a"),
        mount("w", "/b"),
        mount("v", "/a/"),
        mount("v", "relative"),
        mount("v", "/proc/x")
    ]));
    assert_eq!(status, 400);
    let expected = "invalid mounts:\nvolume 'w' not found\npath '/a' is already used\n\
        path 'relative' is not an absolute path without '.' and '..'\npath '/proc/x' belongs to the system";
    assert_eq!(message, expected);
    assert!(create(json!([{ "name": "v" }])).1.starts_with("validation error: "));
    let many: Vec<_> = (0..33).map(|index| mount("v", &format!("/mnt/{index}"))).collect();
    assert_eq!(create(json!(many)).1, "invalid mounts:\nthere are more than 32");
    assert_eq!(create(json!(&many[..32])).0, 201);
    // Nothing can be mounted at a file.
    let (status, message) = create(json!([mount("v", "/etc/passwd")]));
    assert_eq!(status, 500, "{message}");
    assert!(message.contains("mounting a volume at /etc/passwd"), "{message}");
    assert_eq!(
        server.api("GET", "/sandboxes", None).json().as_array().unwrap().len(),
        1,
        "no half-made sandbox is left"
    );
}

#[test]
fn planted_files_lead_nowhere_and_hang_nobody() {
    let server = Server::start();
    let (volume, other) = (Volume::create(&server, "v"), Volume::create(&server, "other"));
    other.write("/theirs", b"theirs", "");
    let secret = tempfile::Builder::new().prefix("asl-secret").tempfile_in("/tmp").unwrap();
    std::fs::write(secret.path(), "host secret").unwrap();
    let host = secret.path().display();
    let sandbox = mounted(&server, &json!([{ "name": "v", "path": "/v" }]));
    let script = format!(
        "cd /v; ln -s {host} host; ln -s ../../../../../..{host} up; ln -s / top; ln -s /proc/self/root magic
        ln -s /proc/1/root/{host} init; ln -s ../{}/tree/theirs neighbour; ln -s loop loop; mkdir real; ln -s real link
        echo fine > real/fine; mkfifo pipe; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"socket\")'
        touch \"$(printf 'bad\\xff')\"; ln real/fine hard; mkdir many; (cd many; seq 3000 | xargs touch)
        python3 -c 'import os
for _ in range(3000): os.mkdir(\"deep\"); os.chdir(\"deep\")'",
        other.id
    );
    assert_eq!(sandbox.run(&script).exit_code(), 0);
    sandbox.run_as("root", "mknod /v/whiteout c 0 0");

    for path in ["/host", "/up", "/magic/etc/passwd", "/init", "/neighbour", "/top/etc/passwd", "/loop", "/../secret"] {
        let read = volume.read(path);
        assert!(matches!(read.status(), 400 | 404), "{path}: {}", read.text());
        let update = volume.send("PATCH", "path", path, "", br#"{"mode":511}"#);
        assert!(matches!(update.status(), 400 | 404), "{path}: {}", update.text());
    }
    for path in ["/magic/tmp/new", "/top/../../tmp/x", "/init/new"] {
        assert_ne!(volume.make_dir(path, "").status(), 500, "{path}");
    }
    // Of a volume, the top is the top: this is a way to say `/real/fine`.
    assert_eq!(volume.read("/top/real/fine").body, b"fine\n");
    assert_eq!(volume.read("/link/fine").body, b"fine\n");
    assert_eq!(
        (&volume.stat("/host").json()["type"], &volume.stat("/host").json()["target"]),
        (&json!("symlink"), &json!(secret.path()))
    );
    for path in ["/pipe", "/socket"] {
        assert_eq!(volume.stat(path).json()["type"], "unknown", "{path}");
        assert_eq!(refusal(&volume.read(path)), refused(400, "invalid_argument"), "{path}");
    }
    assert_eq!(volume.paths("/many", 1).len(), 3000);
    assert!(volume.paths("/", 4_000_000_000).len() > 3800, "as deep as a path can be long");
    assert!(volume.paths("/", 1).contains(&"/bad\u{fffd}".into()));

    // What is written replaces a link, and is never written through it.
    assert_eq!(volume.write("/host", b"replaced", "&force=true").json()["type"], "file");
    assert_eq!(volume.write("/pipe", b"replaced", "&force=true").json()["type"], "file");
    assert_eq!(volume.write("/hard", b"replaced", "&force=true").status(), 201);
    assert_eq!(volume.read("/real/fine").body, b"fine\n");
    assert_eq!(std::fs::read(secret.path()).unwrap(), b"host secret");
    // What is removed is the link, however deep what is not one may be.
    for path in ["/link", "/top", "/deep", "/many", "/whiteout", "/socket", "/loop"] {
        let removed = volume.remove(path);
        assert!(removed.status() == 204 || path == "/whiteout", "{path}: {}", removed.text());
    }
    assert_eq!(volume.read("/real/fine").body, b"fine\n");
    assert_eq!(other.read("/theirs").body, b"theirs");
}

#[test]
fn renames_under_way_never_lead_out() {
    let server = Server::start();
    let volume = Volume::create(&server, "v");
    let sandbox = mounted(&server, &json!([{ "name": "v", "path": "/v" }]));
    let race = "mkdir -p /v/d; echo inside > /v/d/hostname
        python3 -c 'import os
os.chdir(\"/v\"); os.symlink(\"/etc\", \"l\")
while True: os.rename(\"d\", \"x\"); os.rename(\"l\", \"d\"); os.rename(\"d\", \"l\"); os.rename(\"x\", \"d\")'";
    let mut racing = sandbox.start(&support::sandbox::shell(race), &[]);
    racing.pid();
    wait_until("the race is on", || volume.stat("/l").status() == 200 || volume.stat("/x").status() == 200);
    for round in 0..100 {
        let read = volume.read("/d/hostname");
        assert!(read.body == b"inside\n" || read.status() == 404, "{round}: {}", read.text());
        volume.write("/d/new", b"new", "&force=true");
        volume.remove("/d/new");
    }
    assert_eq!(sandbox.run("ls /etc/new 2>/dev/null; id -un").out(), "user\n");
}

#[test]
fn uploads_appear_whole_or_not_at_all() {
    let server = Server::start();
    let volume = Volume::create(&server, "v");
    volume.write("/file", b"old", "");
    let target = volume.target("file", "/file", "&force=true");
    let begin = |length: usize| {
        let mut connection = Connection::tcp(server.port);
        let head = format!(
            "PUT {target} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nContent-Length: {length}\r\n\r\n",
            volume.token
        );
        connection.write_all(head.as_bytes()).unwrap();
        connection
    };
    let half = vec![b'h'; 3_000_000];
    // Cut off: by the client, in the middle.
    let mut connection = begin(2 * half.len());
    connection.write_all(&half).unwrap();
    assert_eq!(volume.paths("/", 9), ["/file"], "nothing is to be seen of it");
    assert_eq!(volume.read("/file").body, b"old");
    connection.close();
    // Slow, and whole in the end.
    let mut connection = begin(2 * half.len());
    connection.write_all(&half).unwrap();
    assert_eq!(volume.read("/file").body, b"old");
    connection.write_all(&half).unwrap();
    let answer = Incoming::read(connection, "PUT").unwrap().whole().unwrap();
    assert_eq!((answer.status(), &answer.json()["size"]), (201, &json!(2 * half.len())));
    assert!(volume.read("/file").body == [&half[..], &half[..]].concat());
    assert_eq!(volume.paths("/", 9), ["/file"]);

    // Several at a time: one of them, from its first byte to its last.
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..8u8)
            .map(|writer| {
                scope.spawn({
                    let volume = &volume;
                    move || volume.write("/raced", &vec![writer; 500_000], "&force=true").status()
                })
            })
            .collect();
        while !writers.iter().all(|writer| writer.is_finished()) {
            let read = volume.read("/raced");
            assert!(
                read.status() == 404
                    || (read.body.len() == 500_000 && read.body.iter().all(|byte| *byte == read.body[0]))
            );
        }
        assert!(writers.into_iter().all(|writer| writer.join().unwrap() == 201));
    });
    // And without force: exactly one.
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..8).map(|_| scope.spawn(|| volume.write("/once", b"x", "").status())).collect();
        let mut statuses: Vec<_> = writers.into_iter().map(|writer| writer.join().unwrap()).collect();
        statuses.sort_unstable();
        assert_eq!(statuses, [201, 409, 409, 409, 409, 409, 409, 409]);
    });
    // A refusal arrives although the body was not wanted.
    let refused = volume.write("/once", &vec![0; 20_000_000], "");
    assert_eq!(refused.status(), 409);
    assert_eq!(volume.read("/once").body, b"x");
}

#[test]
fn a_file_that_shrinks_breaks_its_reader_off() {
    let server = Server::start();
    let volume = Volume::create(&server, "v");
    let sandbox = mounted(&server, &json!([{ "name": "v", "path": "/v" }]));
    sandbox.run("head -c 200M /dev/zero > /v/large");
    let target = volume.target("file", "/large", "");
    let mut reading = volume.request("GET", &target).send(Connection::tcp(server.port)).unwrap();
    assert_eq!(reading.head.get("content-length"), Some("209715200"));
    sandbox.run("truncate -s 1000 /v/large");
    assert!(reading.next().is_err(), "it must not look whole");
    assert_eq!(volume.read("/large").body.len(), 1000);
}

#[test]
fn nothing_is_left_of_a_server_that_was_killed() {
    let mut server = Server::start();
    let volume = Volume::create(&server, "v");
    volume.write("/file", b"x", "");
    let sandbox = mounted(&server, &json!([{ "name": "v", "path": "/v" }]));
    assert_eq!(sandbox.run("cat /v/file").out(), "x");
    let processes = descendants(server.pid());
    assert!(processes.len() >= 4, "{processes:?}");
    server.stop("KILL");
    wait_until("its processes have ended", || {
        processes.iter().all(|pid| !std::path::Path::new(&format!("/proc/{pid}")).exists())
    });
}

#[test]
fn without_isolation_there_are_no_volumes() {
    let server = Server::start_with(&["--isolation", "none"]);
    for (method, target, body) in [
        ("GET", "/volumes", None),
        ("POST", "/volumes", Some(json!({ "name": "v" }))),
        ("GET", "/volumes/x", None),
        ("DELETE", "/volumes/x", None),
    ] {
        let answer = server.api(method, target, body);
        assert_eq!((answer.status(), &answer.json()["message"]), (403, &json!("use of volumes is not enabled")));
    }
    let request = json!({ "templateID": "base", "volumeMounts": [{ "name": "v", "path": "/v" }] });
    let answer = server.api("POST", "/sandboxes", Some(request));
    assert_eq!((answer.status(), &answer.json()["message"]), (400, &json!("Volume mounts are not enabled.")));
}
