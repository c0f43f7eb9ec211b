//! A value or display in all of its formats.

use serde_json::{Map, Value};

use super::chart::Chart;

/// A result as typed values. What the server leaves out, or sends as null or of another type, is absent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RichResult {
    pub text: Option<String>,
    pub html: Option<String>,
    pub markdown: Option<String>,
    pub svg: Option<String>,
    /// Base64, possibly with a line feed at the end.
    pub png: Option<String>,
    /// Base64, as `png`.
    pub jpeg: Option<String>,
    /// Base64, as `png`.
    pub pdf: Option<String>,
    pub latex: Option<String>,
    pub json: Option<Value>,
    pub javascript: Option<String>,
    /// A table: column name → values.
    pub data: Option<Map<String, Value>>,
    /// What a plot shows; absent when it is malformed, too.
    pub chart: Option<Chart>,
    /// Formats without a field of their own, by MIME type.
    pub extra: Map<String, Value>,
    /// Whether it is the value of the last expression, and not something displayed on the way.
    pub is_main_result: bool,
}

impl RichResult {
    /// Reads the object of a line.
    pub fn from_json(line: Value) -> RichResult {
        let Value::Object(mut line) = line else { return RichResult::default() };
        let mut text = |name| match line.remove(name) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        };
        let (html, markdown, svg) = (text("html"), text("markdown"), text("svg"));
        let (png, jpeg, pdf) = (text("png"), text("jpeg"), text("pdf"));
        let (latex, javascript, plain) = (text("latex"), text("javascript"), text("text"));
        let mut object = |name| match line.remove(name) {
            Some(Value::Object(members)) => members,
            _ => Map::new(),
        };
        let (data, extra) = (object("data"), object("extra"));
        RichResult {
            text: plain,
            html,
            markdown,
            svg,
            png,
            jpeg,
            pdf,
            latex,
            json: line.remove("json").filter(|json| !json.is_null()),
            javascript,
            data: (!data.is_empty()).then_some(data),
            chart: line.get("chart").and_then(Chart::from_json),
            extra,
            is_main_result: line.get("is_main_result") == Some(&Value::Bool(true)),
        }
    }

    /// The names of the formats that are there and not empty, the usual ones first.
    pub fn formats(&self) -> Vec<&str> {
        let is_text = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
        let usual = [
            ("text", is_text(&self.text)),
            ("html", is_text(&self.html)),
            ("markdown", is_text(&self.markdown)),
            ("svg", is_text(&self.svg)),
            ("png", is_text(&self.png)),
            ("jpeg", is_text(&self.jpeg)),
            ("pdf", is_text(&self.pdf)),
            ("latex", is_text(&self.latex)),
            ("json", self.json.is_some()),
            ("javascript", is_text(&self.javascript)),
            ("data", self.data.is_some()),
            ("chart", self.chart.is_some()),
        ];
        let usual = usual.into_iter().filter(|(_, is_there)| *is_there).map(|(name, _)| name);
        usual.chain(self.extra.keys().map(String::as_str)).collect()
    }
}
