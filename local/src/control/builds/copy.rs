//! The step that takes files from an uploaded archive.
//!
//! The archive is anybody's work. It is written anew here, with nothing in it but files, directories and links that lie in
//! it, and unpacked in the sandbox, in a directory that only its root can reach.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail};
use axum::body::Body;
use flate2::read::MultiGzDecoder;
use tar::{Archive, Builder, EntryType, Header};
use tokio_util::io::ReaderStream;

use crate::control::daemon::{self, Command, Ended, Output};
use crate::sandbox::registry::Sandbox;

/// What an archive may unpack to, in bytes.
const LARGEST: u64 = 2 << 30;

/// How many entries it may have.
const MOST_ENTRIES: usize = 100_000;

const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Unpacks what was uploaded and moves it to its place. Everything it needs is in variables, so that no name is ever read as a
/// command. A single file goes to exactly the destination unless that is a directory or ends with a slash; a directory's
/// content goes into the destination; whatever a pattern finds goes there under its own name.
const SCRIPT: &str = r#"
set -eu
shopt -s dotglob globstar nullglob
files=$COPY_WORK/files
mkdir "$files"
tar -xpof "$COPY_WORK/files.tar" -C "$files"
own() { if [ "$(id -u)" = 0 ]; then chown -hR -- "$COPY_OWNER" "$@"; fi; }
make() { if [ ! -d "$1" ]; then make "$(dirname -- "$1")"; mkdir -- "$1"; own "$1"; fi; }
own "$files"
if [ -n "$COPY_MODE" ]; then find "$files" -mindepth 1 ! -type l -exec chmod -- "$COPY_MODE" {} +; fi
cd -- "$COPY_CWD"
IFS=
if [ -e "$files/$COPY_SOURCE" ] || [ -L "$files/$COPY_SOURCE" ]; then
  found=("$files/$COPY_SOURCE")
else
  found=("$files"/$COPY_SOURCE)
