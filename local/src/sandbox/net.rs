//! The inner side of a sandbox's own network: loopback, and the device through which packets leave. What happens to
//! them is decided outside, in [`super::uplink`].

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// The device that [`super::uplink`] gives an address and a program at its other end.
pub(super) const DEVICE: &str = "tap0";

/// Sets `lo` up. In a new network namespace it starts down.
pub(super) fn raise_loopback() -> io::Result<()> {
    let socket = handle()?;
    let mut request = request("lo");
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: the request lives until the call returns, and has the type that this one reads.
    unsafe { set(&socket, libc::SIOCSIFFLAGS, &request) }
}

/// A socket through which whoever holds it, and may, configures the network namespace that this process is in.
pub(super) fn handle() -> io::Result<OwnedFd> {
    // SAFETY: a plain system call that returns a new descriptor.
    unsafe {
        let fd = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// Makes [`DEVICE`], which stays when nothing is attached to it. Must be called as the server's user, who may open the
/// kernel's control file, and in the new network namespace.
pub(super) fn make_device() -> io::Result<()> {
    let control = fs::OpenOptions::new().read(true).write(true).open("/dev/net/tun")?;
    let mut request = request(DEVICE);
    request.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: the request lives until the call returns, and has the type that this one reads; the second takes a number.
    unsafe {
        set(&control, libc::TUNSETIFF as libc::c_ulong, &request)?;
        if libc::ioctl(control.as_raw_fd(), libc::TUNSETPERSIST as _, 1) < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    // Nobody answers in that protocol. Where it cannot be switched off its packets are just lost.
    let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{DEVICE}/disable_ipv6"), "1");
    Ok(())
}

/// Lets the groups `first..=last` send echo requests without a privilege. Best effort: only `ping` misses it.
pub(super) fn allow_echo(first: u32, last: u32) {
    let _ = fs::write("/proc/sys/net/ipv4/ping_group_range", format!("{first} {last}"));
}

/// A request about the device `name`, which is short.
pub(super) fn request(name: &str) -> libc::ifreq {
    // SAFETY: all zeros are a valid value of this structure of numbers.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (place, byte) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *place = byte as libc::c_char;
    }
    request
}

/// # Safety
///
/// `argument` must have the type that the kernel reads for `call`.
pub(super) unsafe fn set<T>(handle: &impl AsRawFd, call: libc::c_ulong, argument: &T) -> io::Result<()> {
    // SAFETY: the caller's promise.
    if unsafe { libc::ioctl(handle.as_raw_fd(), call as _, std::ptr::from_ref(argument)) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// # Safety
///
/// `argument` must have the type that the kernel reads and writes for `call`.
pub(super) unsafe fn get<T>(handle: &impl AsRawFd, call: libc::c_ulong, argument: &mut T) -> io::Result<()> {
    // SAFETY: the caller's promise.
    if unsafe { libc::ioctl(handle.as_raw_fd(), call as _, std::ptr::from_mut(argument)) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
