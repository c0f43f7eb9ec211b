//! What callers say to `sandbox.commands`: its options.

use js_sys::Function;
use tsify::Tsify;
use web_sys::AbortSignal;

use super::call::RequestOpts;
use super::options::Options;
use super::output::Sinks;
use super::recovery::CommandReconnectOpts;
use crate::error::Error;
use crate::protocol::message::StringMap;

/// Who is told about the output of a command, and how much of it is kept.
#[derive(Tsify)]
#[serde(rename_all = "camelCase")]
pub struct CommandOutputOpts {
    /// Called with each piece of standard output, in order. Awaited before the next piece. If it throws, listening ends
    /// and `run` or `wait` rejects with what it threw; a foreground command is killed.
    #[tsify(optional, type = "(data: string) => void | Promise<void>")]
    pub on_stdout: Option<Function>,
    /// The same for standard error.
    #[tsify(optional, type = "(data: string) => void | Promise<void>")]
    pub on_stderr: Option<Function>,
    /// Called with the bytes of standard output as they came, whatever their encoding.
    #[tsify(optional, type = "(data: Uint8Array<ArrayBuffer>) => void | Promise<void>")]
    pub on_stdout_bytes: Option<Function>,
    /// The same for standard error.
    #[tsify(optional, type = "(data: Uint8Array<ArrayBuffer>) => void | Promise<void>")]
    pub on_stderr_bytes: Option<Function>,
    /// How many UTF-16 units of each stream are kept for `stdout` and `stderr`: the latest ones. 0 keeps nothing, so that
    /// memory stays flat however long the output. Default: all.
    #[tsify(optional, type = "number")]
    pub max_output: Option<u32>,
}

impl CommandOutputOpts {
    pub(super) fn read(options: &Options) -> Result<Self, Error> {
        Ok(CommandOutputOpts {
            on_stdout: options.function("onStdout")?,
            on_stderr: options.function("onStderr")?,
            on_stdout_bytes: options.function("onStdoutBytes")?,
            on_stderr_bytes: options.function("onStderrBytes")?,
            max_output: options.whole("maxOutput", 0)?.map(|limit| u32::try_from(limit).unwrap_or(u32::MAX)),
        })
    }

    pub(super) fn into_sinks(self) -> Sinks {
        Sinks {
            stdout: self.on_stdout,
            stderr: self.on_stderr,
            stdout_bytes: self.on_stdout_bytes,
            stderr_bytes: self.on_stderr_bytes,
            pty: None,
            token: None,
            limit: self.max_output,
        }
    }
}

/// Options of `commands.run`.
#[derive(Tsify)]
#[serde(rename_all = "camelCase")]
pub struct CommandStartOpts {
    /// Answer a handle as soon as the command has started, instead of waiting for its end. Default false.
    #[tsify(optional, type = "boolean")]
    pub background: Option<bool>,
    /// Working directory. Relative paths are below the user's home directory, which is also the default.
    #[tsify(optional, type = "string")]
    pub cwd: Option<String>,
    /// The user to run as. Default: the sandbox's default user.
    #[tsify(optional, type = "string")]
    pub user: Option<String>,
    /// Environment variables, added to those of the sandbox.
    #[tsify(optional, type = "Record<string, string>")]
    pub envs: Option<StringMap>,
    /// A name to find the process by: `commands.connect({ tag })`. Tags need not be unique; then any of them is found.
    #[tsify(optional, type = "string")]
    pub tag: Option<String>,
    /// Whether an exit code other than 0 rejects with a `CommandExitError`. With false it is a result like any other.
    /// Default true.
    #[tsify(optional, type = "boolean")]
    pub check: Option<bool>,
    /// Whether standard input stays open for `sendStdin`. Default false: the command reads end of file.
    #[tsify(optional, type = "boolean")]
    pub stdin: Option<bool>,
    /// Kills the command after so many milliseconds; 0 means no limit. Default 60 000 in the foreground, and no limit in
    /// the background.
    #[tsify(optional, type = "number")]
    pub timeout_ms: Option<u64>,
    /// Whether the output is kept inside of the sandbox, so that no byte is lost or comes twice when the connection breaks, and
    /// so that `commands.attach` can continue with the handle's `token` after the page or the program was started anew.
    /// Needs `/bin/sh`, `mkfifo` and `dd` in the sandbox. Default false.
    #[tsify(optional, type = "boolean")]
    pub durable: Option<bool>,
    /// Of a durable command: how many bytes of each stream the sandbox keeps. Older output is dropped, but while it is being
    /// read the command is slowed down instead. Default 67 108 864 (64 MiB), at least 65 536.
    #[tsify(optional, type = "number")]
    pub spool_bytes: Option<u64>,
    /// Of a durable command: how many milliseconds after its end the output is removed when nobody read it. Default 3 600 000.
    #[tsify(optional, type = "number")]
    pub spool_expiry_ms: Option<u64>,
    /// Of a durable command: called with its token once it runs, before any output, and again whenever more output was dealt
    /// with, so that the latest can be kept where a reload does not reach. Awaited. If it throws, that is as if `onStdout` threw.
    #[tsify(optional, type = "(token: CommandToken) => void | Promise<void>")]
    pub on_token: Option<Function>,
    #[serde(flatten)]
    pub reconnect: CommandReconnectOpts,
    /// Limits how long the start may take, in milliseconds. Default 60 000; 0 means no limit.
    #[tsify(optional, type = "number")]
    pub request_timeout_ms: Option<u64>,
    /// Ends the call early: it rejects with `signal.reason`. A foreground command is killed; a background command is
    /// left running once its handle was given out, and the handle stops listening.
    #[tsify(optional, type = "AbortSignal")]
    pub signal: Option<AbortSignal>,
    #[serde(flatten)]
    pub output: CommandOutputOpts,
}

