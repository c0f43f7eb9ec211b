//! A sandbox's files as one stream, and back: what a snapshot is made of.
//!
//! Written and read by sandboxes themselves, who alone know their users by number. Whoever writes must be alone with
//! the files, and they are walked by name without following links: nothing in them can lead elsewhere.

use std::collections::HashMap;
use std::fs::{self, File, Metadata};
use std::io::{self, BufReader, BufWriter, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, lchown};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use nix::sys::stat::{Mode, SFlag, UtimensatFlags, mknod, utimensat};
use nix::sys::time::TimeSpec;
use tar::{Archive, Builder, EntryType, Header};

/// The parts of the tree that are kept: the root's own files, and the layers over the host's directories.
const PARTS: [&str; 2] = ["root", "upper"];

/// Extended attributes travel under this key, name and value encoded: both may hold what the format cannot.
const ATTRIBUTE: &str = "AGENTSANDBOX.xattr.";

/// Attributes of the overlay that say where a copy came from. They are hints, and wrong anywhere else.
const OVERLAY_HINTS: [&[u8]; 2] = [b"user.overlay.origin", b"user.overlay.uuid"];

/// Writes the files of `tree` to `out`. Changes the working directory.
pub(super) fn write(tree: &OwnedFd, out: File) -> Result<()> {
    nix::unistd::fchdir(tree)?;
    let mut archive = Builder::new(BufWriter::with_capacity(1 << 18, out));
    let mut linked = HashMap::new();
    let mut pending: Vec<PathBuf> = PARTS.iter().rev().map(PathBuf::from).collect();
    while let Some(path) = pending.pop() {
        let meta = fs::symlink_metadata(&path).with_context(|| format!("reading {}", path.display()))?;
        append(&mut archive, &path, &meta, &mut linked).with_context(|| format!("copying {}", path.display()))?;
        if meta.is_dir() {
            for entry in fs::read_dir(&path).with_context(|| format!("reading {}", path.display()))? {
                pending.push(entry?.path());
            }
        }
    }
    archive.into_inner()?.flush().context("writing the archive")
}

fn append<W: Write>(
    archive: &mut Builder<W>,
    path: &Path,
    meta: &Metadata,
    linked: &mut HashMap<(u64, u64), PathBuf>,
) -> Result<()> {
    let kind = meta.file_type();
    // Whoever listened there is not part of a snapshot.
    if kind.is_socket() {
        return Ok(());
    }
    let mut header = Header::new_gnu();
    header.set_metadata(meta);
    if !meta.is_dir() && meta.nlink() > 1 {
        if let Some(first) = linked.get(&(meta.dev(), meta.ino())) {
            header.set_entry_type(EntryType::Link);
            header.set_size(0);
            return Ok(archive.append_link(&mut header, path, first)?);
        }
        linked.insert((meta.dev(), meta.ino()), path.to_owned());
    }
    attributes(archive, path)?;
    if kind.is_file() {
        archive.append_file(path, &mut File::open(path)?)?;
    } else if kind.is_symlink() {
        header.set_size(0);
        archive.append_link(&mut header, path, fs::read_link(path)?)?;
    } else {
        header.set_size(0);
        archive.append_data(&mut header, path, io::empty())?;
    }
    Ok(())
}

fn attributes<W: Write>(archive: &mut Builder<W>, path: &Path) -> Result<()> {
    let encode = |bytes: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(bytes);
    let mut found = Vec::new();
    for name in xattr::list(path).into_iter().flatten() {
        if OVERLAY_HINTS.contains(&name.as_bytes()) {
            continue;
        }
        if let Some(value) = xattr::get(path, &name)? {
            found.push((format!("{ATTRIBUTE}{}", encode(name.as_bytes())), encode(&value)));
        }
    }
    if !found.is_empty() {
        archive.append_pax_extensions(found.iter().map(|(name, value)| (name.as_str(), value.as_bytes())))?;
    }
    Ok(())
}

/// Puts the files of an archive below `base`, which has none of them yet.
pub(super) fn restore(archive: File, base: &Path) -> Result<()> {
    let mut archive = Archive::new(BufReader::with_capacity(1 << 18, archive));
    archive.set_preserve_permissions(true);
    archive.set_preserve_ownerships(true);
    archive.set_preserve_mtime(true);
    let mut directories = Vec::new();
    for entry in archive.entries()? {
        let mut entry = entry?;
        let path = below(base, &entry.path()?)?;
        let attributes = read_attributes(&mut entry)?;
        let header = entry.header().clone();
        let mode = Mode::from_bits_truncate(header.mode()?);
        match header.entry_type() {
            EntryType::Directory => {
                fs::create_dir(&path)?;
                directories.push((path.clone(), header));
            }
            EntryType::Link => {
                let target = entry.link_name()?.context("a hard link without a target")?;
                fs::hard_link(below(base, &target)?, &path)?;
            }
            // The only device a sandbox can have made is an overlay's mark for a removed file, which is number 0.
            EntryType::Char => mknod(&path, SFlag::S_IFCHR, mode, 0)?,
            EntryType::Fifo => {
                mknod(&path, SFlag::S_IFIFO, mode, 0)?;
                own(&path, &header)?;
            }
            _ => {
                entry.unpack(&path).with_context(|| format!("restoring {}", path.display()))?;
            }
        }
        for (name, value) in attributes {
            // A file system without them loses them.
            let _ = xattr::set(&path, name, &value);
        }
    }
    // Last: files in a directory change its time, and may not be made in it any more.
    for (path, header) in directories.iter().rev() {
        own(path, header)?;
        let time = TimeSpec::new(i64::try_from(header.mtime()?).unwrap_or(0), 0);
        utimensat(nix::fcntl::AT_FDCWD, path, &time, &time, UtimensatFlags::NoFollowSymlink)?;
    }
    Ok(())
}

