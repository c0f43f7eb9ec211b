//! The quick start and the demo site, against a local sandbox server of their own.

use std::thread;

use anyhow::Result;
use clap::Args;

use crate::lock::Lock;
use crate::server::{self, Server};
use crate::shell::{self, command, note, npm_tool, step};
use crate::web::Site;
use crate::{build, setup, workspace};

#[derive(Args)]
pub(crate) struct Options {
    /// End after the quick start; the exit status tells how it went
    #[arg(long)]
    once: bool,
    /// Where to serve the demo site; another free port is taken when this one is in use
    #[arg(long, default_value_t = 5180)]
    port: u16,
}

pub(crate) fn run(options: &Options, lock: Lock) -> Result<()> {
    setup::for_build()?;
    setup::for_server()?;
    build::package()?;
    let server = Server::start()?;
    quick_start(&server)?;
    if options.once {
        return Ok(());
    }
    // The page may stay open for hours, and needs nothing that another command would not keep.
    drop(lock);
    serve_page(&server, options.port)
}

/// Runs the program of the README in Node as it stands, importing the built package by its name.
pub(crate) fn quick_start(server: &Server) -> Result<()> {
    step("quick start: tests/quickstart/quickstart.ts in Node, through the built package");
    // Inside of the workspace, so that Node finds the installed package; esbuild only takes the types out.
    let program = workspace::scratch().join("quickstart.mjs");
    shell::run(
        npm_tool("esbuild/bin/esbuild")
            .args(["tests/quickstart/quickstart.ts", "--log-level=warning"])
            .arg(format!("--outfile={}", program.display())),
    )?;
    let mut node = command("node");
    shell::run(node.arg(program).env("E2B_API_URL", &server.url).env("E2B_API_KEY", &server.api_key))
}

fn serve_page(server: &Server, port: u16) -> Result<()> {
    let web = site(server)?.serve(port)?;
    step("demo site");
    note(&format!("open {}/", web.origin));
    note("Ctrl-C stops the page and the local sandbox server");
    server::expect_signal();
    // The signal handler ends the process.
    loop {
        thread::park();
    }
}

/// The demo site, built; its back end; and in `/local.json` how the playground reaches the local sandbox server.
pub(crate) fn site(server: &Server) -> Result<Site> {
    let local = serde_json::json!({ "apiUrl": server.url, "apiKey": server.api_key });
    let pages = build::site()?;
    let backend = workspace::root().join("www/backend.js");
    Ok(Site::default().json("/local.json", local.clone()).backend("/sandbox", &backend, local).folder("/", pages))
}