impl CommandStartOpts {
    pub(super) fn read(options: &Options) -> Result<Self, Error> {
        let RequestOpts { request_timeout_ms, signal } = RequestOpts::read(options)?;
        Ok(CommandStartOpts {
            background: options.boolean("background")?,
            cwd: options.string("cwd")?,
            user: options.string("user")?,
            envs: options.string_map("envs")?,
            tag: options.string("tag")?,
            check: options.boolean("check")?,
            stdin: options.boolean("stdin")?,
            timeout_ms: options.whole("timeoutMs", 0)?,
            durable: options.boolean("durable")?,
            // These two are read by what makes the spool.
            spool_bytes: None,
            spool_expiry_ms: None,
            on_token: options.function("onToken")?,
            reconnect: CommandReconnectOpts::read(options)?,
            request_timeout_ms,
            signal,
            output: CommandOutputOpts::read(options)?,
        })
    }
}

/// Options of `commands.attach`.
#[derive(Tsify)]
#[serde(rename_all = "camelCase")]
pub struct CommandAttachOpts {
    /// Whether an exit code other than 0 makes `wait()` reject with a `CommandExitError`. Default true.
    #[tsify(optional, type = "boolean")]
    pub check: Option<bool>,
    /// Called with the token once the command is listened to, and again whenever more output was dealt with. Awaited. If it throws,
    /// listening ends with what it threw.
    #[tsify(optional, type = "(token: CommandToken) => void | Promise<void>")]
    pub on_token: Option<Function>,
    #[serde(flatten)]
    pub reconnect: CommandReconnectOpts,
    #[serde(flatten)]
    pub request: RequestOpts,
    #[serde(flatten)]
    pub output: CommandOutputOpts,
}

impl CommandAttachOpts {
    pub(super) fn read(options: &Options) -> Result<Self, Error> {
        Ok(CommandAttachOpts {
            check: options.boolean("check")?,
            on_token: options.function("onToken")?,
            reconnect: CommandReconnectOpts::read(options)?,
            request: RequestOpts::read(options)?,
            output: CommandOutputOpts::read(options)?,
        })
    }
}

/// Options of `commands.connect`.
#[derive(Tsify)]
#[serde(rename_all = "camelCase")]
pub struct CommandConnectOpts {
    /// Stops listening after so many milliseconds; the command is left running. Default 0: no limit.
    #[tsify(optional, type = "number")]
    pub timeout_ms: Option<u64>,
    /// Limits how long connecting may take, in milliseconds. Default 60 000; 0 means no limit.
    #[tsify(optional, type = "number")]
    pub request_timeout_ms: Option<u64>,
    /// Stops listening: the handle then rejects with `signal.reason`. The command is left running.
    #[tsify(optional, type = "AbortSignal")]
    pub signal: Option<AbortSignal>,
    #[serde(flatten)]
    pub reconnect: CommandReconnectOpts,
    #[serde(flatten)]
    pub output: CommandOutputOpts,
}

impl CommandConnectOpts {
    pub(super) fn read(options: &Options) -> Result<Self, Error> {
        let RequestOpts { request_timeout_ms, signal } = RequestOpts::read(options)?;
        Ok(CommandConnectOpts {
            timeout_ms: options.whole("timeoutMs", 0)?,
            request_timeout_ms,
            signal,
            reconnect: CommandReconnectOpts::read(options)?,
            output: CommandOutputOpts::read(options)?,
        })
    }
}

/// Options of the methods that send a signal.
#[derive(Tsify)]
#[serde(rename_all = "camelCase")]
pub struct CommandKillOpts {
    /// Default `"SIGKILL"`.
    #[tsify(optional, type = "\"SIGKILL\" | \"SIGTERM\"")]
    pub kill_signal: Option<String>,
    #[serde(flatten)]
    pub request: RequestOpts,
}
