//! The interpreter's answers and the requests for them: cut off, malformed, huge, hostile, lenient.

use agent_sandbox_web::error::{Error, Kind};
use agent_sandbox_web::protocol::http::{Head, Headers};
use agent_sandbox_web::protocol::interpreter::{
    self as wire, Answer, Chart, Event, ExecutionError, Lines, Plot, RichResult,
};
use agent_sandbox_web::protocol::rpc::Endpoint;
use agent_sandbox_web::protocol::secret::Secret;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::properties::cut;
use crate::replay::check_wording;

pub(crate) const BASE: &str = "http://interpreter.test";

pub(crate) fn endpoint() -> Endpoint {
    Endpoint {
        base_url: BASE.into(),
        access_token: Some(Secret::new("tok")),
        traffic_token: Some(Secret::new("traf")),
        routing: None,
        default_user: None,
    }
}

/// What a run came to.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Run {
    pub(crate) stdout: Vec<String>,
    pub(crate) stderr: Vec<String>,
    pub(crate) results: Vec<RichResult>,
    pub(crate) error: Option<ExecutionError>,
    pub(crate) count: Option<u64>,
    pub(crate) keepalives: usize,
    pub(crate) unknown: usize,
}

/// Reads an answer the way the API does; what arrived before a failure comes with it.
pub(crate) fn read(head: &Head, chunks: &[Vec<u8>]) -> (Run, Result<(), Error>) {
    let mut run = Run::default();
    let result = if head.is_success() {
        read_events(&mut run, Answer::default(), chunks)
    } else {
        Err(wire::failure(head, &chunks.concat()))
    };
    (run, result)
}

fn read_events(run: &mut Run, mut answer: Answer, chunks: &[Vec<u8>]) -> Result<(), Error> {
    for chunk in chunks {
        answer.push(chunk);
        run.take(&mut answer)?;
    }
    answer.close();
    run.take(&mut answer)?;
    answer.finish()
}

impl Run {
    fn take(&mut self, answer: &mut Answer) -> Result<(), Error> {
        while let Some(event) = answer.next()? {
            match event {
                Event::Stdout(output) => self.stdout.push(output.text),
                Event::Stderr(output) => self.stderr.push(output.text),
                Event::Result(line) => self.results.push(line.decode()?),
                Event::Error(error) => self.error = Some(error),
                Event::Count(count) => self.count = Some(count),
                Event::Keepalive => self.keepalives += 1,
                Event::Unknown => self.unknown += 1,
                Event::End | Event::UnexpectedEnd => {}
            }
        }
        Ok(())
    }
}

fn read_text(body: &str) -> (Run, Result<(), Error>) {
    read(&Head { status: 200, headers: Headers::default() }, &[body.as_bytes().to_vec()])
}

#[test]
fn an_answer_cut_anywhere_is_truncated_and_keeps_what_arrived() {
    let lines = [
        json!({ "type": "number_of_executions", "execution_count": 1 }),
        json!({ "type": "stdout", "text": "é🦀\n", "timestamp": "2026-01-02T03:04:05.000006+00:00" }),
        json!({ "type": "result", "text": "2", "is_main_result": true, "extra": {} }),
        json!({ "type": "end_of_execution" }),
    ];
    let whole: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let complete = whole.trim_end().len();
    for cut in 0..complete {
        let (run, result) = read(&Head { status: 200, ..Head::default() }, &[whole.as_bytes()[..cut].to_vec()]);
        let error = result.unwrap_err();
        assert_eq!((error.code, error.kind), ("stream_truncated", Kind::Connection), "cut at {cut}");
        check_wording(&error);
        let lines = whole.as_bytes()[..cut].iter().filter(|&&byte| byte == b'\n').count();
        assert!(run.stdout.len() >= usize::from(lines >= 2) && run.results.len() >= usize::from(lines >= 3));
    }
    for whole in [&whole[..complete], &whole] {
        let (run, result) = read_text(whole);
        result.unwrap();
        assert_eq!((run.stdout, run.count), (vec!["é🦀\n".to_owned()], Some(1)));
    }
}

#[test]
fn what_follows_the_end_is_ignored() {
    let (run, result) =
        read_text("{\"type\":\"end_of_execution\"}\n{\"type\":\"stdout\",\"text\":\"late\"}\nrubbish\n");
    result.unwrap();
    assert_eq!(run, Run::default());
}

#[test]
fn a_lost_kernel_is_a_truncated_answer() {
    let (run, result) = read_text("{\"type\":\"stdout\",\"text\":\"a\"}\n{\"type\":\"unexpected_end_of_execution\"}\n");
    assert_eq!(result.unwrap_err().code, "stream_truncated");
    assert_eq!(run.stdout, ["a"]);
}