fn own(path: &Path, header: &Header) -> Result<()> {
    let (user, group) = (u32::try_from(header.uid()?)?, u32::try_from(header.gid()?)?);
    lchown(path, Some(user), Some(group))?;
    Ok(fs::set_permissions(path, fs::Permissions::from_mode(header.mode()?))?)
}

fn below(base: &Path, path: &Path) -> Result<PathBuf> {
    if !path.components().all(|part| matches!(part, Component::Normal(_))) {
        bail!("the archive has a strange path: {}", path.display());
    }
    Ok(base.join(path))
}

type Attributes = Vec<(std::ffi::OsString, Vec<u8>)>;

fn read_attributes<R: io::Read>(entry: &mut tar::Entry<'_, R>) -> Result<Attributes> {
    let mut found = Vec::new();
    let Some(extensions) = entry.pax_extensions()? else { return Ok(found) };
    for extension in extensions {
        let extension = extension?;
        if let Some(name) = extension.key()?.strip_prefix(ATTRIBUTE) {
            let name = std::ffi::OsString::from_vec(BASE64_URL_SAFE_NO_PAD.decode(name)?);
            found.push((name, BASE64_URL_SAFE_NO_PAD.decode(extension.value_bytes())?));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The working directory belongs to the whole process, so that the writer gets a process of its own.
    fn write_in_child(tree: &Path, out: &File) {
        let (tree, out) = (OwnedFd::from(File::open(tree).unwrap()), out.try_clone().unwrap());
        // SAFETY: the child only copies files and ends.
        match unsafe { nix::unistd::fork() }.unwrap() {
            nix::unistd::ForkResult::Child => std::process::exit(i32::from(write(&tree, out).is_err())),
            nix::unistd::ForkResult::Parent { child } => {
                let status = nix::sys::wait::waitpid(child, None).unwrap();
                assert_eq!(status, nix::sys::wait::WaitStatus::Exited(child, 0));
            }
        }
    }

    #[test]
    fn everything_that_makes_up_a_file_survives() {
        let from = tempfile::tempdir().unwrap();
        let root = from.path().join("root");
        let long = root.join("d".repeat(120)).join("e".repeat(120));
        fs::create_dir_all(&long).unwrap();
        fs::create_dir(from.path().join("upper")).unwrap();
        fs::write(long.join("deep"), "deep").unwrap();
        fs::write(root.join("secret"), "s").unwrap();
        fs::set_permissions(root.join("secret"), fs::Permissions::from_mode(0o4600)).unwrap();
        fs::hard_link(root.join("secret"), root.join("twin")).unwrap();
        std::os::unix::fs::symlink("../../outside", root.join("link")).unwrap();
        File::create(root.join("sparse")).unwrap().set_len(1 << 32).unwrap();
        nix::unistd::mkfifo(&root.join("pipe"), Mode::from_bits_truncate(0o640)).unwrap();
        let strange = root.join(std::ffi::OsStr::from_bytes(b"new\nline \xff"));
        fs::write(&strange, "x").unwrap();
        let attributes = xattr::set(&strange, "user.key", b"a\nb=\xff").is_ok();
        fs::create_dir(root.join("closed")).unwrap();
        fs::write(root.join("closed/file"), "").unwrap();
        fs::set_permissions(root.join("closed"), fs::Permissions::from_mode(0o500)).unwrap();

        let mut out = tempfile::tempfile().unwrap();
        write_in_child(from.path(), &out);
        assert!(out.metadata().unwrap().len() < 1 << 20, "holes are not written");
        io::Seek::rewind(&mut out).unwrap();
        let to = tempfile::tempdir().unwrap();
        restore(out, to.path()).unwrap();

        let root = to.path().join("root");
        assert_eq!(fs::read(root.join("d".repeat(120)).join("e".repeat(120)).join("deep")).unwrap(), b"deep");
        let secret = fs::metadata(root.join("secret")).unwrap();
        assert_eq!(secret.mode() & 0o7777, 0o4600);
        assert_eq!(secret.ino(), fs::metadata(root.join("twin")).unwrap().ino());
        assert_eq!(fs::read_link(root.join("link")).unwrap(), Path::new("../../outside"));
        assert_eq!(fs::metadata(root.join("sparse")).unwrap().len(), 1 << 32);
        assert!(fs::metadata(root.join("pipe")).unwrap().file_type().is_fifo());
        let strange = root.join(std::ffi::OsStr::from_bytes(b"new\nline \xff"));
        assert_eq!(fs::read(&strange).unwrap(), b"x");
        if attributes {
            assert_eq!(xattr::get(&strange, "user.key").unwrap().unwrap(), b"a\nb=\xff");
        }
        assert_eq!(fs::metadata(root.join("closed")).unwrap().mode() & 0o777, 0o500);
        assert!(fs::metadata(to.path().join("upper")).unwrap().is_dir());
        fs::set_permissions(root.join("closed"), fs::Permissions::from_mode(0o700)).unwrap();
        fs::set_permissions(from.path().join("root/closed"), fs::Permissions::from_mode(0o700)).unwrap();
    }

    #[test]
    fn paths_that_lead_out_are_refused() {
        for path in ["../x", "/x", "a/../../x"] {
            assert!(below(Path::new("/base"), Path::new(path)).is_err(), "{path}");
        }
    }
}
