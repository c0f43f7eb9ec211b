//! The REST API: who may use it, what it answers, and how long sandboxes live.

mod support;

use serde_json::{Value, json};
use support::http::Request;
use support::server::{Server, wait_until};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

#[test]
fn wrong_keys_get_the_exact_refusal() {
    let server = Server::start();
    let unknown = format!("e2b_{}", "0".repeat(40));
    for (headers, message) in [
        (vec![], "authorization header is missing"),
        (vec![("X-API-Key", "abc")], "authorization header is malformed"),
        (vec![("X-API-Key", "e2b_zz")], "Invalid API key format"),
        (vec![("X-API-Key", unknown.as_str())], "Cannot get the team for the given API key"),
        (vec![("Authorization", "Bearer nonsense")], "authorization header is malformed"),
    ] {
        for target in ["/sandboxes", "/v2/sandboxes", "/sandboxes/i123"] {
            let mut request = server.request("GET", target).header("Origin", "https://page.test");
            for (name, value) in &headers {
                request = request.header(name, *value);
            }
            let answer = server.send(&request);
            assert_eq!(answer.status(), 401, "{target} {headers:?}");
            assert_eq!(answer.json()["code"], 401);
            assert!(answer.json()["message"].as_str().unwrap().ends_with(message), "{}", answer.text());
            assert_eq!(answer.header("access-control-allow-origin"), Some("*"), "a page must be able to read it");
        }
    }
    let bearer = server.request("GET", "/sandboxes").header("Authorization", format!("Bearer {}", server.api_key));
    assert_eq!(server.send(&bearer).status(), 200);
    assert_eq!(server.send(&server.request("GET", "/health")).text(), "Health check successful");
    assert_eq!(server.send(&server.request("GET", "/nothing")).status(), 404);
}

#[test]
fn preflights_allow_a_fixed_list() {
    let server = Server::start();
    let preflight = server
        .request("OPTIONS", "/sandboxes")
        .header("Origin", "https://page.test")
        .header("Access-Control-Request-Method", "POST")
        .header("Access-Control-Request-Headers", "x-api-key,x-request-id");
    let answer = server.send(&preflight);
    assert_eq!(answer.status(), 204);
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
    assert_eq!(answer.header("access-control-max-age"), Some("43200"));
    assert_eq!(answer.header("access-control-allow-credentials"), None);
    let allowed = answer.header("access-control-allow-headers").unwrap().to_ascii_lowercase();
    assert!(allowed.contains("x-api-key") && !allowed.contains("x-request-id"), "{allowed}");

    let own = server.request("GET", "/health").header("Origin", format!("http://localhost:{}", server.port));
    assert_eq!(server.send(&own).header("access-control-allow-origin"), None);
}

#[test]
fn bad_requests_are_told_what_is_wrong() {
    let server = Server::start();
    for (body, status, message) in [
        (json!({}), 400, "validation error: "),
        (json!({ "templateID": 1 }), 400, "validation error: "),
        (json!({ "templateID": "nope" }), 404, "template 'nope' not found"),
        (json!({ "templateID": "base:v9" }), 404, "tag 'v9' does not exist for template 'base'"),
        (json!({ "templateID": "a b" }), 400, "Invalid template reference: "),
        (json!({ "templateID": "base", "timeout": 0 }), 400, "Timeout must be greater than 0"),
        (json!({ "templateID": "base", "timeout": 999999 }), 400, "Timeout cannot be greater than 24 hours"),
        (
            json!({ "templateID": "base", "network": { "allowPublicTraffic": false } }),
            400,
            "You cannot create a sandbox without public access unless you enable secure envd access via 'secure' flag.",
        ),
        (
            json!({ "templateID": "base", "network": { "maskRequestHost": "a b" } }),
            400,
            "mask request host is not valid: a b",
        ),
    ] {
        let answer = server.api("POST", "/sandboxes", Some(body.clone()));
        assert_eq!(answer.status(), status, "{body}");
        assert!(answer.json()["message"].as_str().unwrap().starts_with(message), "{body}: {}", answer.text());
    }
    let cut = server.request("POST", "/sandboxes").header("X-API-Key", server.api_key.clone()).body("{\"templateID\":");
    assert_eq!(server.send(&cut).status(), 400);
    for target in ["/sandboxes/inothere", "/sandboxes/inothere-6532622b"] {
        let answer = server.api("GET", target, None);
        assert_eq!(answer.status(), 404);
        let message = "Sandbox \"inothere\" doesn't exist or you don't have access to it";
        assert_eq!(answer.json()["message"], message);
    }
    let answer = server.api("GET", "/sandboxes/a-b-c", None);
    assert_eq!((answer.status(), answer.json()["message"].as_str()), (400, Some("Invalid sandbox ID")));
}

