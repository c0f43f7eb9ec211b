//! The command line: `serve`, and `list` and `kill` for a server that runs.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, Parser, Subcommand};
use ipnet::Ipv4Net;

use crate::interpreter;
use crate::sandbox::init;
use crate::sandbox::isolation::Choice;
use crate::sandbox::launch::INIT_COMMAND;
use crate::sandbox::limits::Limits;
use crate::sandbox::reach;
use crate::sandbox::registry::Config;
use crate::server;

mod client;

const MIB: u64 = 1024 * 1024;

/// Runs Agent Sandbox (E2B-compatible) sandboxes on this machine.
///
/// `serve` prints an address and a key; point any client at them and create sandboxes as in the cloud. Each sandbox has
/// its own users, processes and files: commands in it see the programs installed on this machine, but not its home
/// directories, and cannot change anything outside. Sandboxes end at their timeout, and all of them with the server.
#[derive(Debug, Parser)]
#[command(name = "agent-sandbox-local", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start the server; it runs until Ctrl-C.
    Serve(Serve),
    /// List the sandboxes of a running server.
    List(Remote),
    /// End sandboxes of a running server.
    Kill(Kill),
}

#[derive(Debug, Args)]
struct Serve {
    /// Port on loopback for the API and all sandboxes; 0 takes a free one.
    #[arg(long, default_value_t = 3210)]
    port: u16,
    /// API key that clients must send: `e2b_` and 40 hex digits. Random for each start if not given.
    #[arg(long, value_name = "KEY", env = "AGENT_SANDBOX_LOCAL_API_KEY", hide_env_values = true)]
    api_key: Option<String>,
    /// Folder with templates, one TOML file each: `name` (that of the file if absent), `start` (a shell command that runs
    /// in the background), `ready` (one that is repeated until it succeeds), `user` (who runs both), a table `[envs]`, and
    /// `[[files]]` with `path` and either `content` or `source`.
    #[arg(long, value_name = "DIR")]
    template_dir: Option<PathBuf>,
    /// How sandboxes are kept apart from this machine. With `none`, code in a sandbox can read and change all your files.
    #[arg(long, value_enum, default_value_t = Choice::Auto)]
    isolation: Choice,
    /// How many sandboxes may exist at a time.
    #[arg(long, value_name = "N", default_value_t = 100)]
    max_sandboxes: usize,
    /// Processes and threads of a sandbox.
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(16..))]
    max_processes: u32,
    /// Memory of a sandbox in MiB, its files included. Default: half of this machine's.
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(32..))]
    max_memory: Option<u64>,
    /// Files of a sandbox in MiB; they are in memory. Default: half of its memory.
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(16..))]
    max_disk: Option<u64>,
    /// IPv4 address or range that sandboxes with internet access may reach although it is private or this machine's own.
    /// May be given more than once. What listens on loopback only cannot be opened.
    #[arg(long, value_name = "RANGE", value_parser = parse_range)]
    reachable: Vec<Ipv4Net>,
    /// Log lines as JSON objects.
    #[arg(long)]
    json_logs: bool,
    /// Also serve the fixed ports of clients in debug mode (E2B_DEBUG=true): 3000 for the API, and 49983 and 49999 for the
    /// daemon and the code interpreter of the newest sandbox, which is created when there is none. These two ask for no key:
    /// every program and web page on this machine can run commands in that sandbox.
    #[arg(long)]
    debug_ports: bool,
    /// When ready, write `{"url", "apiKey", "pid"}` to this file, for programs that start the server. The key is a
    /// secret: the file is readable by you alone.
    #[arg(long, value_name = "PATH")]
    ready_file: Option<PathBuf>,
    /// Folder with the kernels of the code interpreter, as `cargo xtask setup --kernels` fills it. Default: `build/kernels`
    /// in the project that this program was built from.
    #[arg(long, value_name = "DIR", env = "AGENT_SANDBOX_KERNELS")]
    kernels: Option<PathBuf>,
    /// The daemon version to report, for testing how clients treat older ones.
    #[arg(long, value_name = "VERSION", default_value = server::ENVD_VERSION, hide_short_help = true)]
    envd_version: String,
}

#[derive(Debug, Args)]
struct Remote {
    /// Address of the server.
    #[arg(long, env = "E2B_API_URL", default_value = "http://localhost:3210")]
    api_url: String,
    /// The server's API key.
    #[arg(long, env = "E2B_API_KEY", hide_env_values = true)]
    api_key: String,
}

