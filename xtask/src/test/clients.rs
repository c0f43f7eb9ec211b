//! The standard clients against the local sandbox server, configured by environment variables alone, as their users do it.

use std::net::TcpListener;
use std::process::Command;
use std::time::{Duration, Instant};
use std::{env, thread};

use anyhow::{Result, bail};

use super::report::Report;
use crate::server::Server;
use crate::setup;
use crate::shell::{command, note, seconds};

/// What `agent-sandbox-local serve --debug-ports` listens on.
const DEBUG_PORTS: [u16; 3] = [3000, 49983, 49999];

/// Another run of these tests on the same machine has the ports for about this long.
const PATIENCE: Duration = Duration::from_secs(90);

/// How a client learns where the server is.
#[derive(Clone, Copy)]
enum Configuration {
    /// `E2B_API_URL`, `E2B_SANDBOX_URL` and `E2B_API_KEY`.
    Standard,
    /// `ABX_SANDBOX_BASE_URL` and `ABX_SANDBOX_API_KEY`; sandboxes are found as with the others.
    AgentSandbox,
    /// `E2B_DEBUG` alone: the ports are fixed.
    Debug,
}

pub(crate) fn run(report: &mut Report) {
    let mut started = None;
    let ready = report.check("standard clients", setup::clients::install)
        && report.check("local sandbox server with debug ports", || {
            wait_for_ports()?;
            started = Some(Server::start_with(&["--debug-ports"])?);
            Ok(())
        });
    let Some(server) = started.filter(|_| ready) else { return };
    for (name, configuration) in [
        ("e2b", Configuration::Standard),
        ("@e2b/code-interpreter", Configuration::Standard),
        ("@e2b/code-interpreter", Configuration::Debug),
    ] {
        client(report, command("node").arg("tests/clients/node/client.mjs"), name, configuration, &server);
    }
    for (name, configuration) in [
        ("e2b", Configuration::Standard),
        ("e2b_code_interpreter", Configuration::Standard),
        ("agent_sandbox", Configuration::AgentSandbox),
        // Without debug mode this one looks for the interpreter behind TLS.
        ("agent_sandbox.code_interpreter", Configuration::Debug),
    ] {
        let mut python = command(setup::clients::python());
        client(report, python.arg("tests/clients/python/client.py"), name, configuration, &server);
    }
}

fn client(report: &mut Report, runner: &mut Command, name: &str, configuration: Configuration, server: &Server) {
    // Settings of whoever runs the tests must not decide where the clients connect.
    for (variable, _) in env::vars_os() {
        let text = variable.to_string_lossy();
        if text.starts_with("E2B_") || text.starts_with("ABX_") {
            runner.env_remove(&variable);
        }
    }
    let language = if runner.get_program() == "node" { "Node" } else { "Python" };
    let how = match configuration {
        Configuration::Standard => {
            runner.env("E2B_API_URL", &server.url).env("E2B_SANDBOX_URL", &server.url);
            runner.env("E2B_API_KEY", &server.api_key);
            ""
        }
        Configuration::AgentSandbox => {
            runner.env("ABX_SANDBOX_BASE_URL", &server.url).env("E2B_SANDBOX_URL", &server.url);
            runner.env("ABX_SANDBOX_API_KEY", &server.api_key);
            ""
        }
        Configuration::Debug => {
            runner.env("E2B_DEBUG", "true").env("E2B_API_KEY", &server.api_key);
            ", debug"
        }
    };
    runner.arg(name);
    if matches!(configuration, Configuration::Debug) {
        runner.arg("debug");
    }
    report.runner(&format!("{name} in {language}{how}"), runner);
}

fn wait_for_ports() -> Result<()> {
    let start = Instant::now();
    loop {
        let Some(taken) = DEBUG_PORTS.into_iter().find(|port| TcpListener::bind(("127.0.0.1", *port)).is_err()) else {
            return Ok(());
        };
        if start.elapsed() > PATIENCE {
            bail!(
                "port {taken} was in use for {}: clients in debug mode expect the server on {DEBUG_PORTS:?}; stop the \
                 program that listens there",
                seconds(PATIENCE)
            );
        }
        note(&format!("waiting for port {taken}, which another program uses"));
        thread::sleep(Duration::from_secs(3));
    }
}