fi
if [ ${#found[@]} = 0 ]; then echo "nothing in the uploaded archive matches $COPY_SOURCE" >&2; exit 1; fi
if [ ${#found[@]} = 1 ] && [ -d "${found[0]}" ] && [ ! -L "${found[0]}" ]; then
  make "$COPY_TARGET"
  for entry in "${found[0]}"/*; do cp -a -- "$entry" "$COPY_TARGET/"; done
elif [ ${#found[@]} = 1 ] && [ "${COPY_TARGET%/}" = "$COPY_TARGET" ] && [ ! -d "$COPY_TARGET" ]; then
  make "$(dirname -- "$COPY_TARGET")"
  cp -a -- "${found[0]}" "$COPY_TARGET"
else
  make "$COPY_TARGET"
  last=
  for entry in "${found[@]}"; do
    # What lies in a directory comes with it.
    if [ -n "$last" ] && [ "${entry#"$last"/}" != "$entry" ]; then continue; fi
    last=$entry
    cp -a -- "$entry" "$COPY_TARGET/"
  done
fi
"#;

/// One copy to be made.
pub(super) struct Copy<'a> {
    /// A path or a pattern in the archive; empty for everything.
    pub(super) source: &'a str,
    pub(super) target: &'a str,
    pub(super) owner: &'a str,
    /// Octal; empty to leave modes as they are.
    pub(super) mode: &'a str,
    pub(super) cwd: &'a str,
}

pub(super) async fn copy(
    sandbox: &Sandbox,
    archive: &File,
    copy: &Copy<'_>,
    output: &mut (dyn FnMut(Output, &[u8]) + Send),
) -> Result<Ended> {
    // The same file with a position of its own: builds may share it.
    let archive = File::open(format!("/proc/self/fd/{}", archive.as_raw_fd())).context("opening the upload")?;
    let clean = tokio::task::spawn_blocking(move || rewrite(archive)).await?.context("the uploaded archive")?;
    let work = format!("/root/.copy-{:016x}", rand::random::<u64>());
    let content = Body::from_stream(ReaderStream::new(tokio::fs::File::from_std(clean)));
    daemon::write(sandbox, &format!("{work}/files.tar"), "root", content).await.context("sending the files")?;
    let envs = [
        ("COPY_WORK", work.as_str()),
        ("COPY_SOURCE", copy.source),
        ("COPY_TARGET", copy.target),
        ("COPY_OWNER", copy.owner),
        ("COPY_MODE", copy.mode),
        ("COPY_CWD", copy.cwd),
    ];
    let envs = BTreeMap::from(envs.map(|(name, value)| (name.to_owned(), value.to_owned())));
    let command = |script| Command { script, user: "root", cwd: Some("/"), envs: &envs };
    let ended = daemon::run(sandbox, &command(SCRIPT), output).await;
    let removed = daemon::run(sandbox, &command(r#"rm -rf -- "$COPY_WORK""#), &mut |_, _| ()).await;
    let ended = ended?;
    removed.context("removing what was unpacked")?;
    Ok(ended)
}

/// The archive, decompressed and with only what belongs into it.
fn rewrite(mut archive: File) -> Result<File> {
    let mut magic = [0; GZIP.len()];
    let length = archive.read(&mut magic)?;
    archive.rewind()?;
    let plain: Box<dyn Read> = match magic {
        GZIP if length == GZIP.len() => Box::new(MultiGzDecoder::new(BufReader::new(archive))),
        _ => Box::new(BufReader::new(archive)),
    };
    let out = tempfile::tempfile()?;
    let mut builder = Builder::new(BufWriter::new(out));
    // A bomb may hide in what the reader skips as well.
    copy_entries(Archive::new(plain.take(LARGEST)), &mut builder)?;
    let mut out = builder.into_inner()?.into_inner().map_err(io::IntoInnerError::into_error)?;
    out.rewind()?;
    Ok(out)
}

fn copy_entries(mut archive: Archive<impl Read>, out: &mut Builder<impl Write>) -> Result<()> {
    let mut seen: HashMap<PathBuf, EntryType> = HashMap::new();
    for entry in archive.entries()? {
        let mut entry = entry.context("it is not a whole tar archive")?;
        let kind = match entry.header().entry_type() {
            // They describe entries that follow.
            EntryType::XGlobalHeader => continue,
            EntryType::Continuous | EntryType::GNUSparse => EntryType::Regular,
            kind => kind,
        };
        let given = entry.path()?.into_owned();
        let Some(path) = inside(&given)? else { continue };
        // Nothing is written through a link, nor over something else.
        for above in path.ancestors().skip(1) {
            if seen.get(above).is_some_and(|kind| *kind != EntryType::Directory) {
                bail!("{} lies below something that is no directory", given.display());
            }
        }
        if seen.get(&path).is_some_and(|before| *before != kind || kind != EntryType::Directory) {
            bail!("it has {} twice", given.display());
        }
        if seen.len() >= MOST_ENTRIES {
            bail!("it has more than {MOST_ENTRIES} entries");
        }
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(entry.header().mode()? & 0o7777);
        header.set_mtime(entry.header().mtime().unwrap_or(0));
        header.set_uid(0);
        header.set_gid(0);
        header.set_size(0);
        match kind {
            EntryType::Regular => {
                header.set_size(entry.size());
                out.append_data(&mut header, &path, &mut entry)
                    .with_context(|| format!("{} is cut off, or all together is too large", given.display()))?;
            }
            EntryType::Directory => out.append_data(&mut header, &path, io::empty())?,
            EntryType::Symlink => {
                let target = entry.link_name()?.context("a link without a target")?.into_owned();
                out.append_link(&mut header, &path, &target)?;
            }
            EntryType::Link => {
                let target = entry.link_name()?.context("a link without a target")?.into_owned();
                let target = inside(&target)?.unwrap_or_default();
                if seen.get(&target) != Some(&EntryType::Regular) {
                    bail!("{} is a link to something that is no file of the archive", given.display());
                }
                out.append_link(&mut header, &path, &target)?;
            }
            _ => bail!("{} is neither a file, a directory nor a link", given.display()),
        }
        seen.insert(path, if kind == EntryType::Link { EntryType::Regular } else { kind });
    }
    Ok(())
}

/// The path without its dots; `None` for the top itself.
fn inside(path: &Path) -> Result<Option<PathBuf>> {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(part) => clean.push(part),
            Component::CurDir => {}
            _ => bail!("{} leads out of the archive", path.display()),
        }
    }
    Ok((!clean.as_os_str().is_empty()).then_some(clean))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An entry whose name and target are written as they are: the library would refuse some of them.
    fn entry(name: &str, kind: EntryType, target: &str, content: &[u8]) -> Vec<u8> {
        let mut header = Header::new_gnu();
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.as_old_mut().linkname[..target.len()].copy_from_slice(target.as_bytes());
        header.set_entry_type(kind);
        header.set_mode(0o644);
        header.set_size(content.len() as u64);
        header.set_cksum();
        let mut bytes = header.as_bytes().to_vec();
        bytes.extend(content);
        bytes.resize(bytes.len().next_multiple_of(512), 0);
        bytes
    }

    fn rewritten(entries: &[Vec<u8>]) -> Result<Vec<(String, EntryType)>> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&entries.concat()).unwrap();
        file.write_all(&[0; 1024]).unwrap();
        file.rewind().unwrap();
        let mut archive = Archive::new(rewrite(file)?);
        let entries = archive.entries()?.map(|entry| {
            let entry = entry.unwrap();
            (entry.path().unwrap().display().to_string(), entry.header().entry_type())
        });
        Ok(entries.collect())
    }

    #[test]
    fn files_directories_and_links_pass() {
        let (file, dir) = (EntryType::Regular, EntryType::Directory);
        let entries = [
            entry("./", dir, "", b""),
            entry("dir/", dir, "", b""),
            entry("./dir/a", file, "", b"abc"),
            entry("dir/b", EntryType::Symlink, "/etc/passwd", b""),
            entry("c", EntryType::Link, "dir/a", b""),
        ];
        let names = rewritten(&entries).unwrap();
        let expected = [("dir", dir), ("dir/a", file), ("dir/b", EntryType::Symlink), ("c", EntryType::Link)];
        assert_eq!(names, expected.map(|(name, kind)| (name.to_owned(), kind)));
    }

    #[test]
    fn what_leads_elsewhere_is_refused() {
        let file = |name: &str| entry(name, EntryType::Regular, "", b"x");
        let link = |name: &str, target: &str| entry(name, EntryType::Symlink, target, b"");
        for (entries, what) in [
            (vec![file("../x")], "leads out"),
            (vec![file("/etc/x")], "leads out"),
            (vec![file("a/../../x")], "leads out"),
            (vec![link("a", "/etc"), file("a/passwd")], "below something"),
            (vec![link("a", "/etc/passwd"), file("a")], "twice"),
            (vec![file("a"), file("a")], "twice"),
            (vec![file("a"), file("a/b")], "below something"),
            (vec![entry("a", EntryType::Link, "../../etc/shadow", b"")], "leads out"),
            (vec![entry("a", EntryType::Link, "b", b"")], "no file of the archive"),
            (vec![link("b", "/etc/shadow"), entry("a", EntryType::Link, "b", b"")], "no file of the archive"),
            (vec![entry("null", EntryType::Char, "", b"")], "neither a file"),
            (vec![entry("disk", EntryType::Block, "", b"")], "neither a file"),
            (vec![entry("pipe", EntryType::Fifo, "", b"")], "neither a file"),
            (
                vec![b"this is not an archive, but it is long enough for a header to be read from it".repeat(10)],
                "not a whole",
            ),
        ] {
            let error = format!("{:#}", rewritten(&entries).unwrap_err());
            assert!(error.contains(what), "{error} lacks {what}");
        }
    }

    #[test]
    fn an_archive_that_is_cut_is_refused() {
        let mut whole = entry("a", EntryType::Regular, "", &[1; 5000]);
        whole.truncate(2000);
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&whole).unwrap();
        file.rewind().unwrap();
        assert!(rewrite(file).is_err());
    }
}
