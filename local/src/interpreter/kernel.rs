//! One kernel: its process, its sockets, and what is said over them. Touches the processes and files of the sandbox.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::{AccessFlags, Pid};
use serde_json::{Value, json};
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, timeout};
use zeromq::{DealerSocket, Socket, SocketRecv, SocketSend, SubSocket, ZmqMessage};

use super::Host;
use super::languages;
use super::wire::{Message, Signer};

/// How long a kernel may take to answer. It takes a second or two; a machine that is busy with others needs longer.
const START_LIMIT: Duration = Duration::from_secs(60);

/// How long a dead kernel's last words may be on their way.
const LAST_WORDS: Duration = Duration::from_millis(50);

const POLL: Duration = Duration::from_millis(5);
const ASK_AGAIN: Duration = Duration::from_millis(100);

/// Why there is no kernel.
#[derive(Debug)]
pub(super) enum StartError {
    /// The working directory cannot be entered.
    Directory,
    Failed(String),
}

/// A kernel that runs. Dropping it ends it.
pub(super) struct Kernel {
    pub(super) kind: languages::Kernel,
    process: Process,
    signer: Signer,
    shell: DealerSocket,
    control: DealerSocket,
    output: SubSocket,
}

/// What a kernel has to say.
pub(super) enum Event {
    /// For everybody: output, status.
    Output(Message),
    /// For who has asked.
    Reply(Message),
    /// The process is gone.
    Died,
}

/// How a run of our own ended.
pub(super) enum Hidden {
    Done,
    /// The code has failed; name and text of the error.
    Raised(String, String),
    Died,
}

