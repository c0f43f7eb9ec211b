//! Control groups: how many processes and how much memory a sandbox may have, counted by the kernel.
//!
//! Both versions are used, wherever this process may make groups: as root, or in a part of the tree that the system's
//! manager left to the user. What cannot be limited this way is reported, not pretended.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::limits::Limits;

const PREFIX: &str = "agent-sandbox-local-";

/// What a group can limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Controller {
    Processes,
    Memory,
}

impl Controller {
    const ALL: [Controller; 2] = [Controller::Processes, Controller::Memory];

    fn name(self) -> &'static str {
        match self {
            Controller::Processes => "pids",
            Controller::Memory => "memory",
        }
    }
}

/// A hierarchy in which groups can be made.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Hierarchy {
    /// The group that holds those of this server's sandboxes.
    folder: PathBuf,
    controllers: Vec<Controller>,
    unified: bool,
}

/// The control groups of this server.
#[derive(Debug)]
pub(crate) struct Cgroups {
    hierarchies: Vec<Hierarchy>,
}

impl Cgroups {
    /// Finds out what can be limited on this machine, by limiting something. Groups that killed servers left behind are
    /// removed.
    pub(crate) fn find(limits: &Limits) -> Self {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        let mut hierarchies = candidates(&read("/proc/self/mounts"), &read("/proc/self/cgroup"));
        for hierarchy in &hierarchies {
            hierarchy.remove_stale();
        }
        let mut found: Vec<Hierarchy> = Vec::new();
        for mut hierarchy in hierarchies.drain(..) {
            let missing = |controller: &Controller| !found.iter().any(|other| other.controllers.contains(controller));
            hierarchy.controllers.retain(missing);
            hierarchy.controllers = hierarchy.usable(limits);
            if !hierarchy.controllers.is_empty() {
                found.push(hierarchy);
            }
        }
        Cgroups { hierarchies: found }
    }

    fn can(&self, controller: Controller) -> bool {
        self.hierarchies.iter().any(|hierarchy| hierarchy.controllers.contains(&controller))
    }

    pub(crate) fn limits_processes(&self) -> bool {
        self.can(Controller::Processes)
    }

    pub(crate) fn limits_memory(&self) -> bool {
        self.can(Controller::Memory)
    }

    /// Puts `process` and all that descends from it into a group of its own.
    pub(crate) fn confine(&self, id: &str, process: u32, limits: &Limits) -> io::Result<Group> {
        let mut group = Group { folders: Vec::new() };
        for hierarchy in &self.hierarchies {
            group.folders.push(hierarchy.folder.join(id));
            hierarchy.make(id, limits)?;
            fs::write(hierarchy.folder.join(id).join("cgroup.procs"), process.to_string())?;
        }
        Ok(group)
    }
}

impl Drop for Cgroups {
    fn drop(&mut self) {
        for hierarchy in &self.hierarchies {
            // One that is in use is removed by a later server.
            let _ = fs::remove_dir(&hierarchy.folder);
        }
    }
}

/// The group of one sandbox in each hierarchy. Removed on drop, when its processes have ended.
#[derive(Debug)]
pub(crate) struct Group {
    folders: Vec<PathBuf>,
}

impl Drop for Group {
    fn drop(&mut self) {
        for folder in &self.folders {
            let _ = fs::remove_dir(folder);
        }
    }
}

impl Hierarchy {
    /// The controllers that a group in here really gets.
    fn usable(&self, limits: &Limits) -> Vec<Controller> {
        let one = |controller: &Controller| {
            let alone = Hierarchy { controllers: vec![*controller], ..self.clone() };
            let made = alone.make("probe", limits).is_ok();
            let _ = fs::remove_dir(self.folder.join("probe"));
            made
        };
        let usable = self.controllers.iter().copied().filter(one).collect::<Vec<_>>();
        if usable.is_empty() {
            let _ = fs::remove_dir(&self.folder);
        }
        usable
    }

