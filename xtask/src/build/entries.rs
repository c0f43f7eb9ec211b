//! The entry points of the package, each bundled into one file from the stage.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use base64::Engine;

use super::core::Bindings;
use super::types;
use crate::shell::{self, npm_tool};
use crate::workspace;

/// The oldest language level in use: every runtime that the package supports has it.
const LANGUAGE: &str = "es2022";

/// Entries that stand on another one.
const SUBPATHS: [&str; 6] = ["code-interpreter", "config", "edge", "providers", "server", "terminal"];

pub(crate) fn bundle(stage: &Path, bindings: &Bindings) -> Result<()> {
    let template = workspace::root().join("pkg-template");
    for folder in ["loader", "entries"] {
        for file in fs::read_dir(template.join(folder))? {
            let file = file?;
            fs::copy(file.path(), stage.join(file.file_name()))?;
        }
    }
    stage_modules(stage, bindings)?;
    workspace::write(&stage.join("public.js"), public_names(bindings)?)?;
    inline_core(stage)?;

    wrap_inflate(stage)?;
    let dist = workspace::pkg().join("dist");
    for entry in ["index", "workerd", "edge-light", "slim", "url"] {
        esbuild(stage, &format!("{entry}.js"), &dist.join(format!("{entry}.js")), &["--format=esm"])?;
    }
    esbuild(stage, "index.js", &dist.join("index.cjs"), &["--format=cjs"])?;
    esbuild(stage, "index.js", &dist.join("cdn.js"), &["--format=esm", "--minify"])?;
    subpaths()?;
    elements()?;
    fs::copy(stage.join("core.wasm"), dist.join("core.wasm")).context("cannot copy core.wasm")?;
    Ok(())
}

/// The entries of `pkg-template/subpaths`, each once for every main entry that a condition of `package.json` may choose: they
/// import that one as `#package`, so that there is one core whatever is imported.
fn subpaths() -> Result<()> {
    const MAIN: &str = "#package";
    let dist = workspace::pkg().join("dist");
    let folder = workspace::root().join("pkg-template/subpaths");
    for name in SUBPATHS {
        let variants = [
            ("js", "index.js"),
            ("workerd.js", "workerd.js"),
            ("edge-light.js", "edge-light.js"),
            ("cjs", "index.cjs"),
        ];
        for (ending, main) in variants {
            let file = dist.join(format!("{name}.{ending}"));
            let format = if ending == "cjs" { "--format=cjs" } else { "--format=esm" };
            // Licences of what is bundled lie beside the file.
            let options = [format, &format!("--external:{MAIN}"), "--legal-comments=external"];
            esbuild(&folder, &format!("{name}.js"), &file, &options)?;
            // Named last: a path would be looked for before it is there.
            workspace::write(&file, workspace::read(&file)?.replace(MAIN, &format!("./{main}")))?;
        }
        let types = subpath_types(&folder, name)?;
        for (ending, main) in [("d.ts", "index.js"), ("d.cts", "index.cjs")] {
            workspace::write(&dist.join(format!("{name}.{ending}")), types.replace(MAIN, &format!("./{main}")))?;
        }
    }
    Ok(())
}

/// The types of a subpath: `<name>.d.ts`, and behind it what the files of `<name>/` declare. They are one module, so only the first
/// one imports.
fn subpath_types(folder: &Path, name: &str) -> Result<String> {
    let mut types = workspace::read(&folder.join(format!("{name}.d.ts")))?;
    let mut parts = Vec::new();
    if let Ok(entries) = fs::read_dir(folder.join(name)) {
        for entry in entries {
            let path = entry?.path();
            if path.to_string_lossy().ends_with(".d.ts") {
                parts.push(path);
            }
        }
    }
    parts.sort();
    for part in parts {
        types.push('\n');
        types.push_str(&workspace::read(&part)?);
    }
    Ok(types)
}

/// The custom elements, over the main entry. What they load late (the editor, the terminal, what renders results) becomes chunks
/// beside them, with the libraries in it: users install nothing else. Minified, because no bundler of a page would read into the
/// chunks what it is given in any other form.
fn elements() -> Result<()> {
    let dist = workspace::pkg().join("dist");
    let folder = workspace::root().join("elements");
    let mut esbuild = npm_tool("esbuild/bin/esbuild");
    esbuild
        .arg(folder.join("elements.js"))
        .arg(format!("--outdir={}", dist.display()))
        .args(["--bundle", "--splitting", "--format=esm", "--platform=browser", "--minify", "--log-level=warning"])
        .args(["--entry-names=elements", "--chunk-names=elements-[name]-[hash]", "--loader:.css=text"])
        .args(["--alias:#package=./index.js", "--external:./index.js", "--legal-comments=external"])
        .args(["--alias:#terminal=./terminal.js", "--external:./terminal.js"])
        .arg(format!("--target={LANGUAGE}"));
    shell::run(&mut esbuild)?;
    let types = workspace::read(&folder.join("elements.d.ts"))?;
    workspace::write(&dist.join("elements.d.ts"), types.replace("#package", "./index.js"))
}