#[test]
fn lines_end_with_a_line_feed_alone() {
    let texts = ["a\u{2028}b", "a\u{85}b", "a\u{b}b\u{c}", "a\rb"];
    let mut body = String::from("\n \r\n\t\n");
    for text in texts {
        // The serialiser leaves U+2028 and U+0085 as they are.
        body += &format!("{}\r\n\r\n", json!({ "type": "stdout", "text": text }));
    }
    body += "{\"type\":\"end_of_execution\"}";
    let (run, result) = read_text(&body);
    result.unwrap();
    assert_eq!(run.stdout, texts);
}

#[test]
fn lenient_serialisers_are_understood() {
    let (run, result) = read_text(
        "{\"type\":\"result\",\"json\":{\"NaN\":[NaN,Infinity,-Infinity,-1]},\"text\":\"say \\\"NaN\\\" \\\\\",\"extra\":null}\n\
         {\"type\":\"stdout\",\"text\":\"\\ud83e\\udd80 \\ud83e x\\udd80\"}\n\
         {\"type\":\"stderr\",\"text\":null,\"timestamp\":NaN}\n\
         {\"type\":\"error\",\"name\":\"E\",\"value\":7,\"traceback\":[\"a\",\"b\"]}\n\
         {\"type\":\"number_of_executions\",\"execution_count\":null}\n{\"type\":null}\n{}\n\
         {\"type\":\"end_of_execution\"}\n",
    );
    result.unwrap();
    assert_eq!(run.results[0].json, Some(json!({ "NaN": [null, null, null, -1] })));
    assert_eq!(run.results[0].text.as_deref(), Some("say \"NaN\" \\"));
    assert_eq!(run.stdout, ["🦀 \u{fffd} x\u{fffd}"]);
    assert_eq!(run.stderr, [""]);
    let error = ExecutionError { name: "E".into(), value: "7".into(), traceback: "a\nb".into() };
    assert_eq!((run.error, run.count, run.unknown), (Some(error), None, 3));
}

#[test]
fn a_result_line_can_be_repaired() {
    let mut answer = Answer::default();
    answer.push(b"{\"type\":\"result\",\"json\":NaN,\"text\":\"\xff\"}\n");
    let Some(Event::Result(line)) = answer.next().unwrap() else { panic!("no result") };
    let value: Value = serde_json::from_str(&line.repaired()).unwrap();
    assert_eq!(value, json!({ "type": "result", "json": null, "text": "\u{fffd}" }));
}

#[test]
fn the_type_of_a_line_is_found_wherever_it_stands() {
    for line in [
        "{\"type\":\"result\"}",
        " { \"type\" : \"result\" } ",
        "{\"text\":\"type\",\"json\":{\"type\":\"stdout\",\"a\":[\"type\",{}]},\"png\":\"\\\"type\\\":\\\\\",\"type\":\"result\"}",
    ] {
        let event = Event::decode(line.as_bytes()).unwrap();
        let Event::Result(result) = event else { panic!("{line} is {event:?}") };
        result.decode().unwrap();
    }
    for line in
        ["{\"json\":{\"type\":\"result\"}}", "{\"type\":[\"result\"]}", "{\"text\":\"\\\"type\\\":\\\"result\\\"\"}"]
    {
        assert_eq!(Event::decode(line.as_bytes()).unwrap(), Event::Unknown, "{line}");
    }
}

#[test]
fn timestamps_are_nanoseconds_however_they_are_written() {
    for (written, expected) in [
        (json!("1970-01-01T00:00:01.5+00:00"), Some(1.5e9)),
        (json!(1_735_787_045_000_000_000_u64), Some(1.735_787_045e18)),
        (json!("soon"), None),
        (Value::Null, None),
    ] {
        let line = json!({ "type": "stdout", "text": "", "timestamp": written }).to_string();
        let Event::Stdout(output) = Event::decode(line.as_bytes()).unwrap() else { panic!("no output") };
        assert_eq!(output.timestamp_ns, expected, "{written}");
    }
}

#[test]
fn what_is_no_event_is_refused() {
    for line in [
        "<html>",
        "[\"result\"]",
        "5",
        "\"stdout\"",
        "{\"type\":\"stdout\"",
        "{\"type\":\"stdout\"} x",
        "{\"type\":\"result\"",
        "{\"type\":\"later\",}",
        "{\"a\":[}",
        "}\"type\":\"result\"",
    ] {
        let (_, result) = read_text(&format!("{line}\n{{\"type\":\"end_of_execution\"}}\n"));
        let error = result.unwrap_err();
        assert_eq!((error.kind, error.code), (Kind::Protocol, "protocol_error"), "{line}");
        assert!(!error.message.contains("stdout"), "the line is not repeated: {error}");
        check_wording(&error);
    }
    // Deeper than a typed value may nest, and not deeper than the host's own parser goes.
    let deep = format!("{{\"type\":\"result\",\"json\":{}{}}}", "[".repeat(5000), "]".repeat(5000));
    let Event::Result(line) = Event::decode(deep.as_bytes()).unwrap() else { panic!("no result") };
    assert_eq!(line.decode().unwrap_err().code, "protocol_error");
}