    fn make(&self, id: &str, limits: &Limits) -> io::Result<()> {
        let folder = self.folder.join(id);
        // A server in another pid namespace may have taken ours for one that is gone.
        fs::create_dir_all(&self.folder)?;
        if self.unified {
            for controller in &self.controllers {
                fs::write(self.folder.join("cgroup.subtree_control"), format!("+{}", controller.name()))?;
            }
        }
        fs::create_dir(&folder)?;
        for controller in &self.controllers {
            match controller {
                Controller::Processes => fs::write(folder.join("pids.max"), limits.processes.to_string())?,
                Controller::Memory if self.unified => {
                    fs::write(folder.join("memory.max"), limits.memory.to_string())?;
                    // Without swap this file does not exist, or does nothing.
                    let _ = fs::write(folder.join("memory.swap.max"), "0");
                }
                Controller::Memory => {
                    fs::write(folder.join("memory.limit_in_bytes"), limits.memory.to_string())?;
                    let _ = fs::write(folder.join("memory.memsw.limit_in_bytes"), limits.memory.to_string());
                }
            }
        }
        Ok(())
    }

    fn remove_stale(&self) {
        let Some(parent) = self.folder.parent() else { return };
        for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let Some(server) = name.to_str().and_then(|name| name.strip_prefix(PREFIX)) else { continue };
            if Path::new("/proc").join(server).exists() {
                continue;
            }
            for group in fs::read_dir(entry.path()).into_iter().flatten().flatten() {
                // Only folders without processes can be removed, and files not at all.
                let _ = fs::remove_dir(group.path());
            }
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Where groups may be possible, best first. In version 1 each controller has a tree of its own; in version 2 a group
/// with processes has no limited groups below, so ours is beside the one of this process.
fn candidates(mounts: &str, groups: &str) -> Vec<Hierarchy> {
    let own = format!("{PREFIX}{}", std::process::id());
    let mut found = Vec::new();
    for line in mounts.lines() {
        let mut fields = line.split(' ').skip(1);
        let (Some(mounted), Some(kind), Some(options)) = (fields.next(), fields.next(), fields.next()) else {
            continue;
        };
        let unified = kind == "cgroup2";
        if !unified && kind != "cgroup" {
            continue;
        }
        let offered = |controller: &Controller| unified || options.split(',').any(|option| option == controller.name());
        let controllers = Controller::ALL.into_iter().filter(offered).collect::<Vec<_>>();
        let Some(first) = controllers.first() else { continue };
        let group = groups.lines().find_map(|line| {
            let mut fields = line.splitn(3, ':').skip(1);
            let names = fields.next()?;
            let is_ours = if unified { names.is_empty() } else { names.split(',').any(|name| name == first.name()) };
            is_ours.then(|| fields.next()).flatten()
        });
        let group = Path::new(group.unwrap_or("/").trim_start_matches('/'));
        let group = if unified { group.parent().unwrap_or(Path::new("")) } else { group };
        // What is mounted may begin further down than the names do.
        let inside = Path::new(mounted).join(group);
        let parent = if inside.is_dir() { inside } else { mounted.into() };
        found.push(Hierarchy { folder: parent.join(&own), controllers, unified });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_go_where_they_can_be_limited() {
        let base = tempfile::tempdir().unwrap();
        let at = |path: &str| base.path().join(path);
        fs::create_dir_all(at("v2/user.slice/app.slice/term.scope")).unwrap();
        fs::create_dir_all(at("pids/some/where")).unwrap();
        fs::create_dir_all(at("memory")).unwrap();
        let root = base.path().display();
        let mounts = format!(
            "proc /proc proc rw 0 0\ncgroup2 {root}/v2 cgroup2 rw 0 0\ncgroup {root}/pids cgroup rw,pids 0 0\n\
             cgroup {root}/memory cgroup rw,relatime,memory 0 0\ncgroup {root}/cpu cgroup rw,cpu 0 0\nbroken\n"
        );
        let groups = "4:memory:/not/mounted\n3:pids:/some/where\n0::/user.slice/app.slice/term.scope\n";
        let found = candidates(&mounts, groups);
        let places: Vec<_> = found
            .iter()
            .map(|hierarchy| {
                (hierarchy.folder.parent().unwrap().to_owned(), &hierarchy.controllers[..], hierarchy.unified)
            })
            .collect();
        use Controller::{Memory, Processes};
        let expected: [(PathBuf, &[Controller], bool); 3] = [
            (at("v2/user.slice/app.slice"), &[Processes, Memory], true),
            (at("pids/some/where"), &[Processes], false),
            (at("memory"), &[Memory], false),
        ];
        assert_eq!(places, expected);
        assert_eq!(candidates("", ""), []);
    }
}
