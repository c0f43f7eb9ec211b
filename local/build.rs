//! Generates envd's messages and service traits. The descriptor set is made in process, so `protoc` is not needed.

use std::{env, error::Error, fs, path::PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    const FILES: [&str; 2] = ["process.proto", "filesystem.proto"];
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let set = out.join("envd.binpb");
    let descriptors = protox::Compiler::new(["proto"])?
        .include_imports(true)
        .include_source_info(true)
        .open_files(FILES)?
        .encode_file_descriptor_set();
    fs::write(&set, descriptors)?;
    let mut messages = connectrpc_build::CodeGenConfig::default();
    messages.generate_json = true;
    // Output chunks travel from the pipe to the socket without a copy.
    messages.bytes_fields = vec![(".".into(), buffa_codegen::BytesRepr::Bytes)];
    connectrpc_build::Config::new()
        .buffa_config(messages)
        .descriptor_set(&set)
        .files(&FILES)
        .include_file("envd_protocol.rs")
        .emit_rerun_directives(false)
        .compile()?;
    println!("cargo::rerun-if-changed=proto");
    println!("cargo::rerun-if-changed=build.rs");
    Ok(())
}
