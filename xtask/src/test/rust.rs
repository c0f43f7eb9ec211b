//! The steps that need no package: only Rust, for the wasm tests a browser, and for the conformance checks Node.

use anyhow::{Context, Result, bail};

use super::report::Report;
use crate::build::toolchain::{self, Toolchain};
use crate::conformance;
use crate::setup::browser;
use crate::shell::{self, cargo};
use crate::workspace;

pub(crate) fn format(report: &mut Report) {
    report.check("format", || shell::run(cargo().args(["fmt", "--all", "--", "--check"])));
}

pub(crate) fn lint(report: &mut Report) {
    const STRICT: [&str; 3] = ["--", "-D", "warnings"];
    report.check("lints, host", || shell::run(cargo().args(["clippy", "--workspace", "--all-targets"]).args(STRICT)));
    // The tests of the library only count as part of it in the profile for tests.
    for (name, profile) in [("lints, wasm", "dev"), ("lints, wasm tests", "test")] {
        report.check(name, || {
            let mut clippy = toolchain()?.cargo("clippy", true);
            shell::run(clippy.args(["--package", workspace::PACKAGE, "--lib", "--profile", profile]).args(STRICT))
        });
    }
}

pub(crate) fn native(report: &mut Report, filter: Option<&str>) {
    const TEST: [&str; 3] = ["test", "--workspace", "--no-fail-fast"];
    let mut command = cargo();
    command.args(TEST).args(filter);
    if filter.is_some() {
        report.runner("native", &mut command);
        return;
    }
    report.cargo("native", &mut command, |failing| {
        let mut again = cargo();
        again.args(TEST).args(["--", "--exact"]).args(failing);
        again
    });
}

/// Every answer of a local server, held against the tables of `tests/conformance`.
pub(crate) fn conformance(report: &mut Report, filter: Option<&str>) {
    let mut server = None;
    if report.check("local sandbox server, conformance", || {
        server = Some(conformance::start()?);
        Ok(())
    }) && let Some(server) = server
    {
        let mut runner = conformance::runner(filter);
        report.runner("conformance", conformance::with_local(&mut runner, &server, Default::default()));
    }
}

pub(crate) fn wasm(report: &mut Report, filter: Option<&str>) {
    let mut prepared = None;
    if report.check("wasm test runner", || {
        prepared = Some(wasm_tests()?);
        Ok(())
    }) && let Some(mut command) = prepared
    {
        report.runner_in_browser("wasm, headless Chromium", command.args(filter), "Running headless tests");
    }
}

/// The wasm tests stand beside what they test. Integration tests are for the host: they read files or start processes.
fn wasm_tests() -> Result<std::process::Command> {
    const RUNNER: &str = "wasm-test-runner";
    shell::run(cargo().args(["build", "--package", RUNNER]))?;
    let Some(browser) = browser::find() else { bail!("Chromium or its driver is missing: run `cargo xtask setup`") };
    let mut command = toolchain()?.cargo("test", true);
    command
        .args(["--package", workspace::PACKAGE, "--no-fail-fast", "--lib"])
        .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER", workspace::target().join("debug").join(RUNNER))
        .env("CHROMEDRIVER", &browser.driver)
        .env("WASM_BINDGEN_TEST_WEBDRIVER_JSON", capabilities(&browser)?)
        // Seconds. A machine under load starts a browser slowly.
        .env("WASM_BINDGEN_TEST_TIMEOUT", "120")
        .env("WASM_BINDGEN_TEST_DRIVER_TIMEOUT", "60");
    Ok(command)
}

/// The capabilities of `webdriver.json` with the browser that was found, as a file.
fn capabilities(browser: &browser::Browser) -> Result<std::path::PathBuf> {
    let text = workspace::read(&workspace::root().join("webdriver.json"))?;
    let mut json: serde_json::Value = serde_json::from_str(&text).context("webdriver.json is not JSON")?;
    json["goog:chromeOptions"]["binary"] = browser.chromium.display().to_string().into();
    let path = workspace::scratch().join("webdriver.json");
    workspace::write(&path, json.to_string())?;
    Ok(path)
}

fn toolchain() -> Result<Toolchain> {
    toolchain::find().context("Rust cannot compile to WebAssembly here: run `cargo xtask setup`")
}
