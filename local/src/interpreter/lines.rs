//! The lines of an answer: JSON in ASCII, one object each. Pure, but for the time in them.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::value::RawValue;
use time::OffsetDateTime;
use time::macros::format_description;

/// Longer texts are spread over several lines, so that nobody has to hold more than this at a time.
const LONGEST_TEXT: usize = 64 * 1024;

/// MIME types with a field of their own, in the order of the answer.
const FIELDS: [(&str, &str); 12] = [
    ("text/plain", "text"),
    ("text/html", "html"),
    ("text/markdown", "markdown"),
    ("image/svg+xml", "svg"),
    ("image/png", "png"),
    ("image/jpeg", "jpeg"),
    ("application/pdf", "pdf"),
    ("text/latex", "latex"),
    ("application/json", "json"),
    ("application/javascript", "javascript"),
    ("e2b/data", "data"),
    ("e2b/chart", "chart"),
];

/// Representations of a value by MIME type, as the kernel spelled them.
pub(super) type Bundle = BTreeMap<String, Box<RawValue>>;

pub(super) fn executions(count: i64) -> String {
    format!("{{\"type\": \"number_of_executions\", \"execution_count\": {count}}}\n")
}

pub(super) fn keepalive() -> String {
    "{\"type\": \"keepalive\"}\n".into()
}

pub(super) fn end() -> String {
    "{\"type\": \"end_of_execution\"}\n".into()
}

/// What a program printed; `stream` is `stdout` or `stderr`.
pub(super) fn output<'a>(stream: &'a str, text: &'a str) -> impl Iterator<Item = String> + 'a {
    let time = timestamp();
    pieces(text).map(move |piece| {
        format!("{{\"type\": \"{stream}\", \"text\": {}, \"timestamp\": \"{time}\"}}\n", string(piece))
    })
}

pub(super) fn error(name: &str, value: &str, traceback: &str) -> String {
    format!(
        "{{\"type\": \"error\", \"name\": {}, \"value\": {}, \"traceback\": {}}}\n",
        string(name),
        string(value),
        string(traceback)
    )
}

pub(super) fn result(mut bundle: Bundle, main: bool) -> String {
    let mut line = String::from("{\"type\": \"result\"");
    for (mime, field) in FIELDS {
        let Some(value) = bundle.remove(mime) else { continue };
        if value.get() == "null" {
            continue;
        }
        let _ = write!(line, ", \"{field}\": ");
        match serde_json::from_str::<String>(value.get()) {
            Ok(text) if field == "text" => line.push_str(&string(unquoted(&text))),
            _ => ascii(value.get(), &mut line),
        }
    }
    line.push_str(", \"extra\": {");
    for (index, (mime, value)) in bundle.iter().enumerate() {
        let comma = if index == 0 { "" } else { ", " };
        let _ = write!(line, "{comma}{}: ", string(mime));
        ascii(value.get(), &mut line);
    }
    let _ = writeln!(line, "}}, \"is_main_result\": {main}}}");
    line
}

/// Now, in ISO 8601 with microseconds.
pub(super) fn timestamp() -> String {
    let format = format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:6]+00:00");
    OffsetDateTime::now_utc().format(&format).unwrap_or_default()
}

fn pieces(mut text: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        if text.is_empty() {
            return None;
        }
        let mut end = text.len().min(LONGEST_TEXT);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let (piece, rest) = text.split_at(end);
        text = rest;
        Some(piece)
    })
}

/// Without one pair of surrounding quotes.
fn unquoted(text: &str) -> &str {
    let inner = |quote: char| text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    inner('\'').or_else(|| inner('"')).unwrap_or(text)
}

/// `text` as JSON.
fn string(text: &str) -> String {
    let json = serde_json::Value::from(text).to_string();
    let mut line = String::with_capacity(json.len());
    ascii(&json, &mut line);
    line
}

/// Appends JSON text. What is not ASCII can only be inside of a string, where it has an escaped form. Line breaks between
/// values would end the line.
fn ascii(json: &str, line: &mut String) {
    let mut units = [0; 2];
    for character in json.chars() {
        match character {
            '\n' | '\r' => line.push(' '),
            character if character.is_ascii() => line.push(character),
            character => {
                for unit in character.encode_utf16(&mut units) {
                    let _ = write!(line, "\\u{unit:04x}");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bundle(items: &[(&str, &str)]) -> Bundle {
        items.iter().map(|(mime, json)| ((*mime).into(), RawValue::from_string((*json).into()).unwrap())).collect()
    }

    #[test]
    fn results_have_a_field_per_representation() {
        let line = result(
            bundle(&[
                ("application/vnd.x+json", "{\"a\": [1, null]}"),
                ("text/plain", "\"'ß😀'\""),
                ("application/json", "{\"b\": 1, \"a\": null}"),
                ("text/html", "null"),
            ]),
            true,
        );
        let expected = "{\"type\": \"result\", \"text\": \"\\u00df\\ud83d\\ude00\", \"json\": {\"b\": 1, \"a\": null}, \
            \"extra\": {\"application/vnd.x+json\": {\"a\": [1, null]}}, \"is_main_result\": true}\n";
        assert_eq!(line, expected);
        assert_eq!(result(Bundle::new(), false), "{\"type\": \"result\", \"extra\": {}, \"is_main_result\": false}\n");
    }

    #[test]
    fn one_pair_of_quotes_is_removed() {
        for (text, expected) in
            [("'a'", "a"), ("\"a\"", "a"), ("'a\"", "'a\""), ("'", "'"), ("''", ""), ("", ""), ("''a''", "'a'")]
        {
            assert_eq!(unquoted(text), expected);
        }
    }

    #[test]
    fn long_output_is_cut_between_characters() {
        let text = "a".repeat(LONGEST_TEXT - 1) + "日本語";
        let lines: Vec<_> = output("stdout", &text).collect();
        assert_eq!(lines.len(), 2);
        let texts = lines.iter().map(|line| {
            assert!(line.is_ascii() && line.find('\n') == Some(line.len() - 1));
            serde_json::from_str::<serde_json::Value>(line).unwrap()["text"].as_str().unwrap().to_owned()
        });
        assert_eq!(texts.collect::<String>(), text);
        assert_eq!(output("stdout", "").count(), 0);
    }

    #[test]
    fn what_splits_lines_elsewhere_is_escaped() {
        let line = error("E", "a\u{2028}b\u{85}\u{b}\n\u{0}\"\\", "");
        assert_eq!(
            line,
            "{\"type\": \"error\", \"name\": \"E\", \"value\": \"a\\u2028b\\u0085\\u000b\\n\\u0000\\\"\\\\\", \"traceback\": \"\"}\n"
        );
    }
}
