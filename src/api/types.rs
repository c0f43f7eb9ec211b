//! The data that methods answer with. Each type is one TypeScript interface, made by `tsify` from what stands here.

use js_sys::{Date, JsString};
use serde::{Serialize, Serializer};
use tsify::Tsify;
use wasm_bindgen::prelude::*;

use crate::protocol::message::StringMap;
use crate::protocol::timestamp::Timestamp;

// The values are in `js/classes.js`.
#[wasm_bindgen(typescript_custom_section)]
const FILE_TYPE: &str = r#"
/** What a path leads to. */
export const FileType: {
    readonly FILE: "file";
    readonly DIR: "dir";
    readonly SYMLINK: "symlink";
};
export type FileType = (typeof FileType)[keyof typeof FileType];
"#;

/// What a finished command left.
#[derive(Tsify, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandResult {
    /// The exit code; -1 when a signal ended the command.
    pub exit_code: i32,
    /// Standard output, decoded as UTF-8; invalid bytes become U+FFFD.
    #[serde(with = "serde_wasm_bindgen::preserve")]
    #[tsify(type = "string")]
    pub stdout: JsString,
    /// Standard error, decoded as UTF-8; invalid bytes become U+FFFD.
    #[serde(with = "serde_wasm_bindgen::preserve")]
    #[tsify(type = "string")]
    pub stderr: JsString,
    /// How the sandbox describes an end other than exit code 0, such as `exit status 3` or `signal: killed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[tsify(optional)]
    pub error: Option<String>,
    /// The signal that ended the command, such as `SIGKILL`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[tsify(optional)]
    pub signal: Option<String>,
    /// True when `maxOutput` was reached: `stdout` and `stderr` hold only the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[tsify(optional)]
    pub truncated: Option<bool>,
    /// How often the connection was lost and output may be missing (`reconnectMs`); absent when nothing is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[tsify(optional)]
    pub gaps: Option<u32>,
}

/// String pairs that become a plain object.
pub struct StringRecord(pub(crate) StringMap);

impl Serialize for StringRecord {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

/// A running process of the sandbox.
#[derive(Tsify, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessInfo {
    pub pid: u32,
    /// The tag it was started with.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[tsify(optional)]
    pub tag: Option<String>,
    /// The program, as it was asked for.
    pub cmd: String,
    pub args: Vec<String>,
    /// The variables given when it was started; not the whole environment.
    #[tsify(type = "Record<string, string>")]
    pub envs: StringRecord,
    /// The working directory it was started in, when one was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[tsify(optional)]
    pub cwd: Option<String>,
}

/// A file or directory of the sandbox.
#[derive(Tsify, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EntryInfo {
    /// The last part of the path.
    pub name: String,
    /// What it is; absent for sockets, devices, broken links and whatever a newer sandbox may report.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    #[tsify(optional, type = "FileType")]
    pub kind: Option<&'static str>,
    /// The absolute path.
    pub path: String,
    /// Bytes.
    pub size: f64,
    /// The permission bits, such as `0o644`.
    pub mode: u32,
    /// The permissions as text, such as `-rw-r--r--`.
    pub permissions: String,
    /// The name of the owner, or its number when it has no name.
    pub owner: String,
    /// The name of the group, or its number when it has no name.
    pub group: String,
    /// When the contents last changed; absent when the file system does not know.
    #[serde(with = "serde_wasm_bindgen::preserve")]
    #[tsify(optional, type = "Date")]
    pub modified_time: JsValue,
    /// Where a symbolic link finally leads.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[tsify(optional)]
    pub symlink_target: Option<String>,
    /// What was stored beside the file when it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[tsify(optional, type = "Record<string, string>")]
    pub metadata: Option<StringRecord>,
}

/// What a write answers.
#[derive(Tsify, Serialize)]
pub struct WriteInfo {
    /// The last part of the path.
    pub name: String,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    #[tsify(optional, type = "FileType")]
    pub kind: Option<&'static str>,
    /// The absolute path that was written.
    pub path: String,
    /// What was stored beside the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[tsify(optional, type = "Record<string, string>")]
    pub metadata: Option<StringRecord>,
}

/// A `Date`, invalid when the server did not say.
pub(crate) fn date(time: Option<Timestamp>) -> Date {
    Date::new(&time.map_or(f64::NAN, Timestamp::as_millis).into())
}

/// `value` as a plain JavaScript object. Cannot fail for the types of this file: they hold only strings, numbers,
/// booleans, maps with string keys and values that are passed through.
pub(crate) fn to_js(value: &impl Serialize) -> JsValue {
    let serializer = serde_wasm_bindgen::Serializer::new().serialize_maps_as_objects(true);
    value.serialize(&serializer).unwrap_throw()
}