#[test]
fn a_sandbox_is_created_shown_and_ended() {
    let server = Server::start();
    let sandbox = server.create_with(json!({
        "templateID": "base", "secure": true, "timeout": 60, "metadata": { "a": "1" }, "envVars": { "GREETING": "hi" },
    }));
    let created = &sandbox.created;
    let id = &sandbox.id;
    assert!(id.len() == 21 && id.starts_with('i'), "{id}");
    assert_eq!(created["envdVersion"], "0.6.13");
    assert_eq!(created["domain"], format!("localhost:{}", server.port));
    assert_eq!(created["envdAccessToken"].as_str().unwrap().len(), 64);
    assert_eq!(sandbox.run("echo $GREETING").out(), "hi\n");

    let shown = server.api("GET", &format!("/sandboxes/{id}-6532622b"), None).json();
    for (field, value) in [
        ("state", json!("running")),
        ("sandboxID", json!(id)),
        ("metadata", json!({ "a": "1" })),
        ("envdAccessToken", created["envdAccessToken"].clone()),
        ("lifecycle", json!({ "autoResume": false, "onTimeout": "kill" })),
    ] {
        assert_eq!(shown[field], value, "{field}");
    }
    assert_eq!(server.api("DELETE", &format!("/sandboxes/{id}"), None).status(), 204);
    assert_eq!(server.api("DELETE", &format!("/sandboxes/{id}"), None).status(), 404);
    assert_eq!(server.api("GET", &format!("/sandboxes/{id}"), None).status(), 404);
    let gone = server.send(&sandbox.envd("GET", "/health"));
    assert_eq!(gone.status(), 502);
    assert_eq!(gone.json(), json!({ "sandboxId": id, "message": "The sandbox was not found", "code": 502 }));
    assert_eq!(gone.header("access-control-allow-origin"), Some("*"));
}

#[test]
fn the_second_version_has_other_defaults_only() {
    let server = Server::start();
    let created = server.api("POST", "/v2/sandboxes", Some(json!({ "templateID": "base" })));
    assert_eq!(created.status(), 201, "{}", created.text());
    let id = created.json()["sandboxID"].as_str().unwrap().to_owned();
    assert!(created.json()["envdAccessToken"].is_string(), "it is secured: {}", created.text());
    let first = server.create_with(json!({ "templateID": "base", "timeout": 300, "secure": true }));
    let names = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&created.json()), names(&first.created));

    let lifetime = || {
        let shown = server.api("GET", &format!("/v2/sandboxes/{id}"), None).json();
        let time = |name: &str| OffsetDateTime::parse(shown[name].as_str().unwrap(), &Rfc3339).unwrap();
        (time("endAt") - time("startedAt")).whole_seconds()
    };
    assert_eq!(lifetime(), 300);
    let connect = format!("/v2/sandboxes/{id}/connect");
    assert_eq!(server.api("POST", &format!("/sandboxes/{id}/connect"), Some(json!({}))).status(), 400);
    assert_eq!(server.api("POST", &connect, Some(json!({ "timeout": -1 }))).status(), 400);
    assert_eq!(server.api("POST", &connect, Some(json!({ "timeout": 600 }))).status(), 200);
    assert!(lifetime() >= 600);
    assert_eq!(server.api("POST", &format!("/sandboxes/{id}/pause"), None).status(), 204);
    let woken = server.api("POST", &connect, None);
    assert_eq!((woken.status(), names(&woken.json())), (201, names(&created.json())));
}