/// Makes of the inflate a module whose one function evaluates it: it builds tables as it is evaluated, and importing the package
/// does no work. A bundle of its own first, so that of fflate only what is used remains.
fn wrap_inflate(stage: &Path) -> Result<()> {
    let bundle = stage.join("inflate.bundle.js");
    esbuild(stage, "inflate.js", &bundle, &["--format=iife", "--global-name=inflate"])?;
    let module = format!("export function loadInflate() {{\n{}return inflate;\n}}\n", workspace::read(&bundle)?);
    workspace::write(&stage.join("inflate.js"), module)
}

fn esbuild(stage: &Path, entry: &str, output: &Path, options: &[&str]) -> Result<()> {
    let mut esbuild = npm_tool("esbuild/bin/esbuild");
    esbuild
        .arg(stage.join(entry))
        .arg(format!("--outfile={}", output.display()))
        .args(["--bundle", "--platform=neutral", "--log-level=warning", "--legal-comments=none"])
        .arg(format!("--target={LANGUAGE}"))
        // The host compiles these; the names stay as they are written.
        .args(["--external:./core.wasm", "--external:./core.wasm?module"])
        // The stage lies outside of the sources, so the tools are named by their folder.
        .env("NODE_PATH", workspace::npm_file(""))
        .args(options);
    shell::run(&mut esbuild)
}

/// Puts the modules of `js/` into the stage. Those that the crate imports are there already, below a name with a hash: each must
/// exist once, so the others reach them through a module that hands on what they export.
fn stage_modules(stage: &Path, bindings: &Bindings) -> Result<()> {
    for file in fs::read_dir(workspace::root().join("js"))? {
        let file = file?;
        let name = file.file_name();
        let name = name.to_string_lossy();
        if !name.ends_with(".js") {
            continue;
        }
        let to = stage.join(&*name);
        let imported = format!("{}/{name}", bindings.snippets);
        if stage.join(&imported).exists() {
            workspace::write(&to, format!("export * from \"{imported}\";\n"))?;
        } else {
            fs::copy(file.path(), to).with_context(|| format!("cannot copy js/{name}"))?;
        }
    }
    Ok(())
}

/// What every entry exports: the classes of the crate, completed by `js/classes.js`, the constants declared in the crate and
/// defined there, what the modules in `js/` declare, and `init`.
fn public_names(bindings: &Bindings) -> Result<String> {
    let public = |name: &&String| types::is_public(&bindings.types, name);
    let classes = bindings.exports.iter().filter(public).map(String::as_str).collect::<Vec<_>>().join(", ");
    let constants = types::constants(&bindings.types).join(", ");
    let mut modules = String::new();
    let mut named = classes.clone();
    for module in types::MODULES {
        let names = types::module_names(module)?.join(", ");
        if !names.is_empty() {
            modules += &format!("import {{ {names} }} from \"./{module}.js\";\nexport {{ {names} }};\n");
            named += &format!(", {names}");
        }
    }
    Ok(format!(
        "import {{ completeClasses, keepNames }} from \"./classes.js\";\n\
         export {{ {constants} }} from \"./classes.js\";\n\
         import {{ {classes} }} from \"./core_bg.js\";\n\
         completeClasses({{ {classes} }});\n\
         export {{ {classes}, Sandbox as default }};\n\
         {modules}\
         keepNames({{ {named} }});\n\
         export {{ init }} from \"./instance.js\";\n",
    ))
}

/// Writes the core as a module that exports it compressed, in base64.
fn inline_core(stage: &Path) -> Result<()> {
    let wasm = fs::read(stage.join("core.wasm"))?;
    let mut compressed = Vec::new();
    zopfli::compress(zopfli::Options::default(), zopfli::Format::Deflate, wasm.as_slice(), &mut compressed)
        .context("cannot compress core.wasm")?;
    let text = base64::engine::general_purpose::STANDARD.encode(compressed);
    let module = format!("export const size = {};\nexport const compressed = \"{text}\";\n", wasm.len());
    workspace::write(&stage.join("core.inline.js"), module)
}