#[test]
fn malformed_charts_are_absent() {
    let axes = json!({ "title": null, "x_label": null, "y_label": null, "x_unit": null, "y_unit": null });
    let chart = |kind: &str, elements: Value| {
        let mut chart = axes.clone();
        chart["type"] = kind.into();
        chart["elements"] = elements;
        chart
    };
    for wrong in [
        json!({}),
        json!(null),
        json!([]),
        json!({ "type": "bar" }),
        json!({ "type": "pie", "elements": [] }),
        chart("line", json!([])),
        chart("bar", json!([{ "label": "a", "group": "b" }])),
        chart("pie", json!([{ "label": "a", "angle": 1 }])),
        chart("box_and_whisker", json!([{ "label": "a" }])),
        chart("superchart", json!([{ "type": "bar" }])),
        chart("bar", json!("none")),
    ] {
        assert_eq!(Chart::from_json(&wrong), None, "{wrong}");
    }
    for (kind, known_as) in [("", "unknown"), ("unknown", "unknown"), ("treemap", "treemap")] {
        let chart = Chart::from_json(&chart(kind, json!([{ "any": 1 }]))).unwrap();
        assert_eq!(chart.plot, Plot::Other { kind: known_as.into(), elements: vec![json!({ "any": 1 })] });
    }
}

#[test]
fn lines_of_any_length_are_read_and_limits_are_exact() {
    let mut long = br#"{"type":"result","png":""#.to_vec();
    long.resize(50 << 20, b'A');
    long.extend_from_slice(b"\"}\n");
    for size in [1 << 14, 1 << 16, long.len()] {
        let mut lines = Lines::default();
        let mut found = Vec::new();
        for chunk in long.chunks(size) {
            lines.push(chunk);
            while let Some(line) = lines.next().unwrap() {
                found.push(line.text.len());
            }
        }
        assert_eq!(found, [long.len() - 1]);
        assert_eq!(lines.buffered(), 0);
    }

    let mut lines = Lines::with_max_line(3);
    lines.push(b"abc\nabc");
    assert_eq!(lines.next().unwrap().unwrap().text, b"abc");
    assert_eq!(lines.next().unwrap(), None);
    lines.push(b"d");
    let error = lines.next().unwrap_err();
    assert_eq!(error.code, "message_too_large");
    check_wording(&error);
    lines.push(b"\nok\n");
    assert_eq!((lines.next().unwrap_err(), lines.buffered()), (error, 0));
}

#[test]
fn ids_that_are_paths_are_refused() {
    for id in ["", ".", ".."] {
        for request in [wire::restart_context(&endpoint(), id), wire::remove_context(&endpoint(), id)] {
            assert_eq!(request.unwrap_err().code, "invalid_argument");
        }
    }
    let request = wire::remove_context(&endpoint(), "a/b?c").unwrap();
    assert_eq!(request.url, format!("{BASE}/contexts/a%2Fb%3Fc"));
}

#[test]
fn refusals_of_the_proxy_name_the_next_step() {
    let answer = |status, body: &str| wire::failure(&Head { status, ..Head::default() }, body.as_bytes());
    let closed = answer(
        502,
        r#"{"sandboxId":"sbx","message":"The sandbox is running but port is not open","port":49999,"code":502}"#,
    );
    assert_eq!((closed.code, closed.kind), ("port_closed", Kind::Connection));
    assert!(closed.message.contains("code-interpreter-v1"), "{closed}");
    let gone = answer(502, r#"{"sandboxId":"sbx","message":"The sandbox was not found","code":502}"#);
    assert_eq!((gone.code, gone.kind), ("sandbox_gone", Kind::Timeout));
    assert_eq!(answer(502, "<html>").code, "unavailable");
    let invalid = answer(422, r#"{"detail":[{"loc":["body","code"],"msg":"Field required","input":"a secret"}]}"#);
    assert_eq!(invalid.kind, Kind::InvalidArgument);
    assert!(invalid.message.contains("body.code: Field required") && !invalid.message.contains("secret"), "{invalid}");
    for error in [closed, gone, invalid] {
        check_wording(&error);
    }
}

/// A line, or what is none.
fn line() -> impl Strategy<Value = Vec<u8>> {
    let kind = prop_oneof![Just("stdout"), Just("result"), Just("error"), Just("number_of_executions"), Just("later")];
    prop_oneof![
        4 => (kind, any::<String>(), any::<u32>()).prop_map(|(kind, text, count)| {
            let line = json!({
                "text": text, "type": kind, "name": text, "execution_count": count, "is_main_result": true, "json": [text],
            });
            format!("{line}\n").into_bytes()
        }),
        1 => vec(any::<u8>(), 0..20),
    ]
}

proptest! {
    #[test]
    fn chunks_make_no_difference(lines in vec(line(), 0..8), cuts in vec(any::<usize>(), 0..20)) {
        let whole = lines.concat();
        let head = Head { status: 200, ..Head::default() };
        let chunks: Vec<Vec<u8>> = cut(&whole, &cuts).into_iter().map(<[u8]>::to_vec).collect();
        prop_assert_eq!(read(&head, &chunks), read(&head, &[whole]));
    }
}