#[test]
fn debug_ports_need_isolation() {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_agent-sandbox-local"))
        .args(["serve", "--port", "0", "--debug-ports", "--isolation", "none"])
        .output()
        .unwrap();
    assert!(!output.status.success());
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("--debug-ports") && message.contains("do not go together"), "{message}");
}

#[test]
fn tokens_are_required_and_never_logged() {
    let server = Server::start();
    let sandbox = server.create_with(json!({ "templateID": "base", "secure": true }));
    let host = format!("49983-{}.localhost:{}", sandbox.id, server.port);
    let bare = |method, target| Request::new(method, target).header("Host", host.clone());
    assert_eq!(server.send(&bare("GET", "/health")).status(), 204);
    let message = "unauthorized access, please provide a valid access token or method signing if supported";
    for (method, target) in [("GET", "/metrics"), ("POST", "/process.Process/List"), ("GET", "/unknown")] {
        for token in [None, Some("wrong")] {
            let mut request = bare(method, target).header("Content-Type", "application/json").body("{}");
            request.headers.extend(token.map(|token| ("X-Access-Token", token.to_owned())));
            let answer = server.send(&request);
            assert_eq!(answer.status(), 401, "{method} {target}");
            assert_eq!(answer.json(), json!({ "code": 401, "message": message }));
        }
    }
    let token = sandbox.created["envdAccessToken"].as_str().unwrap().to_owned();
    let signed = server.send(&bare("GET", "/files?path=/etc/hostname&signature=v1_secretsignature"));
    assert_eq!(signed.json()["message"], "invalid signature");
    assert_eq!(sandbox.run("true").exit_code(), 0);
    let log = server.log();
    assert!(log.contains("/files") && log.contains("401"), "{log}");
    for secret in [token.as_str(), "secretsignature", &server.api_key] {
        assert!(!log.contains(secret), "the log has a secret");
    }
}

#[test]
fn lists_are_filtered_ordered_and_paged() {
    let server = Server::start();
    let ids: Vec<String> = (0..3)
        .map(|number| {
            let metadata = json!({ "n": number.to_string(), "all": "yes & no" });
            server.create_with(json!({ "templateID": "base", "timeout": 300, "metadata": metadata })).id
        })
        .collect();
    let listed = |target: &str| {
        let answer = server.api("GET", target, None);
        assert_eq!(answer.status(), 200, "{target}: {}", answer.text());
        let ids: Vec<String> =
            answer.json().as_array().unwrap().iter().map(|s| s["sandboxID"].as_str().unwrap().to_owned()).collect();
        (ids, answer)
    };
    let newest_first: Vec<_> = ids.iter().rev().cloned().collect();
    assert_eq!(listed("/sandboxes").0, newest_first);
    assert_eq!(listed("/v2/sandboxes?order=asc").0, ids);
    assert_eq!(listed("/v2/sandboxes?metadata=n%3D1%26all%3Dyes%2520%2526%2520no").0, ids[1..2]);
    assert!(listed("/v2/sandboxes?state=paused").0.is_empty());
    assert!(listed("/v2/sandboxes?template=unknown").0.is_empty());
    for (order, expected) in [("desc", &newest_first), ("asc", &ids)] {
        let mut target = format!("/v2/sandboxes?limit=1&order={order}");
        let mut seen = Vec::new();
        loop {
            let (page, answer) = listed(&target);
            assert_eq!(answer.header("x-total-running"), Some("3"));
            seen.extend(page);
            let Some(token) = answer.header("x-next-token") else { break };
            target = format!("/v2/sandboxes?limit=1&order={order}&nextToken={token}");
        }
        assert_eq!(&seen, expected);
    }
    for query in ["limit=0", "limit=101", "limit=x", "nextToken=x", "metadata=a", "state=odd", "startedAfter=x"] {
        assert_eq!(server.api("GET", &format!("/v2/sandboxes?{query}"), None).status(), 400, "{query}");
    }
}

