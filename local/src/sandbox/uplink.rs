//! The outer side of a sandbox's own network: its address, its routes, and the program that turns its packets into
//! connections of this machine.
//!
//! That program is `slirp4netns`, which needs no privilege and changes nothing of this machine's network. It is started
//! for each sandbox, beside it, and may fail without consequences: it is started again. What a sandbox may reach is
//! decided by the routes in its namespace, which nobody inside can change and which apply to what is under way as well.

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use ipnet::Ipv4Net;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{ChildStderr, Command};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::fds;
use super::launch::Nursery;
use super::net::{DEVICE, get, request, set};
use super::reach::{Reach, Routes, Verdict};

/// The network that `slirp4netns` plays: the sandbox, a gateway that leads out, and a resolver.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 100);
const NETMASK: Ipv4Addr = Ipv4Addr::new(255, 255, 255, 0);
const GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 2);
pub(super) const RESOLVER: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 3);

/// Large packets: there is no wire.
const MTU: u16 = 65520;

/// How long to wait before a program that ended is started again; longer each time.
const SHORTEST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// A program that does not answer after this time never will.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);

/// A question that was put before anybody listened is lost. The kernel repeats it after a second.
const ASK_AGAIN: Duration = Duration::from_millis(20);

const LONGEST_LINE: u64 = 4096;

type Confinement = &'static [&'static str];

/// How far the program can confine itself, best first. What it knows depends on its version.
pub(super) fn confinements() -> &'static [Confinement] {
    const ALL: [Confinement; 3] = [&["--enable-sandbox", "--enable-seccomp"], &["--enable-seccomp"], &[]];
    // A file system of its own it only makes as root: to others, its way there leads through user 0 of the sandbox, whom
    // they cannot become.
    if nix::unistd::geteuid().is_root() { &ALL } else { &ALL[1..] }
}

/// How many connections of a sandbox there may be at a time.
const CONNECTIONS: libc::rlim_t = 4096;

/// What all uplinks have in common.
#[derive(Debug, Clone)]
pub(crate) struct Provider {
    program: PathBuf,
    confinement: Confinement,
    /// What the operator opens although it is private.
    opened: Vec<Ipv4Net>,
}

impl Provider {
    /// `None` when the program is not installed.
    pub(super) fn find(opened: Vec<Ipv4Net>) -> Option<Self> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut programs = std::env::split_paths(&path).map(|folder| folder.join("slirp4netns"));
        let program = programs.find(|program| program.is_file())?;
        Some(Provider { program, confinement: &[], opened })
    }

    /// The same with one of [`confinements`].
    pub(super) fn confined(&self, confinement: Confinement) -> Self {
        Provider { confinement, ..self.clone() }
    }

    fn command(&self, process: u32) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(self.confinement)
            .args(["--disable-host-loopback", "--netns-type=path"])
            .arg(format!("--mtu={MTU}"))
            .arg(format!("--userns-path=/proc/{process}/ns/user"))
            .arg(format!("/proc/{process}/ns/net"))
            .arg(DEVICE)
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        // SAFETY: between fork and exec only system calls run.
        unsafe {
            command.pre_exec(|| {
                let limit = libc::rlimit { rlim_cur: CONNECTIONS, rlim_max: CONNECTIONS };
                // A machine that allows less is a limit, too.
                let _ = libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
                fds::die_with_parent()
            });
        }
        command
    }
}

/// The network of one sandbox.
pub(crate) struct Uplink {
    provider: Provider,
    /// Configures the namespace it was made in.
    handle: OwnedFd,
    routes: Mutex<Routes>,
    wanted: watch::Sender<Wanted>,
    /// Why the program ended, if it ever did by itself.
    failure: watch::Sender<Option<String>>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Wanted {
    /// Some address is open.
    open: bool,
    /// The sandbox is paused, and so are its connections.
    paused: bool,
}

impl Uplink {
    /// Sets up the network that `handle` belongs to. Nothing leaves it without a [`Helper`].
    pub(super) fn new(provider: Provider, handle: OwnedFd, reach: &Reach) -> Result<Self> {
        configure(&handle).context("setting up the network of the sandbox")?;
        let (wanted, failure) = (watch::Sender::default(), watch::Sender::default());
        let uplink = Uplink { provider, handle, routes: Mutex::default(), wanted, failure };
        uplink.limit(reach)?;
        Ok(uplink)
    }

