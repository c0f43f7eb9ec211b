//! Reads options objects: every value is checked by name here, so that what is below can trust its input.

use js_sys::{Function, Object, Reflect};
use wasm_bindgen::prelude::*;
use web_sys::AbortSignal;

use crate::error::Error;
use crate::transport::host;

/// An options object of the caller. `undefined` and `null` count as absent, for the object and for each option.
pub(crate) struct Options<'a> {
    value: JsValue,
    /// What the options belong to, for error texts: `commands.run`, `Sandbox.create`.
    owner: &'a str,
}

impl<'a> Options<'a> {
    pub(crate) fn new(value: JsValue, owner: &'a str) -> Result<Self, Error> {
        if absent(&value) || (value.is_object() && !js_sys::Array::is_array(&value) && !value.is_function()) {
            return Ok(Options { value, owner });
        }
        Err(Error::invalid_argument(format!("The options of {owner} must be an object, not {}", kind(&value))))
    }

    /// The raw value of an option, None when absent.
    pub(crate) fn get(&self, name: &str) -> Option<JsValue> {
        if absent(&self.value) {
            return None;
        }
        Reflect::get(&self.value, &JsValue::from_str(name)).ok().filter(|value| !absent(value))
    }

    pub(crate) fn string(&self, name: &str) -> Result<Option<String>, Error> {
        let Some(value) = self.get(name) else { return Ok(None) };
        value.as_string().map(Some).ok_or_else(|| self.wrong(name, "a string", &value))
    }

    pub(crate) fn boolean(&self, name: &str) -> Result<Option<bool>, Error> {
        let Some(value) = self.get(name) else { return Ok(None) };
        value.as_bool().map(Some).ok_or_else(|| self.wrong(name, "a boolean", &value))
    }

    /// A whole number from `least` on. Fractions are rounded up: the wire has integers, and 0 means "no limit" there.
    pub(crate) fn whole(&self, name: &str, least: u32) -> Result<Option<u64>, Error> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let wanted = if least == 0 { "a number of 0 or more" } else { "a positive number" };
        match value.as_f64() {
            // Infinity is a usual way to say "no limit".
            Some(number) if number == f64::INFINITY && least == 0 => Ok(Some(0)),
            Some(number) if number.is_finite() && number >= f64::from(least) => Ok(Some(number.ceil() as u64)),
            _ => Err(self.wrong(name, wanted, &value)),
        }
    }

    /// A whole number from 1 to `most`; fractions are refused.
    pub(crate) fn count(&self, name: &str, most: u32) -> Result<Option<u32>, Error> {
        let Some(value) = self.get(name) else { return Ok(None) };
        required_whole(&value, &format!("Option {name}"), self.owner, most).map(Some)
    }

    pub(crate) fn function(&self, name: &str) -> Result<Option<Function>, Error> {
        let Some(value) = self.get(name) else { return Ok(None) };
        value.dyn_into::<Function>().map(Some).map_err(|value| self.wrong(name, "a function", &value))
    }

    /// An object, as it is.
    pub(crate) fn object(&self, name: &str) -> Result<Option<JsValue>, Error> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let fits = value.is_object() && !js_sys::Array::is_array(&value) && !value.is_function();
        if fits { Ok(Some(value)) } else { Err(self.wrong(name, "an object", &value)) }
    }

    /// `signal`, of whatever realm.
    pub(crate) fn signal(&self) -> Result<Option<AbortSignal>, Error> {
        let Some(value) = self.get("signal") else { return Ok(None) };
        if host::is_signal(&value) {
            Ok(Some(value.unchecked_into()))
        } else {
            Err(self.wrong("signal", "an AbortSignal", &value))
        }
    }

    /// An object whose values are all strings.
    pub(crate) fn string_map(&self, name: &str) -> Result<Option<Vec<(String, String)>>, Error> {
        self.get(name).map(|value| self.strings_of(name, value)).transpose()
    }

    /// The same for a value that stands for an option.
    pub(crate) fn strings_of(&self, name: &str, value: JsValue) -> Result<Vec<(String, String)>, Error> {
        if !value.is_object() || js_sys::Array::is_array(&value) {
            return Err(self.wrong(name, "an object with string values", &value));
        }
        // `Headers` and `Map` have no entries of their own, so that nothing of them would be sent.
        if Reflect::has(&value, &"forEach".into()).unwrap_or(false) {
            return Err(self.wrong(name, "an object with string values (Object.fromEntries makes one)", &value));
        }
        let mut map = Vec::new();
        for entry in Object::entries(value.unchecked_ref()).iter() {
            let entry: js_sys::Array = entry.unchecked_into();
            let key = entry.get(0).as_string().unwrap_or_default();
            let value = entry.get(1);
            // An undefined value is how callers leave a variable out conditionally.
            if value.is_undefined() {
                continue;
            }
            let Some(text) = value.as_string() else {
                return Err(self.wrong(&format!("{name}.{key}"), "a string", &value));
            };
            map.push((key, text));
        }
        Ok(map)
    }

    fn wrong(&self, name: &str, wanted: &str, got: &JsValue) -> Error {
        Error::invalid_argument(format!("Option {name} of {} must be {wanted}, not {}", self.owner, kind(got)))
    }
}

