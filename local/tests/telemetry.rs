//! What the API tells about a sandbox afterwards: logs, metrics, network settings.

mod support;

use serde_json::{Value, json};
use support::sandbox::shell;
use support::server::{Server, wait_until};

#[test]
fn logs_say_what_ran() {
    let server = Server::start();
    let sandbox = server.create();
    assert_eq!(sandbox.run("exit 3 # secret-word").exit_code(), 3);
    let get = |target: String| server.api("GET", &target, None);
    let v2 = |query: &str| {
        let answer = get(format!("/v2/sandboxes/{}/logs{query}", sandbox.id));
        assert_eq!(answer.status(), 200, "{query}: {}", answer.text());
        answer.json()["logs"].as_array().unwrap().clone()
    };
    let ended = "?search=process%20ended";
    wait_until("the end is logged", || v2(ended).len() == 1);
    assert_eq!(v2(ended)[0]["fields"]["status"], "exit status: 3");
    let started = v2("?search=process%20started").remove(0);
    assert_eq!(started["fields"]["user"], "user");
    assert!(started["fields"]["cmd"].as_str().unwrap().contains("exit 3"), "{started}");
    assert!(!server.log().contains("secret-word"), "command lines are their owner's");
    let times = |entries: &[Value]| -> Vec<String> {
        entries.iter().map(|entry| entry["timestamp"].as_str().unwrap().to_owned()).collect()
    };
    let (newest_first, mut oldest_first) = (v2(""), v2("?direction=forward"));
    oldest_first.reverse();
    assert_eq!(times(&newest_first), times(&oldest_first));
    assert_eq!(v2("?limit=1").len(), 1);
    assert_eq!(v2("?direction=forward&cursor=99999999999999").len(), 0);
    assert!(v2("?level=warn").iter().all(|entry| entry["level"] != "info"));
    let v1 = get(format!("/sandboxes/{}/logs?limit=1", sandbox.id)).json();
    assert!(v1["logs"][0]["line"].as_str().unwrap().contains("sandbox started"), "{v1}");
    assert_eq!(v1["logEntries"].as_array().unwrap().len(), 1);
    for query in
        ["limit=1001", "limit=x", "direction=up", "level=loud", "cursor=-1", &format!("search={}", "x".repeat(257))]
    {
        assert_eq!(get(format!("/v2/sandboxes/{}/logs?{query}", sandbox.id)).status(), 400, "{query}");
    }
    assert_eq!(get("/v2/sandboxes/inothere/logs".into()).status(), 404);
}

#[test]
fn metrics_follow_what_a_sandbox_uses() {
    let server = Server::start();
    let (sandbox, idle) = (server.create(), server.create());
    sandbox.start(&shell("head -c 20M /dev/zero > /tmp/file; while :; do :; done"), &[]).pid();
    let target = format!("/sandboxes/{}/metrics", sandbox.id);
    let samples = |query: &str| server.api("GET", &format!("{target}{query}"), None).json().as_array().unwrap().clone();
    let whole = |sample: &Value| sample["diskUsed"].as_u64() >= Some(20 << 20);
    wait_until("the file and the loop are seen", || {
        samples("").last().is_some_and(|sample| whole(sample) && sample["cpuUsedPct"].as_f64() > Some(0.0))
    });
    let sample = samples("").pop().unwrap();
    for field in ["timestampUnix", "cpuCount", "memUsed", "memTotal", "memCache", "diskUsed", "diskTotal"] {
        assert!(sample[field].as_u64() > Some(0), "{field}: {sample}");
    }
    assert!(whole(&sample), "{sample}");
    assert!(sample["timestamp"].as_str().unwrap().ends_with('Z'));
    let time = sample["timestampUnix"].as_u64().unwrap();
    assert!(samples(&format!("?end={}", time - 1)).iter().all(|sample| sample["timestampUnix"].as_u64() < Some(time)));
    let wrong = server.api("GET", &format!("{target}?start=2&end=1"), None);
    assert_eq!((wrong.status(), &wrong.json()["message"]), (400, &json!("Invalid time range for metrics")));
    assert_eq!(server.api("GET", &format!("{target}?start=yesterday"), None).status(), 400);

    let many = format!("/sandboxes/metrics?sandbox_ids={},{},inothere", sandbox.id, idle.id);
    let latest = || server.api("GET", &many, None).json()["sandboxes"].as_object().unwrap().clone();
    wait_until("both are measured", || latest().len() == 2);
    let found = latest();
    assert!(found.contains_key(&sandbox.id) && found.contains_key(&idle.id), "{found:?}");
    assert_eq!(server.api("GET", "/sandboxes/metrics", None).status(), 400);
}