    /// Changes what the sandbox may reach, at once.
    pub(crate) fn limit(&self, reach: &Reach) -> Result<()> {
        let new = reach.routes(&own_addresses(), &self.provider.opened);
        let mut routes = self.routes.lock().unwrap_or_else(PoisonError::into_inner);
        let old = routes.clone();
        let changed = |from: &Routes, to: &Routes, wanted: Verdict| -> Vec<Ipv4Net> {
            let differs =
                |(range, verdict): &(&Ipv4Net, &Verdict)| to.get(range) != Some(verdict) && **verdict == wanted;
            from.iter().filter(differs).map(|(range, _)| *range).collect()
        };
        // What is to be closed is closed before anything is opened: at no time is more open than before or afterwards.
        for (call, verdict) in [
            (libc::SIOCDELRT, Verdict::Gateway),
            (libc::SIOCADDRT, Verdict::Reject),
            (libc::SIOCDELRT, Verdict::Reject),
            (libc::SIOCADDRT, Verdict::Gateway),
        ] {
            let adding = call == libc::SIOCADDRT;
            let ranges = if adding { changed(&new, &old, verdict) } else { changed(&old, &new, verdict) };
            for range in ranges {
                route(&self.handle, call, range, verdict).with_context(|| format!("changing the route to {range}"))?;
                if adding {
                    routes.insert(range, verdict)
                } else {
                    routes.remove(&range)
                };
            }
        }
        let open = new.values().any(|verdict| *verdict == Verdict::Gateway);
        self.wanted.send_modify(|wanted| wanted.open = open);
        Ok(())
    }

    /// Breaks the sandbox's connections, or lets it make new ones.
    pub(super) fn set_paused(&self, paused: bool) {
        self.wanted.send_modify(|wanted| wanted.paused = paused);
    }

    /// Keeps the program running while it is wanted, until `ended`. `process` is in the sandbox's namespaces.
    async fn run(self: Arc<Self>, nursery: Arc<Nursery>, id: String, process: u32, ended: CancellationToken) {
        let mut changes = self.wanted.subscribe();
        let mut pause = SHORTEST_PAUSE;
        while ended.run_until_cancelled(until(&mut changes, true)).await.is_some() {
            let started = Instant::now();
            let failure = match nursery.spawn(self.provider.command(process)).await {
                Ok(mut child) => {
                    let words = child.stderr.take().map(|stderr| tokio::spawn(last_words(stderr)));
                    let stop = tokio::select! {
                        _ = child.wait() => false,
                        () = until(&mut changes, false) => true,
                        () = ended.cancelled() => true,
                    };
                    if stop {
                        // One that is gone already is fine.
                        let _ = child.kill().await;
                        continue;
                    }
                    let words = match words {
                        Some(words) => words.await.unwrap_or_default(),
                        None => String::new(),
                    };
                    format!("slirp4netns ended: {words}")
                }
                Err(error) => format!("{error:#}"),
            };
            tracing::warn!(sandbox = id, "its network is down for now: {failure}");
            self.failure.send_replace(Some(failure));
            pause = if started.elapsed() > LONGEST_PAUSE { SHORTEST_PAUSE } else { (pause * 2).min(LONGEST_PAUSE) };
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = ended.cancelled() => {}
            }
        }
    }

    /// Waits until somebody answers at the other end, or it is certain that nobody will.
    pub(super) async fn answers(&self) -> Result<()> {
        let started = Instant::now();
        let mut asked = None::<Instant>;
        while started.elapsed() < ANSWER_LIMIT {
            if let Some(failure) = &*self.failure.borrow() {
                bail!("{failure}");
            }
            if asked.is_some() && was_answered(&self.handle) {
                return Ok(());
            }
            if asked.is_none_or(|then| then.elapsed() >= ASK_AGAIN) && is_attached(&self.handle)? {
                ask(&self.handle)?;
                asked = Some(Instant::now());
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        bail!("slirp4netns does not answer")
    }
}

/// The last line that the program wrote.
async fn last_words(stderr: ChildStderr) -> String {
    let mut lines = BufReader::new(stderr);
    let (mut line, mut last) = (Vec::new(), String::new());
    loop {
        line.clear();
        match (&mut lines).take(LONGEST_LINE).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return last,
            Ok(_) => last = String::from_utf8_lossy(&line).trim_end().to_owned(),
        }
    }
}

/// Waits until the program is to run, or is not to.
async fn until(changes: &mut watch::Receiver<Wanted>, running: bool) {
    // The sender lives as long as whoever waits here.
    let _ = changes.wait_for(|wanted| (wanted.open && !wanted.paused) == running).await;
}

/// The program beside a sandbox. Dropping this ends it, sooner or later.
pub(crate) struct Helper {
    task: JoinHandle<()>,
    ended: DropGuard,
}

impl Helper {
    pub(super) fn start(uplink: &Arc<Uplink>, nursery: &Arc<Nursery>, id: &str, process: u32) -> Self {
        let ended = CancellationToken::new();
        let run = Arc::clone(uplink).run(Arc::clone(nursery), id.to_owned(), process, ended.clone());
        Helper { task: tokio::spawn(run), ended: ended.drop_guard() }
    }