/// A required text argument, refused when it is missing, empty or not a string.
pub(crate) fn required_string(value: &JsValue, name: &str, owner: &str) -> Result<String, Error> {
    match value.as_string() {
        Some(text) if !text.is_empty() => Ok(text),
        Some(_) => Err(Error::invalid_argument(format!("{name} of {owner} must not be empty"))),
        None => Err(Error::invalid_argument(format!("{name} of {owner} must be a string, not {}", kind(value)))),
    }
}

/// A function argument that may be left out.
pub(crate) fn optional_function(value: JsValue, name: &str, owner: &str) -> Result<Option<Function>, Error> {
    if absent(&value) {
        return Ok(None);
    }
    value
        .dyn_into::<Function>()
        .map(Some)
        .map_err(|value| Error::invalid_argument(format!("{name} of {owner} must be a function, not {}", kind(&value))))
}

/// A required whole number argument, such as a pid or a port, between 1 and `most`.
pub(crate) fn required_whole(value: &JsValue, name: &str, owner: &str, most: u32) -> Result<u32, Error> {
    match value.as_f64() {
        Some(number) if number.fract() == 0.0 && number >= 1.0 && number <= f64::from(most) => Ok(number as u32),
        _ => Err(Error::invalid_argument(format!(
            "{name} of {owner} must be a whole number from 1 to {most}, not {}",
            kind(value)
        ))),
    }
}

fn absent(value: &JsValue) -> bool {
    value.is_undefined() || value.is_null()
}

/// What a value is, for error texts. Never its contents, which may be secret.
pub(crate) fn kind(value: &JsValue) -> String {
    if value.is_null() {
        return "null".to_owned();
    }
    if js_sys::Array::is_array(value) {
        return "an array".to_owned();
    }
    match value.dyn_ref::<js_sys::Number>() {
        // The host writes the number: Rust's own way is kilobytes of code.
        Some(number) => format!("the number {}", String::from(number.to_js_string())),
        None => value.js_typeof().as_string().unwrap_or_default(),
    }
}

/// Input for a process: text as UTF-8, or bytes.
pub(crate) fn bytes(value: &JsValue, name: &str, owner: &str) -> Result<Vec<u8>, Error> {
    if let Some(text) = value.as_string() {
        return Ok(text.into_bytes());
    }
    match host::data_kind(value).as_deref() {
        Some("view" | "buffer") => Ok(host::bytes_of(value).to_vec()),
        _ => Err(Error::invalid_argument(format!(
            "{name} of {owner} must be a string, Uint8Array or ArrayBuffer, not {}",
            kind(value)
        ))),
    }
}

#[cfg(test)]
mod tests {
    use wasm_bindgen_test::wasm_bindgen_test;

    use super::*;

    fn options(literal: &str) -> Result<Options<'static>, Error> {
        let value = Function::new_no_args(&format!("return ({literal})")).call0(&JsValue::UNDEFINED).unwrap();
        Options::new(value, "a.call")
    }

    #[wasm_bindgen_test]
    fn absent_is_absent_in_every_spelling() {
        for literal in ["undefined", "null", "{}", "{ name: undefined }", "{ name: null }"] {
            let options = options(literal).unwrap();
            assert_eq!(options.string("name"), Ok(None), "{literal}");
            assert_eq!(options.whole("name", 1), Ok(None), "{literal}");
            assert!(options.signal().unwrap().is_none(), "{literal}");
        }
    }

    #[wasm_bindgen_test]
    fn what_is_not_an_object_is_refused() {
        for literal in ["5", "'text'", "[]", "true", "() => {}"] {
            let error = options(literal).err().unwrap();
            assert!(error.message.contains("a.call"), "{literal}: {}", error.message);
        }
    }

    #[wasm_bindgen_test]
    fn numbers_are_rounded_up_and_limits_may_be_infinite() {
        let options = options("{ a: 1.2, b: Infinity, c: 0, d: -1, e: NaN, f: '5' }").unwrap();
        assert_eq!(options.whole("a", 0), Ok(Some(2)));
        assert_eq!(options.whole("b", 0), Ok(Some(0)));
        assert_eq!(options.whole("c", 0), Ok(Some(0)));
        for (name, least) in [("b", 1), ("c", 1), ("d", 0), ("e", 0), ("f", 0)] {
            let error = options.whole(name, least).unwrap_err();
            assert!(error.message.contains(&format!("Option {name} of a.call")), "{}", error.message);
        }
        assert!(options.count("a", 9).is_err(), "counts have no fractions");
    }

    #[wasm_bindgen_test]
    fn maps_name_the_entry_that_is_wrong() {
        let options = options("{ map: { A: '1', B: undefined, C: '' }, bad: { KEY: 5 }, list: ['a'] }").unwrap();
        let map = vec![("A".to_owned(), "1".to_owned()), ("C".to_owned(), String::new())];
        assert_eq!(options.string_map("map"), Ok(Some(map)));
        assert!(options.string_map("bad").unwrap_err().message.contains("bad.KEY"));
        assert!(options.string_map("list").is_err());
    }

    #[wasm_bindgen_test]
    fn a_signal_is_known_by_its_shape() {
        let foreign = "{ signal: { aborted: false, reason: 1, addEventListener() {} } }";
        assert!(options(foreign).unwrap().signal().unwrap().is_some());
        assert!(options("{ signal: {} }").unwrap().signal().is_err());
    }
}
