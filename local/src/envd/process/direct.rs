//! Starting a program without the shell in between, which costs as much as a small program itself. Whenever the shell
//! could make a difference, above all when the program cannot be started, it is left to the shell.

use std::ffi::{CString, NulError, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::ptr;

use libc::c_char;

/// Paths are at most this long, as far as the kernel is concerned.
const PATH_LIMIT: usize = 4096;

/// The variable that a shell sets and hands on.
const DIRECTORY: &[u8] = b"PWD=";

/// A program that is where it was expected, allocated before there is a child that becomes it.
pub(super) struct Program {
    place: CString,
    arguments: Pointers,
    environment: Pointers,
}

/// A program and where it may be.
pub(super) struct Direct {
    /// In the order of `PATH`.
    places: Vec<CString>,
    arguments: Pointers,
    environment: Pointers,
    directory: Box<[u8]>,
}

/// Strings with the null-terminated array of pointers to them that the kernel takes. Their bytes stay where they are.
struct Pointers {
    _strings: Vec<CString>,
    pointers: Vec<*const c_char>,
}

// SAFETY: the pointers are to memory that the same value owns, and nobody writes to it.
unsafe impl Send for Pointers {}
// SAFETY: as above.
unsafe impl Sync for Pointers {}

impl Pointers {
    fn new(strings: Vec<CString>, last: Option<*const c_char>) -> Self {
        let pointers = strings.iter().map(|text| text.as_ptr()).chain(last).chain([ptr::null()]).collect();
        Pointers { _strings: strings, pointers }
    }
}

impl Program {
    /// The program at `place`, which gets `words` after its own name.
    pub(super) fn new<'a>(
        place: &'a str,
        words: impl Iterator<Item = &'a str>,
        environment: impl Iterator<Item = (&'a OsStr, &'a OsStr)>,
    ) -> io::Result<Self> {
        let words = std::iter::once(place).chain(words).map(CString::new).collect::<Result<_, _>>()?;
        let variables = environment.map(|(name, value)| variable(name, value)).collect::<Result<_, _>>()?;
        let (arguments, environment) = (Pointers::new(words, None), Pointers::new(variables, None));
        Ok(Program { place: CString::new(place)?, arguments, environment })
    }

    /// Becomes the program, in the child. Returns the reason when that is not possible.
    pub(super) fn exec(&self) -> io::Error {
        let Program { place, arguments, environment } = self;
        // SAFETY: the strings and arrays are null-terminated.
        unsafe { libc::execve(place.as_ptr(), arguments.pointers.as_ptr(), environment.pointers.as_ptr()) };
        io::Error::last_os_error()
    }
}

impl Direct {
    /// `None` where the shell would do more than to start `program`.
    pub(super) fn new<'a>(
        program: &str,
        arguments: &[String],
        environment: impl Iterator<Item = (&'a OsStr, &'a OsStr)>,
    ) -> Option<Self> {
        if program.is_empty() || program.starts_with('-') {
            return None;
        }
        let mut variables = Vec::new();
        let mut path = None;
        for (name, value) in environment {
            // A shell drops names that it cannot have, and has a view on this one.
            if !is_name(name.as_bytes()) || name == "PWD" {
                return None;
            }
            if name == "PATH" {
                path = Some(value);
            }
            variables.push(variable(name, value).ok()?);
        }
        let places = if program.contains('/') {
            vec![CString::new(program).ok()?]
        } else {
            let folders = path?.as_bytes().split(|byte| *byte == b':');
            let place = |folder: &[u8]| CString::new([folder, b"/", program.as_bytes()].concat()).ok();
            // An empty one is the working directory.
            folders.map(|folder| place(if folder.is_empty() { b"." } else { folder })).collect::<Option<_>>()?
        };
        let words = std::iter::once(program).chain(arguments.iter().map(String::as_str));
        let words = words.map(CString::new).collect::<Result<_, _>>().ok()?;
        let mut directory = vec![0; DIRECTORY.len() + PATH_LIMIT].into_boxed_slice();
        directory[..DIRECTORY.len()].copy_from_slice(DIRECTORY);
        let environment = Pointers::new(variables, Some(directory.as_ptr().cast()));
        Some(Direct { places, arguments: Pointers::new(words, None), environment, directory })
    }

    /// Becomes the program, in the child. Returns when that is not possible.
    pub(super) fn exec(&mut self) {
        let room = &mut self.directory[DIRECTORY.len()..];
        // SAFETY: system calls on memory that was allocated before and is null-terminated.
        unsafe {
            // The C library would go on looking where the kernel has no answer, and allocate.
            if libc::syscall(libc::SYS_getcwd, room.as_mut_ptr(), room.len()) < 0 || room[0] != b'/' {
                return;
            }
            for place in &self.places {
                libc::execve(place.as_ptr(), self.arguments.pointers.as_ptr(), self.environment.pointers.as_ptr());
                match io::Error::last_os_error().raw_os_error() {
                    Some(libc::ENOENT | libc::ENOTDIR | libc::EACCES) => {}
                    // Perhaps a script without a first line, which the shell would run.
                    _ => return,
                }
            }
        }
    }
}

fn variable(name: &OsStr, value: &OsStr) -> Result<CString, NulError> {
    CString::new([name.as_bytes(), b"=", value.as_bytes()].concat())
}

fn is_name(name: &[u8]) -> bool {
    let letter = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'_';
    name.first().is_some_and(letter) && name.iter().all(|byte| letter(byte) || byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(program: &str, environment: &[(&str, &str)]) -> Option<Vec<String>> {
        let environment = environment.iter().map(|(name, value)| (OsStr::new(*name), OsStr::new(*value)));
        let direct = Direct::new(program, &["a".into()], environment)?;
        Some(direct.places.into_iter().map(|place| place.into_string().unwrap()).collect())
    }

    #[test]
    fn programs_are_looked_for_where_a_shell_would() {
        let found = |places: &[&str]| Some(places.iter().map(|place| (*place).to_owned()).collect::<Vec<_>>());
        let path = ("PATH", "/usr/bin::/bin");
        assert_eq!(check("/bin/true", &[]), found(&["/bin/true"]));
        assert_eq!(check("./x", &[path]), found(&["./x"]));
        assert_eq!(check("true", &[path]), found(&["/usr/bin/true", "./true", "/bin/true"]));
        assert_eq!(check("true", &[]), None);
        assert_eq!(check("", &[path]), None);
        assert_eq!(check("-c", &[path]), None);
        assert_eq!(check("/bin/true", &[("a.b", "1")]), None);
        assert_eq!(check("/bin/true", &[("1a", "1")]), None);
        assert_eq!(check("/bin/true", &[("PWD", "/")]), None);
        assert_eq!(check("a\0b", &[path]), None);
    }
}
