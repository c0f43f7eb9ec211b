//! Which capabilities processes of a sandbox may hold, within their own user namespace.

use std::io;

/// What a package manager, a web server or a debugger inside needs. Not among them: mounting, changing the network or
/// going around its routes with packets of one's own making, loading anything, raising limits.
const ALLOWED: [u32; 14] = [
    0,  // CHOWN
    1,  // DAC_OVERRIDE
    2,  // DAC_READ_SEARCH
    3,  // FOWNER
    4,  // FSETID
    5,  // KILL
    6,  // SETGID
    7,  // SETUID
    8,  // SETPCAP
    10, // NET_BIND_SERVICE
    18, // SYS_CHROOT
    19, // SYS_PTRACE
    29, // AUDIT_WRITE
    31, // SETFCAP
];

#[repr(C)]
struct Header {
    version: u32,
    pid: libc::c_int,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Data {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

const VERSION_3: u32 = 0x2008_0522;

/// Limits this process and all it starts to [`ALLOWED`].
pub(crate) fn limit() -> io::Result<()> {
    let allowed = ALLOWED.iter().fold(0u64, |set, bit| set | 1 << bit);
    for capability in 0..64u32 {
        // SAFETY: `prctl` with plain integers.
        let dropped =
            allowed & (1 << capability) != 0 || unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) } == 0;
        if !dropped {
            let error = io::Error::last_os_error();
            // The kernel knows no further capability.
            if error.raw_os_error() == Some(libc::EINVAL) {
                break;
            }
            return Err(error);
        }
    }
    let mut header = Header { version: VERSION_3, pid: 0 };
    let mut data = [Data::default(); 2];
    for (half, data) in data.iter_mut().enumerate() {
        let bits = (allowed >> (32 * half)) as u32;
        *data = Data { effective: bits, permitted: bits, inheritable: 0 };
    }
    // SAFETY: both structures have the layout the kernel expects for this version.
    if unsafe { libc::syscall(libc::SYS_capset, &mut header, data.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
