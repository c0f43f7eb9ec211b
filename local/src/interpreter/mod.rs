//! The code interpreter inside a sandbox: contexts and runs over HTTP, on Jupyter kernels.
//!
//! It is a process of its own that runs as the sandbox's user, started by envd (`daemon`), on a socket that envd connects
//! port 49999 to.
//!
//! | module | what it is for | what it may touch |
//! |---|---|---|
//! | `daemon` | envd's side: starting it, telling it the variables | processes |
//! | `front`, `request` | endpoints and bodies | nothing |
//! | `contexts`, `context`, `run` | who runs where, one after the other | kernels |
//! | `kernel` | a process and its sockets | processes, files |
//! | `languages`, `lines`, `wire` | languages, answers, Jupyter's messages | nothing |

mod context;
mod contexts;
pub(crate) mod daemon;
mod front;
mod kernel;
mod languages;
mod lines;
mod request;
mod run;
mod wire;

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{FromRawFd, RawFd};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::{UnixListener as StdUnixListener, UnixStream as StdUnixStream};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result};
use axum::Router;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Mutex;

use crate::sandbox::fds;
use contexts::Contexts;

/// The hidden command under which the binary becomes the interpreter.
pub(crate) const COMMAND: &str = "code-interpreter";

/// The port at which clients expect the interpreter.
pub(crate) const PORT: u16 = 49999;

/// Descriptors it is born with: the listening socket, and the connection to envd.
const HTTP_FD: RawFd = 3;
const ENVD_FD: RawFd = 4;

/// What the interpreter is told when it starts, as its argument.
#[derive(Debug, Serialize, Deserialize)]
struct Settings {
    /// Where the kernels are installed.
    kernels: PathBuf,
    home: PathBuf,
    /// Where it may put files and sockets of its own.
    private: PathBuf,
}

/// What kernels need of their surroundings.
struct Host {
    kernels: PathBuf,
    home: PathBuf,
    private: PathBuf,
    folders: AtomicU64,
    envd: Mutex<UnixStream>,
}

impl Host {
    /// An empty folder for a kernel.
    fn new_folder(&self) -> io::Result<PathBuf> {
        let number = self.folders.fetch_add(1, Ordering::Relaxed);
        let folder = self.private.join(format!("{}-{number}", std::process::id()));
        std::fs::DirBuilder::new().mode(0o700).create(&folder)?;
        Ok(folder)
    }

    /// The sandbox's environment variables, as envd has them now.
    async fn variables(&self) -> io::Result<BTreeMap<String, String>> {
        let mut envd = self.envd.lock().await;
        envd.write_u8(daemon::VARIABLES).await?;
        let mut answer = vec![0; envd.read_u32().await? as usize];
        envd.read_exact(&mut answer).await?;
        Ok(serde_json::from_slice(&answer)?)
    }
}

/// Runs the hidden command. Only envd starts it, with the descriptors above.
pub(crate) fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("the code interpreter ended: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let settings: Settings = serde_json::from_str(&std::env::args().nth(2).context("the settings are missing")?)?;
    // SAFETY: envd placed exactly these descriptors, and nothing else in this process has touched them.
    let (http, envd) = unsafe { (StdUnixListener::from_raw_fd(HTTP_FD), StdUnixStream::from_raw_fd(ENVD_FD)) };
    fds::close_on_exec(&http)?;
    fds::close_on_exec(&envd)?;
    http.set_nonblocking(true)?;
    envd.set_nonblocking(true)?;
    // One thread: the kernels die with the thread that started them, and this one lives as long as the process.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let host = Host {
            kernels: settings.kernels,
            home: settings.home,
            private: settings.private,
            folders: AtomicU64::new(0),
            envd: Mutex::new(UnixStream::from_std(envd)?),
        };
        let contexts = Contexts::new(Arc::new(host));
        let app = Router::new().fallback(front::serve).with_state(contexts);
        axum::serve(UnixListener::from_std(http)?, app).await?;
        Ok(())
    })
}