#[derive(Debug, Args)]
struct Kill {
    /// Ids of the sandboxes to end.
    #[arg(required_unless_present = "all")]
    ids: Vec<String>,
    /// End every sandbox.
    #[arg(long, conflicts_with = "ids")]
    all: bool,
    #[command(flatten)]
    remote: Remote,
}

/// Runs the program with the process's own arguments.
pub fn main() -> ExitCode {
    // Before anything else: a sandbox's first process must not have started a thread.
    match std::env::args().nth(1).as_deref() {
        Some(INIT_COMMAND) => return init::main(),
        Some(interpreter::COMMAND) => return interpreter::main(),
        _ => {}
    }
    let result = match Cli::parse().command {
        Command::Serve(serve) => run_server(serve),
        Command::List(remote) => client::list(&remote.api_url, &remote.api_key),
        Command::Kill(kill) => {
            let ids = (!kill.all).then_some(&kill.ids[..]);
            client::kill(&kill.remote.api_url, &kill.remote.api_key, ids)
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn parse_range(text: &str) -> Result<Ipv4Net, &'static str> {
    reach::range(text).ok_or("not an IPv4 address or a range like 192.168.1.0/24")
}

fn run_server(serve: Serve) -> Result<()> {
    start_log(serve.json_logs);
    let options = server::Options {
        port: serve.port,
        api_key: serve.api_key,
        template_dir: serve.template_dir,
        debug_ports: serve.debug_ports,
        sandboxes: Config {
            isolation: serve.isolation,
            max_sandboxes: serve.max_sandboxes,
            envd_version: serve.envd_version,
            // Sandboxes are made in processes that work elsewhere.
            kernels: std::path::absolute(serve.kernels.unwrap_or_else(default_kernels))?,
            opened: serve.reachable,
            limits: Limits::new(
                serve.max_processes,
                serve.max_memory.map(|size| size.saturating_mul(MIB)),
                serve.max_disk.map(|size| size.saturating_mul(MIB)),
            ),
        },
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let outcome = runtime.block_on(async {
        let server = server::Server::start(options).await?;
        announce(server.address(), server.api_key());
        if let Some(path) = &serve.ready_file {
            write_ready_file(path, &server).with_context(|| format!("writing {}", path.display()))?;
        }
        server.run().await
    });
    if let Some(path) = &serve.ready_file {
        // It describes a server that is gone.
        let _ = std::fs::remove_file(path);
    }
    runtime.shutdown_timeout(std::time::Duration::from_secs(1));
    outcome
}

/// The folder of the project that holds this program, or else of the one it was built from.
fn default_kernels() -> PathBuf {
    const IN_PROJECT: &str = "build/kernels";
    let program = std::env::current_exe().unwrap_or_default();
    let around = program.ancestors().skip(1).map(|folder| folder.join(IN_PROJECT)).find(|folder| folder.is_dir());
    around.unwrap_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).join(IN_PROJECT))
}

fn start_log(json: bool) {
    use tracing_subscriber::EnvFilter;
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let colours = std::io::IsTerminal::is_terminal(&std::io::stderr());
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let log = log.with_ansi(colours).with_target(false);
    if json {
        log.json().flatten_event(true).init();
    } else {
        log.init();
    }
}

/// The one place that shows the key.
fn announce(address: SocketAddr, api_key: &str) {
    let port = address.port();
    println!("Sandboxes are served on http://localhost:{port}");
    println!();
    println!("For your .env:");
    println!("E2B_API_URL=http://localhost:{port}");
    println!("E2B_DOMAIN=localhost:{port}");
    println!("E2B_SANDBOX_URL=http://localhost:{port}");
    println!("E2B_VOLUME_API_URL=http://localhost:{port}");
    println!("E2B_API_KEY={api_key}");
    println!();
    println!("Stop with Ctrl-C; all sandboxes end with the server.");
}

/// Written under another name first: who waits for the file never sees half of it.
fn write_ready_file(path: &std::path::Path, server: &server::Server) -> Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let port = server.address().port();
    let ready = serde_json::json!({
        "url": format!("http://localhost:{port}"),
        "apiKey": server.api_key(),
        "pid": std::process::id(),
    });
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(format!(".{}", std::process::id()));
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
    file.write_all(ready.to_string().as_bytes())?;
    std::fs::rename(&temporary, path)?;
    Ok(())
}
