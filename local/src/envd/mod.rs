//! The daemon inside a sandbox: processes, files, watchers and metrics over HTTP.
//!
//! It runs as the sandbox's root, behind the server's proxy, on a socket it inherits. The RPC codec is `connectrpc`'s;
//! what is ours is the behaviour. Nothing here knows the control plane.

mod entry;
mod error;
mod files;
mod filesystem;
mod front;
mod init;
mod journal;
mod metrics;
mod paths;
mod ports;
mod process;
mod rest;
mod state;

use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener as StdUnixListener, UnixStream};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result};
use tokio::io::AsyncReadExt;
use tokio::net::UnixListener;

use crate::interpreter::daemon::Interpreter;
use crate::sandbox::boot::{Boot, Isolation, READY};
use crate::sandbox::{fds, kernels};
pub(crate) use ports::CONNECTED;
use state::Envd;

/// Serves until the server's end of `control` closes. Must be called while the process has one thread.
pub(crate) fn run(boot: Boot, mut control: UnixStream, http: OwnedFd, ports: OwnedFd) -> Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async move {
        let envd = Arc::new(Envd::new(&boot)?);
        let (http, ports) = (listener(http)?, listener(ports)?);
        let app = front::app(Arc::clone(&envd))?;
        let interpreter = if boot.interpreter { Some(interpreter(&boot, &envd)?) } else { None };
        tokio::spawn(ports::serve(ports, interpreter.as_ref().map(Interpreter::socket)));
        if let Some(interpreter) = interpreter {
            let envd = Arc::clone(&envd);
            tokio::spawn(
                interpreter.run(move || envd.settings().environment().map(|(n, v)| (n.clone(), v.clone())).collect()),
            );
        }
        tokio::spawn(async move {
            if let Err(error) = axum::serve(http, app).await {
                eprintln!("envd stopped serving: {error}");
            }
        });
        control.write_all(&[READY]).context("reporting for duty")?;
        if matches!(boot.isolation, Isolation::Namespaces { .. }) {
            // From here on the socket is the first process's, which ends this one with the sandbox.
            drop(control);
            return std::future::pending().await;
        }
        control.set_nonblocking(true)?;
        let mut control = tokio::net::UnixStream::from_std(control)?;
        // The server says nothing more: the read ends when it is gone.
        let _ = control.read(&mut [0]).await;
        fds::kill_descendants();
        Ok(ExitCode::SUCCESS)
    })
}

fn interpreter(boot: &Boot, envd: &Envd) -> Result<Interpreter> {
    let (folder, kernels) = match boot.isolation {
        Isolation::None => (boot.private_dir.join("interpreter"), boot.kernels.clone().unwrap_or_default()),
        Isolation::Namespaces { .. } => ("/run/code-interpreter".into(), kernels::INSIDE.into()),
    };
    let user = envd.users.by_name("user").context("there is no user to run the code interpreter as")?;
    Interpreter::new(folder, kernels, user, envd.switches_users).context("preparing the code interpreter")
}

fn listener(fd: OwnedFd) -> Result<UnixListener> {
    let listener = StdUnixListener::from(fd);
    listener.set_nonblocking(true)?;
    Ok(UnixListener::from_std(listener)?)
}