    /// Ends the program and waits for it.
    pub(super) async fn end(self) {
        drop(self.ended);
        // If it panicked the child was dropped, which kills it.
        let _ = self.task.await;
    }
}

fn configure(handle: &OwnedFd) -> io::Result<()> {
    let mut device = request(DEVICE);
    // SAFETY: each call reads the member of the request that was just written.
    unsafe {
        device.ifr_ifru.ifru_addr = address(ADDRESS);
        set(handle, libc::SIOCSIFADDR, &device)?;
        device.ifr_ifru.ifru_netmask = address(NETMASK);
        set(handle, libc::SIOCSIFNETMASK, &device)?;
        device.ifr_ifru.ifru_mtu = libc::c_int::from(MTU);
        set(handle, libc::SIOCSIFMTU, &device)?;
        device.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
        set(handle, libc::SIOCSIFFLAGS, &device)
    }
}

fn route(handle: &OwnedFd, call: libc::c_ulong, range: Ipv4Net, verdict: Verdict) -> io::Result<()> {
    // SAFETY: all zeros are a valid value of this structure of numbers and a pointer.
    let mut entry: libc::rtentry = unsafe { std::mem::zeroed() };
    entry.rt_dst = address(range.network());
    entry.rt_genmask = address(range.netmask());
    entry.rt_flags = libc::RTF_UP
        | match verdict {
            Verdict::Gateway => libc::RTF_GATEWAY,
            Verdict::Reject => libc::RTF_REJECT,
        };
    if verdict == Verdict::Gateway {
        entry.rt_gateway = address(GATEWAY);
    }
    // SAFETY: both calls read an entry of this type.
    unsafe { set(handle, call, &entry) }
}

/// Whether the program holds the other end of the device.
fn is_attached(handle: &OwnedFd) -> io::Result<bool> {
    let mut device = request(DEVICE);
    // SAFETY: the call fills in the member that is read afterwards.
    unsafe {
        get(handle, libc::SIOCGIFFLAGS, &mut device)?;
        Ok(libc::c_int::from(device.ifr_ifru.ifru_flags) & libc::IFF_RUNNING != 0)
    }
}

/// Makes the kernel look for the gateway, even if it is just doing that.
fn ask(handle: &OwnedFd) -> io::Result<()> {
    // SAFETY: the call reads an entry of this type. There is nothing to forget the first time.
    let _ = unsafe { set(handle, libc::SIOCDARP, &gateway_entry()) };
    let discard = std::net::SocketAddrV4::new(GATEWAY, 9);
    let discard = nix::sys::socket::SockaddrIn::from(discard);
    nix::sys::socket::sendto(handle.as_raw_fd(), b"", &discard, nix::sys::socket::MsgFlags::MSG_DONTWAIT)?;
    Ok(())
}

/// Whether the kernel has found the gateway.
fn was_answered(handle: &OwnedFd) -> bool {
    let mut entry = gateway_entry();
    // SAFETY: the call completes an entry of this type.
    unsafe { get(handle, libc::SIOCGARP, &mut entry) }.is_ok() && entry.arp_flags & libc::ATF_COM != 0
}

/// What the kernel knows about the gateway, for a call to fill in or to forget.
fn gateway_entry() -> libc::arpreq {
    // SAFETY: all zeros are a valid value of this structure of numbers.
    let mut entry: libc::arpreq = unsafe { std::mem::zeroed() };
    entry.arp_pa = address(GATEWAY);
    for (place, byte) in entry.arp_dev.iter_mut().zip(DEVICE.bytes()) {
        *place = byte as libc::c_char;
    }
    entry
}

fn address(address: Ipv4Addr) -> libc::sockaddr {
    let address = libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: 0,
        sin_addr: libc::in_addr { s_addr: u32::from(address).to_be() },
        sin_zero: [0; 8],
    };
    // SAFETY: the kernel's own convention: both have the same size, and the family says which it is.
    unsafe { std::mem::transmute(address) }
}

/// The addresses at which this machine can be reached, loopback aside.
fn own_addresses() -> Vec<Ipv4Net> {
    let interfaces = nix::ifaddrs::getifaddrs().into_iter().flatten();
    let addresses = interfaces.filter_map(|interface| Some(interface.address?.as_sockaddr_in()?.ip()));
    addresses.filter(|address| !address.is_loopback()).map(Ipv4Net::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_in_network_order() {
        let address = address(Ipv4Addr::new(1, 2, 3, 4));
        assert_eq!(address.sa_data[..6].iter().map(|byte| *byte as u8).collect::<Vec<_>>(), [0, 0, 1, 2, 3, 4]);
    }
}