struct Process {
    child: Child,
    group: Option<Pid>,
    /// Sockets and connection file.
    folder: PathBuf,
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(group) = self.group {
            // What the kernel has started goes with it. The number is still its own: nobody has waited for the process.
            let _ = killpg(group, Signal::SIGKILL);
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Kernel {
    /// Starts a kernel in `directory` with `variables` on top of the usual environment, and waits until it answers.
    pub(super) async fn start(
        host: &Host,
        kind: languages::Kernel,
        directory: &Path,
        variables: &BTreeMap<String, String>,
    ) -> Result<Kernel, StartError> {
        if nix::unistd::access(directory, AccessFlags::X_OK).is_err() || !directory.is_dir() {
            return Err(StartError::Directory);
        }
        let failed = |error: io::Error| StartError::Failed(error.to_string());
        let signer = Signer::new();
        let folder = host.new_folder().map_err(failed)?;
        let connection_file = write_connection_file(&folder, &signer).map_err(failed)?;
        let command = kind.command(&host.kernels, &connection_file);
        let process = spawn(host, kind, &command, folder, directory, variables).map_err(failed)?;
        match timeout(START_LIMIT, connect(kind, process, signer)).await {
            Ok(connected) => connected,
            Err(_) => Err(StartError::Failed(format!("the kernel did not answer in {} s", START_LIMIT.as_secs()))),
        }
    }

    /// Starts a run; what it says has the returned id as its parent.
    pub(super) async fn execute(&mut self, code: &str, silent: bool, counts: bool) -> Option<String> {
        let content = json!({
            "code": code,
            "silent": silent,
            "store_history": counts,
            "user_expressions": {},
            "allow_stdin": false,
            "stop_on_error": true,
        });
        let request = self.signer.request("execute_request", &content);
        self.shell.send(ZmqMessage::try_from(request.parts).ok()?).await.ok()?;
        Some(request.id)
    }

    /// Runs code of our own, of which clients see nothing.
    pub(super) async fn execute_hidden(&mut self, code: &str, counts: bool) -> Hidden {
        let Some(id) = self.execute(code, true, counts).await else { return Hidden::Died };
        loop {
            match self.next().await {
                Event::Died => return Hidden::Died,
                Event::Reply(message) if message.parent == id => {
                    let content: Value = serde_json::from_str(message.content.get()).unwrap_or_default();
                    let text = |name: &str| content[name].as_str().unwrap_or_default().to_owned();
                    return match content["status"].as_str() {
                        Some("error") => Hidden::Raised(text("ename"), text("evalue")),
                        _ => Hidden::Done,
                    };
                }
                Event::Output(_) | Event::Reply(_) => {}
            }
        }
    }

    /// Asks the kernel to stop what it runs.
    pub(super) async fn interrupt(&mut self) {
        let request = self.signer.request("interrupt_request", &json!({}));
        if let Ok(message) = ZmqMessage::try_from(request.parts) {
            // A kernel that does not listen any more is noticed by who waits for it.
            let _ = self.control.send(message).await;
        }
    }

    /// Asks a question that is answered as soon as the kernel has nothing else to do. The answer has the returned id as
    /// its parent.
    pub(super) async fn ask_when_free(&mut self) -> Option<String> {
        let request = self.signer.request("kernel_info_request", &json!({}));
        self.shell.send(ZmqMessage::try_from(request.parts).ok()?).await.ok()?;
        Some(request.id)
    }

    /// The next thing the kernel says. Nothing is lost when this is cancelled.
    pub(super) async fn next(&mut self) -> Event {
        loop {
            let (message, is_output) = tokio::select! {
                biased;
                message = self.output.recv() => (message, true),
                message = self.shell.recv() => (message, false),
                _ = self.process.child.wait() => return Event::Died,
            };
            let Ok(message) = message else {
                // A socket that fails has lost its kernel, and that is reported by the process.
                sleep(POLL).await;
                continue;
            };
            match self.signer.open(&message.into_vec()) {
                Some(message) if is_output => return Event::Output(message),
                Some(message) => return Event::Reply(message),
                None => {}
            }
        }
    }

    /// What a kernel that has died said before.
    pub(super) async fn last_words(&mut self) -> Option<Message> {
        loop {
            let message = timeout(LAST_WORDS, self.output.recv()).await.ok()?.ok()?;
            if let Some(message) = self.signer.open(&message.into_vec()) {
                return Some(message);
            }
        }
    }
}

/// The names of the sockets in the connection file, each with the number it has there.
const SOCKETS: [(&str, u8); 5] = [("shell", 1), ("iopub", 2), ("stdin", 3), ("control", 4), ("hb", 5)];

/// Local sockets: a port would be open to every process on this machine.
fn write_connection_file(folder: &Path, signer: &Signer) -> io::Result<PathBuf> {
    let mut connection = json!({
        "transport": "ipc",
        "ip": folder.join("s"),
        "key": signer.key(),
        "signature_scheme": "hmac-sha256",
    });
    for (name, number) in SOCKETS {
        connection[format!("{name}_port")] = number.into();
    }
    let path = folder.join("connection.json");
    std::fs::write(&path, connection.to_string())?;
    Ok(path)
}

fn socket_path(folder: &Path, name: &str) -> PathBuf {
    let number = SOCKETS.iter().find(|(socket, _)| *socket == name).map_or(0, |(_, number)| *number);
    folder.join(format!("s-{number}"))
}

fn spawn(
    host: &Host,
    kind: languages::Kernel,
    command: &[PathBuf],
    folder: PathBuf,
    directory: &Path,
    variables: &BTreeMap<String, String>,
) -> io::Result<Process> {
    let system = std::env::var_os("PATH").unwrap_or_default();
    let programs = kind.programs(&host.kernels).into_iter().chain(std::env::split_paths(&system));
    let path = std::env::join_paths(programs).unwrap_or(system.clone());
    let (program, arguments) = command.split_first().ok_or(io::ErrorKind::NotFound)?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .env("PATH", path)
        .env("HOME", &host.home)
        .env("USER", "user")
        .env("LOGNAME", "user")
        .env("LANG", "C.UTF-8")
        .envs(variables)
        .current_dir(directory)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .process_group(0)
        .kill_on_drop(true);
    // SAFETY: between fork and exec only `prctl` runs.
    unsafe {
        command.pre_exec(crate::sandbox::fds::die_with_parent);
    }
    let spawned = command.spawn();
    let child = spawned.inspect_err(|_| {
        let _ = std::fs::remove_dir_all(&folder);
    })?;
    let group = child.id().and_then(|id| i32::try_from(id).ok()).map(Pid::from_raw);
    Ok(Process { child, group, folder })
}

async fn connect(kind: languages::Kernel, mut process: Process, signer: Signer) -> Result<Kernel, StartError> {
    let failed = |error: zeromq::ZmqError| StartError::Failed(format!("connecting to the kernel: {error}"));
    for (name, _) in SOCKETS {
        let path = socket_path(&process.folder, name);
        while !path.exists() {
            if let Ok(Some(status)) = process.child.try_wait() {
                return Err(StartError::Failed(format!("the kernel ended with {status}")));
            }
            sleep(POLL).await;
        }
    }
    let address = |name: &str| format!("ipc://{}", socket_path(&process.folder, name).display());
    let (mut shell, mut control, mut output) = (DealerSocket::new(), DealerSocket::new(), SubSocket::new());
    output.subscribe("").await.map_err(failed)?;
    output.connect(&address("iopub")).await.map_err(failed)?;
    shell.connect(&address("shell")).await.map_err(failed)?;
    control.connect(&address("control")).await.map_err(failed)?;
    let mut kernel = Kernel { kind, process, signer, shell, control, output };
    kernel.wait_until_heard().await?;
    Ok(kernel)
}

impl Kernel {
    /// A subscription takes effect some time after it was made. Asks until an answer comes over both sockets.
    async fn wait_until_heard(&mut self) -> Result<(), StartError> {
        let (mut replied, mut heard) = (false, false);
        let mut asked = None;
        while !(replied && heard) {
            if asked.is_none_or(|time: Instant| time.elapsed() >= ASK_AGAIN) {
                let lost = || StartError::Failed("the kernel does not listen".into());
                self.ask_when_free().await.ok_or_else(lost)?;
                asked = Some(Instant::now());
            }
            match timeout(ASK_AGAIN, self.next()).await {
                Ok(Event::Output(_)) => heard = true,
                Ok(Event::Reply(_)) => replied = true,
                Ok(Event::Died) => return Err(StartError::Failed("the kernel ended while it started".into())),
                Err(_) => {}
            }
        }
        Ok(())
    }
}
