//! Each sandbox has a network of its own: what it can and cannot reach, and what changes while it runs.

mod support;

use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::process::Command;

use serde_json::{Value, json};
use support::sandbox::{Sandbox, shell};
use support::server::{Server, wait_until};

/// A server whose sandboxes have networks of their own: a machine that cannot do that cannot pass.
fn server(arguments: &[&str]) -> Server {
    let server = Server::start_with(arguments);
    let shared = || server.log().contains("SHARE THIS MACHINE'S NETWORK");
    wait_until("the server knows what it can do", || server.log().contains("network: ") || shared());
    assert!(!shared(), "run `cargo xtask setup` for slirp4netns: {}", server.log());
    server
}

/// An address of this machine that is not loopback.
fn own_address() -> IpAddr {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    // Nothing is sent: this only chooses a way.
    socket.connect("192.0.2.77:9").expect("this machine has no network at all");
    socket.local_addr().unwrap().ip()
}

/// Says hello to whoever connects to any address of this machine; its port.
fn greeter(address: &str) -> u16 {
    let listener = TcpListener::bind((address, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut peer in listener.incoming().flatten() {
            let _ = peer.write_all(b"hello\n");
        }
    });
    port
}

/// What a connection from inside gets to read.
fn dial(sandbox: &Sandbox<'_>, address: &str, port: u16) -> String {
    let script = format!("exec 2>/dev/null 3<>/dev/tcp/{address}/{port} && cat <&3 || echo closed");
    sandbox.run(&format!("timeout 10 bash -c '{script}' || echo closed")).out().trim().to_owned()
}

/// Waits until a connection from inside is answered: the program that carries it starts beside the sandbox.
fn reaches(sandbox: &Sandbox<'_>, address: &str, port: u16) {
    wait_until("the greeting arrives", || dial(sandbox, address, port) == "hello");
}

fn update(sandbox: &Sandbox<'_>, settings: Value) {
    let target = format!("/sandboxes/{}/network", sandbox.id);
    assert_eq!(sandbox.server.api("PUT", &target, Some(settings)).status(), 204);
}

#[test]
fn what_listens_on_this_machine_is_out_of_reach() {
    let server = server(&[]);
    let (sandbox, address) = (server.create(), own_address().to_string());
    let local = greeter("127.0.0.1");
    let everywhere = greeter("0.0.0.0");
    for (address, port) in [
        ("127.0.0.1", local),
        ("localhost", local),
        ("127.0.0.1", server.port),
        // The gateway stands for this machine in other user-mode networks.
        ("10.0.2.2", local),
        ("10.0.2.2", everywhere),
        ("10.0.2.3", everywhere),
        (&address, everywhere),
        ("169.254.169.254", 80),
    ] {
        assert_eq!(dial(&sandbox, address, port), "closed", "{address}:{port}");
    }
    let name = format!("asl-abstract-{}", std::process::id());
    let _listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    let script = format!("import socket; socket.socket(socket.AF_UNIX).connect(chr(0) + '{name}')");
    let finished = sandbox.run_as("root", &format!("python3 -c \"{script}\" 2>&1 | tail -n 1"));
    assert!(finished.out().contains("refused"), "{finished:?}");
    // Packets of one's own making would go around the routes.
    let raw = "import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)";
    let finished = sandbox.run_as("root", &format!("python3 -c '{raw}' 2>&1 | tail -n 1"));
    assert!(finished.out().contains("not permitted"), "{finished:?}");
    let finished = sandbox.run_as("root", "unshare -Urn true; ip route del 10.0.0.0/8 2>&1 || echo refused");
    assert!(finished.out().contains("refused"), "{finished:?}");
}

#[test]
fn two_sandboxes_listen_on_the_same_port() {
    let server = server(&[]);
    let sandboxes = [server.create(), server.create()];
    let streams = sandboxes.each_ref().map(|sandbox| {
        sandbox.run(&format!("echo {} > index.html", sandbox.id));
        let mut stream = sandbox.start(&shell("exec python3 -m http.server 8080"), &[]);
        stream.pid();
        stream
    });
    for sandbox in &sandboxes {
        let fetch = || server.send(&sandbox.request(8080, "GET", "/"));
        wait_until("the port is open", || fetch().status() == 200);
        assert_eq!(fetch().text().trim(), sandbox.id);
    }
    // What only one has open is closed in the other.
    let third = sandboxes[0].start(&shell("exec python3 -m http.server 8081"), &[]);
    wait_until("the port is open", || server.send(&sandboxes[0].request(8081, "GET", "/")).status() == 200);
    for address in ["127.0.0.1", "10.0.2.100"] {
        assert_eq!(dial(&sandboxes[1], address, 8081), "closed");
    }
    drop((streams, third));
}

