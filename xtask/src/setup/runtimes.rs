//! The runtimes in which the tests run the package besides Node and the browsers of this machine, and what drives browsers:
//! what the lock file in `tests/harness` names.

use anyhow::Result;

use super::npm_ci;
use crate::shell::{self, command, step};
use crate::workspace;

pub(crate) fn install() -> Result<()> {
    step("Deno, Bun, workerd, edge-runtime and a driver of browsers, in tests/harness/node_modules");
    let folder = workspace::root().join("tests/harness");
    npm_ci(&folder, || {
        // The npm package of Bun holds a stand-in until this script, which runs offline, has put the program in its place.
        shell::run(command("node").arg("install.js").current_dir(folder.join("node_modules/bun")))
    })
}
