//! Request bodies: what they must be, and what is said about those that are not. Pure.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// The body of `POST /execute`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Execute {
    pub(super) code: String,
    pub(super) context_id: Option<String>,
    pub(super) language: Option<String>,
    pub(super) variables: BTreeMap<String, String>,
}

/// The body of `POST /contexts`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CreateContext {
    pub(super) language: Option<String>,
    pub(super) cwd: Option<String>,
}

/// The value of `detail` in a 422.
#[derive(Debug, PartialEq)]
pub(super) struct Invalid(pub(super) Value);

impl Execute {
    pub(super) fn parse(content_type: Option<&str>, body: &[u8]) -> Result<Self, Invalid> {
        let mut fields = Fields::of(content_type, body)?;
        let code = fields.required("code");
        let context_id = fields.optional("context_id");
        let language = fields.optional("language");
        let variables = fields.map("env_vars");
        fields.check()?;
        Ok(Execute { code: code.unwrap_or_default(), context_id, language, variables })
    }
}

impl CreateContext {
    pub(super) fn parse(content_type: Option<&str>, body: &[u8]) -> Result<Self, Invalid> {
        let mut fields = Fields::of(content_type, body)?;
        let language = fields.optional("language");
        let cwd = fields.optional("cwd");
        fields.check()?;
        Ok(CreateContext { language, cwd })
    }
}

/// The fields of a body, and what is wrong with them.
struct Fields {
    body: Map<String, Value>,
    wrong: Vec<Value>,
}

impl Fields {
    fn of(content_type: Option<&str>, body: &[u8]) -> Result<Self, Invalid> {
        if body.is_empty() {
            let detail = json!({ "type": "missing", "loc": ["body"], "msg": "Field required", "input": null });
            return Err(Invalid(json!([detail])));
        }
        let value = if content_type.is_none_or(is_json) {
            serde_json::from_slice(body).map_err(|error| broken(body, &error))?
        } else {
            Value::from(String::from_utf8_lossy(body))
        };
        match value {
            Value::Object(body) => Ok(Fields { body, wrong: Vec::new() }),
            input => Err(Invalid(json!([{
                "type": "model_attributes_type",
                "loc": ["body"],
                "msg": "Input should be a valid dictionary or object to extract fields from",
                "input": input,
            }]))),
        }
    }

    fn complain(&mut self, kind: &str, location: &[&str], message: &str, input: Value) {
        let location: Vec<_> = std::iter::once("body").chain(location.iter().copied()).collect();
        self.wrong.push(json!({ "type": kind, "loc": location, "msg": message, "input": input }));
    }

    fn text(&mut self, location: &[&str], value: Value) -> Option<String> {
        match value {
            Value::String(text) => Some(text),
            other => {
                self.complain("string_type", location, "Input should be a valid string", other);
                None
            }
        }
    }

    fn required(&mut self, name: &str) -> Option<String> {
        match self.body.get(name).cloned() {
            Some(value) => self.text(&[name], value),
            None => {
                self.complain("missing", &[name], "Field required", self.body.clone().into());
                None
            }
        }
    }

    /// Null and the empty string count as absent.
    fn optional(&mut self, name: &str) -> Option<String> {
        let value = self.body.get(name).filter(|value| !value.is_null()).cloned()?;
        self.text(&[name], value).filter(|text| !text.is_empty())
    }

    fn map(&mut self, name: &str) -> BTreeMap<String, String> {
        let mut map = BTreeMap::new();
        match self.body.get(name).cloned() {
            None | Some(Value::Null) => {}
            Some(Value::Object(entries)) => {
                for (key, value) in entries {
                    if let Some(text) = self.text(&[name, &key], value) {
                        map.insert(key, text);
                    }
                }
            }
            Some(other) => self.complain("dict_type", &[name], "Input should be a valid dictionary", other),
        }
        map
    }

    fn check(self) -> Result<(), Invalid> {
        if self.wrong.is_empty() { Ok(()) } else { Err(Invalid(self.wrong.into())) }
    }
}

fn is_json(content_type: &str) -> bool {
    let kind = content_type.split(';').next().unwrap_or("").trim().to_ascii_lowercase();
    kind == "application/json" || kind.starts_with("application/") && kind.ends_with("+json")
}

/// Where and how JSON is broken. The position counts characters from the start.
fn broken(body: &[u8], error: &serde_json::Error) -> Invalid {
    let before: usize =
        body.split_inclusive(|byte| *byte == b'\n').take(error.line().saturating_sub(1)).map(<[u8]>::len).sum();
    let position = String::from_utf8_lossy(&body[..(before + error.column()).min(body.len())]).chars().count();
    let open_object = body.iter().rev().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
    let reason = if error.is_eof() && open_object {
        "Expecting property name enclosed in double quotes".to_owned()
    } else {
        error.to_string()
    };
    Invalid(json!([{
        "type": "json_invalid",
        "loc": ["body", position],
        "msg": "JSON decode error",
        "input": {},
        "ctx": { "error": reason },
    }]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_read_strictly() {
        let json = Some("application/json; charset=utf-8");
        let parsed = Execute::parse(json, br#"{"code":"","context_id":"","language":null,"x":1}"#).unwrap();
        assert_eq!(
            parsed,
            Execute { code: String::new(), context_id: None, language: None, variables: BTreeMap::new() }
        );
        assert!(Execute::parse(None, br#"{"code":"1","env_vars":{"A":"1"}}"#).is_ok());
        assert!(CreateContext::parse(json, b"{}").is_ok());
        for (body, kind, location) in [
            ("", "missing", json!(["body"])),
            ("{}", "missing", json!(["body", "code"])),
            ("{", "json_invalid", json!(["body", 1])),
            ("[]", "model_attributes_type", json!(["body"])),
            (r#"{"code":1}"#, "string_type", json!(["body", "code"])),
            (r#"{"code":null}"#, "string_type", json!(["body", "code"])),
            (r#"{"code":"","env_vars":{"A":1}}"#, "string_type", json!(["body", "env_vars", "A"])),
            (r#"{"code":"","env_vars":[]}"#, "dict_type", json!(["body", "env_vars"])),
            (r#"{"code":"","language":3}"#, "string_type", json!(["body", "language"])),
            ("\u{0}", "json_invalid", json!(["body", 1])),
        ] {
            let Invalid(detail) = Execute::parse(json, body.as_bytes()).unwrap_err();
            assert_eq!((&detail[0]["type"], &detail[0]["loc"]), (&Value::from(kind), &location), "{body:?}");
        }
        let Invalid(detail) = Execute::parse(Some("text/plain"), br#"{"code":"1"}"#).unwrap_err();
        assert_eq!(detail[0]["input"], "{\"code\":\"1\"}");
        // As deep as anybody likes: an error, not the end of the process.
        assert!(Execute::parse(json, "[".repeat(100_000).as_bytes()).is_err());
    }
}