#[test]
fn the_internet_is_switched_while_a_sandbox_runs() {
    let address = own_address().to_string();
    let port = greeter("0.0.0.0");
    // As good as any address far away, once the operator has opened it.
    let server = server(&["--reachable", &address]);
    let sandbox = server.create();
    let check = |sandbox, open| {
        if open {
            reaches(sandbox, &address, port);
        } else {
            assert_eq!(dial(sandbox, &address, port), "closed");
        }
    };
    check(&sandbox, true);
    for (settings, open) in [
        (json!({ "allow_internet_access": false }), false),
        (json!({}), true),
        (json!({ "denyOut": ["0.0.0.0/0"] }), false),
        (json!({ "denyOut": ["0.0.0.0/0"], "allowOut": ["1.1.1.1"] }), false),
        (json!({ "denyOut": [format!("{address}/32")] }), false),
        (json!({ "denyOut": [format!("{address}/16")], "allowOut": [address] }), true),
        (json!({ "denyOut": ["0.0.0.0/0"], "allowOut": ["example.test"] }), true),
    ] {
        println!("{settings}");
        update(&sandbox, settings);
        check(&sandbox, open);
    }

    update(&sandbox, json!({ "allow_internet_access": false }));
    let copies = server.api("POST", &format!("/sandboxes/{}/fork", sandbox.id), Some(json!({ "timeout": 60 })));
    let copy = Sandbox::new(&server, copies.json()[0]["sandbox"].clone());
    // A copy is as closed as its origin.
    check(&copy, false);

    let offline = json!({ "templateID": "base", "timeout": 60, "allow_internet_access": false });
    let offline = server.create_with(offline);
    check(&offline, false);
    update(&offline, json!({ "allow_internet_access": true }));
    check(&offline, true);
}

#[test]
fn connections_under_way_end_with_the_access_and_with_a_pause() {
    let address = own_address().to_string();
    let server = server(&["--reachable", &address]);
    let sandbox = server.create();
    let listener = TcpListener::bind("0.0.0.0:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let target = format!("/sandboxes/{}", sandbox.id);
    reaches(&sandbox, &address, greeter("0.0.0.0"));
    for how in ["network", "pause"] {
        let script =
            format!("exec 3<>/dev/tcp/{address}/{port}; echo up >&3; while read line <&3; do :; done; sleep 60");
        let mut stream = sandbox.start(&shell(&script), &[]);
        stream.pid();
        let (mut peer, _) = listener.accept().unwrap();
        let mut said = [0; 3];
        peer.read_exact(&mut said).unwrap();
        if how == "network" {
            update(&sandbox, json!({ "allow_internet_access": false }));
        } else {
            let paused = server.api("POST", &format!("{target}/pause"), Some(json!({})));
            assert_eq!(paused.status(), 204);
        }
        peer.set_read_timeout(Some(support::http::PATIENCE)).unwrap();
        assert!(matches!(peer.read(&mut said), Ok(0) | Err(_)), "the connection lives on after {how}");
        if how == "network" {
            update(&sandbox, json!({}));
        } else {
            assert_eq!(server.api("POST", &format!("{target}/connect"), Some(json!({ "timeout": 60 }))).status(), 201);
        }
        reaches(&sandbox, &address, greeter("0.0.0.0"));
    }
}

#[test]
fn a_helper_that_dies_is_replaced() {
    let address = own_address().to_string();
    let port = greeter("0.0.0.0");
    let server = server(&["--reachable", &address]);
    let sandbox = server.create();
    reaches(&sandbox, &address, port);
    let killed =
        Command::new("pkill").args(["-KILL", "-P", &server.pid().to_string(), "slirp4netns"]).status().unwrap();
    assert!(killed.success());
    reaches(&sandbox, &address, port);
}