#[test]
fn timeouts_move_and_fire() {
    let server = Server::start();
    let sandbox = server.create_with(json!({ "templateID": "base", "timeout": 100 }));
    let call = |path: &str, body: Value| server.api("POST", &format!("/sandboxes/{}/{path}", sandbox.id), Some(body));
    let end = || {
        let shown = server.api("GET", &format!("/sandboxes/{}", sandbox.id), None).json();
        shown["endAt"].as_str().unwrap().to_owned()
    };
    let first = end();
    assert_eq!(call("timeout", json!({ "timeout": 600 })).status(), 204);
    let longer = end();
    assert!(longer > first);
    assert_eq!(call("refreshes", json!({ "duration": 1 })).status(), 204);
    assert_eq!(end(), longer, "a refresh does not shorten");
    assert_eq!(call("connect", json!({ "timeout": 10 })).status(), 200);
    assert_eq!(end(), longer, "connecting does not shorten");
    assert_eq!(call("connect", json!({ "timeout": 100_000 })).status(), 400);
    assert_eq!(call("resume", json!({})).status(), 409);
    assert_eq!(call("timeout", json!({ "timeout": 20 })).status(), 204);
    assert!(end() < longer);
    for (path, body) in
        [("timeout", json!({})), ("timeout", json!({ "timeout": -1 })), ("refreshes", json!({ "duration": 3601 }))]
    {
        assert_eq!(call(path, body.clone()).status(), 400, "{path} {body}");
    }
    assert_eq!(call("timeout", json!({ "timeout": 0 })).status(), 204);
    wait_until("the sandbox has ended", || {
        server.api("GET", &format!("/sandboxes/{}", sandbox.id), None).status() == 404
    });
}

#[test]
fn there_are_only_so_many_sandboxes() {
    let server = Server::start_with(&["--max-sandboxes", "1"]);
    let sandbox = server.create();
    let refused = server.api("POST", "/sandboxes", Some(json!({ "templateID": "base" })));
    assert_eq!(refused.status(), 429, "{}", refused.text());
    assert_eq!(server.api("DELETE", &format!("/sandboxes/{}", sandbox.id), None).status(), 204);
    server.create();
}

#[test]
fn foreign_hosts_and_bad_routes_are_refused() {
    let server = Server::start();
    for (headers, status, text) in [
        (vec![("Host", "evil.example")], 400, "Invalid host"),
        (vec![("Host", "nodash.localhost")], 400, "Invalid host"),
        (vec![("Host", "x-iabc.localhost")], 400, "Invalid sandbox port"),
        (vec![("Host", "80-a-b-c.localhost")], 400, "Invalid sandbox ID"),
        (vec![("Host", "localhost"), ("E2b-Sandbox-Id", "iabc")], 400, "missing header"),
        (vec![("Host", "localhost"), ("E2b-Sandbox-Port", "80")], 400, "missing header"),
        (
            vec![("Host", "localhost"), ("E2b-Sandbox-Id", "iabc"), ("E2b-Sandbox-Port", "x")],
            400,
            "Invalid sandbox port",
        ),
    ] {
        let mut request = Request::new("GET", "/health");
        for (name, value) in &headers {
            request = request.header(name, *value);
        }
        let answer = server.send(&request);
        assert_eq!((answer.status(), answer.text()), (status, text), "{headers:?}");
    }
}
