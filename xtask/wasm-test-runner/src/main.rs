//! The test runner that cargo starts for wasm targets: `wasm-bindgen-test-runner`, taken from its library so that nothing
//! has to be installed and its version is the locked one.

fn main() -> anyhow::Result<()> {
    wasm_bindgen_cli::wasm_bindgen_test_runner::run_cli_with_args(std::env::args_os())
}
