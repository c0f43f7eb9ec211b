//! The SDK crate as `core.wasm`, with the JavaScript that wasm-bindgen generates for it.

use std::fmt::Write;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use wasm_bindgen_cli_support::{Bindgen, Output};

use super::{glue, toolchain};
use crate::shell::{self, note, npm_tool, step};
use crate::workspace;

/// What wasm-bindgen made of the crate.
pub(crate) struct Bindings {
    /// The exported classes and functions, in the order of the generated file.
    pub(crate) exports: Vec<String>,
    /// The generated type declarations.
    pub(crate) types: String,
    /// Where the crate's own `js/` folder lies, relative to the stage.
    pub(crate) snippets: String,
}

/// Compiles the crate and returns the raw `.wasm` file.
pub(crate) fn compile() -> Result<PathBuf> {
    let Some(toolchain) = toolchain::find() else {
        bail!("Rust cannot compile to WebAssembly here: run `cargo xtask setup`");
    };
    step(&format!("{} as WebAssembly, with {toolchain}", workspace::PACKAGE));
    let (mut cargo, is_small) = toolchain.cargo_for_size()?;
    if !is_small {
        note(
            "without a standard library that is built for size, core.wasm is a tenth larger: that needs Rust 1.91 or newer, and \
             `rustup component add rust-src`",
        );
    }
    shell::run(cargo.args(["--profile", "wasm", "--package", workspace::PACKAGE, "--lib"]))?;
    let file = workspace::PACKAGE.replace('-', "_") + ".wasm";
    Ok(workspace::target().join(toolchain::TARGET).join("wasm").join(file))
}

/// Whether the standard library in the package is one that is built for size.
pub(crate) fn is_built_for_size() -> Result<bool> {
    Ok(toolchain::find().map(|toolchain| toolchain.cargo_for_size()).transpose()?.is_some_and(|(_, is_small)| is_small))
}

/// Runs wasm-bindgen over the raw file. Leaves `core_bg.wasm`, `core_bg.js` (free to import), `imports.js` and `snippets/` in
/// `stage`.
pub(crate) fn bind(wasm: &Path, stage: &Path) -> Result<Bindings> {
    let mut output = Bindgen::new()
        .input_path(wasm)
        .bundler(true)?
        .typescript(true)
        // The names are taken out last: they say what the code is made of.
        .remove_name_section(false)
        .remove_producers_section(true)
        .out_name("core")
        .generate_output()
        .context("wasm-bindgen failed")?;
    let imports = rename_imports(&mut output, &fs::read(wasm)?);
    output.emit(stage)?;
    workspace::write(&stage.join("imports.js"), imports)?;
    let code = stage.join("core_bg.js");
    workspace::write(&code, glue::make_lazy(&workspace::read(&code)?)?)?;
    Ok(Bindings {
        exports: glue::exported_names(&workspace::read(&stage.join("core.js"))?)?,
        types: workspace::read(&stage.join("core.d.ts"))?,
        snippets: snippets(stage)?,
    })
}

/// Gives the imports of the module short names, and returns the JavaScript that provides them under those. The generated
/// names repeat paths and hashes several times over. All imports come from one module named after the contents of `raw`, so
/// that a `core.wasm` of another version is refused by the engine and not taken for a fitting one.
fn rename_imports(output: &mut Output, raw: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    raw.hash(&mut hasher);
    let version = format!("{:016x}", hasher.finish());
    let mut sources: Vec<String> = Vec::new();
    let mut properties = String::new();
    for (number, import) in output.wasm_mut().imports.iter_mut().enumerate() {
        let source = sources.iter().position(|source| *source == import.module).unwrap_or_else(|| {
            sources.push(import.module.clone());
            sources.len() - 1
        });
        let _ = writeln!(properties, "    {number}: source{source}.{},", import.name);
        import.module.clone_from(&version);
        import.name = number.to_string();
    }
    let mut code = String::new();
    for (number, source) in sources.iter().enumerate() {
        let _ = writeln!(code, "import * as source{number} from \"{source}\";");
    }
    let _ = write!(code, "\nexport const imports = () => ({{\n  \"{version}\": {{\n{properties}  }},\n}});\n");
    code
}

/// The folder of the crate's own JavaScript: wasm-bindgen copies it under a name that holds a hash.
fn snippets(stage: &Path) -> Result<String> {
    let entries = fs::read_dir(stage.join("snippets")).context("the crate brings no JavaScript of its own")?;
    for entry in entries {
        let path = entry?.path();
        if path.join("js/errors.js").exists() {
            let folder = path.file_name().expect("a folder entry has a name").to_string_lossy();
            return Ok(format!("./snippets/{folder}/js"));
        }
    }
    bail!("js/errors.js is not among the snippets of the crate: the error classes are missing")
}

/// Makes `core.wasm` out of `core_bg.wasm`: as small as binaryen can, with exactly the features that Rust's target has.
pub(crate) fn optimize(stage: &Path) -> Result<()> {
    const FEATURES: [&str; 6] = [
        "--enable-bulk-memory",
        "--enable-multivalue",
        "--enable-mutable-globals",
        "--enable-nontrapping-float-to-int",
        "--enable-reference-types",
        "--enable-sign-ext",
    ];
    let wasm_opt = |passes: &[&str], from: &Path, to: &Path| {
        shell::run(npm_tool("binaryen/bin/wasm-opt").args(passes).args(FEATURES).arg(from).arg("--output").arg(to))
    };
    wasm_opt(&["-Oz", "--debuginfo"], &stage.join("core_bg.wasm"), &named())?;
    let strip = ["--strip-debug", "--strip-producers", "--strip-target-features"];
    wasm_opt(&strip, &named(), &stage.join("core.wasm"))
}

/// `core.wasm` with the names of its functions, for those who ask what it consists of.
pub(crate) fn named() -> PathBuf {
    workspace::scratch().join("core.named.wasm")
}