#[test]
fn network_settings_are_checked_and_kept() {
    let server = Server::start();
    let network = json!({ "maskRequestHost": "h.test", "egressProxy": { "address": "p:1", "password": "hidden" } });
    let sandbox = server.create_with(json!({ "templateID": "base", "timeout": 300, "network": network }));
    let shown = || server.api("GET", &format!("/sandboxes/{}", sandbox.id), None).json();
    assert_eq!(shown()["network"]["egressProxy"], json!({ "address": "p:1" }));
    let put = |id: &str, body: Value| server.api("PUT", &format!("/sandboxes/{id}/network"), Some(body));
    let change = json!({ "denyOut": ["0.0.0.0/0"], "allowOut": ["1.1.1.1"], "allow_internet_access": false });
    assert_eq!(put(&sandbox.id, change).status(), 204);
    let expected = json!({ "maskRequestHost": "h.test", "denyOut": ["0.0.0.0/0"], "allowOut": ["1.1.1.1"] });
    assert_eq!((&shown()["network"], &shown()["allowInternetAccess"]), (&expected, &json!(false)));
    assert_eq!(put(&sandbox.id, json!({})).status(), 204);
    assert_eq!(shown()["network"], json!({ "maskRequestHost": "h.test" }), "what is left out is cleared");
    for (body, text) in [
        (json!({ "denyOut": ["x.test"] }), "invalid denied CIDR x.test"),
        (json!({ "allowOut": ["x.test"] }), "When specifying allowed domains in allow out"),
        (json!({ "denyOut": "x" }), "validation error"),
    ] {
        let answer = put(&sandbox.id, body.clone());
        assert_eq!(answer.status(), 400, "{body}");
        assert!(answer.json()["message"].as_str().unwrap().starts_with(text), "{}", answer.text());
        let create = json!({ "templateID": "base", "network": body });
        assert_eq!(server.api("POST", "/sandboxes", Some(create)).status(), 400);
    }
    assert_eq!(put("inothere", json!({})).status(), 404);
    assert_eq!(server.api("POST", &format!("/sandboxes/{}/pause", sandbox.id), None).status(), 204);
    assert_eq!(put(&sandbox.id, json!({})).status(), 404);

    let denied = json!({ "templateID": "base", "network": { "denyOut": ["0.0.0.0/0"] } });
    let offline = server.create_with(denied);
    let script =
        "(exec 3<>/dev/tcp/192.0.2.77/80) 2>&1 | grep -qE 'No route to host|Network is unreachable' && echo closed";
    assert_eq!(offline.run(script).out(), "closed\n");
}

#[test]
fn a_time_limit_of_zero_ends_the_call_and_not_the_process() {
    let server = Server::start();
    let sandbox = server.create();
    let finished = sandbox.start(&shell("sleep 0.2; echo ran > /tmp/ran"), &[("Connect-Timeout-Ms", "0")]).finish();
    assert_eq!(finished.error["code"], "deadline_exceeded", "{finished:?}");
    wait_until("the process has run to its end", || sandbox.read_file("/tmp/ran").body == b"ran\n");
}
