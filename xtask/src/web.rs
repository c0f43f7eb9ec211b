//! A static web server on a loopback port, for the demo site and the browser tests: `xtask/serve.mjs` in Node. Serves named
//! folders only, to this machine only.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value, json};

use crate::shell::command;

/// What is served. The longest prefix that fits a path decides.
#[derive(Default)]
pub(crate) struct Site {
    folders: Map<String, Value>,
    documents: Map<String, Value>,
    backend: Option<Value>,
}

/// A running web server. It ends when this is dropped, and when xtask ends in whatever way.
pub(crate) struct Web {
    /// Scheme, host and port.
    pub(crate) origin: String,
    child: Child,
}

impl Site {
    /// Serves the files of `folder` under `prefix`, which starts and ends with a slash.
    pub(crate) fn folder(mut self, prefix: &str, folder: PathBuf) -> Self {
        self.folders.insert(prefix.to_owned(), folder.display().to_string().into());
        self
    }

    /// Serves a JSON value at `path`.
    pub(crate) fn json(mut self, path: &str, value: Value) -> Self {
        self.documents.insert(path.to_owned(), value);
        self
    }

    /// Serves the `fetch` handler that `createBackend` of a module makes with `options` at `path`.
    pub(crate) fn backend(mut self, path: &str, module: &Path, options: Value) -> Self {
        self.backend = Some(json!({ "path": path, "module": module, "options": options }));
        self
    }

    /// Starts serving. `port` is a wish: another one is taken when it is in use.
    pub(crate) fn serve(self, port: u16) -> Result<Web> {
        let mut child = command("node")
            .arg("xtask/serve.mjs")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start Node")?;
        // Not as an argument: the documents hold a key, and every user of the machine can list arguments.
        let Site { folders, documents, backend } = self;
        let settings = json!({ "port": port, "folders": folders, "documents": documents, "backend": backend });
        let input = child.stdin.as_mut().expect("standard input is piped");
        writeln!(input, "{settings}").context("the web server does not listen to its settings")?;
        let mut origin = String::new();
        BufReader::new(child.stdout.take().expect("standard output is piped")).read_line(&mut origin)?;
        let mut web = Web { origin: origin.trim().to_owned(), child };
        if web.origin.is_empty() {
            bail!("the web server did not start: {}", web.child.wait()?);
        }
        Ok(web)
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        // The end of its input ends it.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
