//! The binary: see the library of the same name.

use std::process::ExitCode;

fn main() -> ExitCode {
    agent_sandbox_local::main()
}
