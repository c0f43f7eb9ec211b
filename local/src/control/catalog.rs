//! What sandboxes can be made from: templates that are there from the start, templates that clients build, and snapshots of
//! sandboxes. The last two are the same: files under a name and a tag, which come and go.

use std::fs::File;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use http::StatusCode;
use rand::Rng;
use time::OffsetDateTime;

use super::error::ApiError;
use super::templates::Template;
use crate::sandbox::registry::Sandbox;
use crate::sandbox::setup::Setup;

/// The one namespace of this server, in front of the names of its snapshots.
pub(super) const NAMESPACE: &str = "local";

pub(super) const DEFAULT_TAG: &str = "default";

/// All templates and snapshots of a server.
pub(super) struct Catalog {
    templates: Vec<Template>,
    /// The templates that clients build, whether or not a build has succeeded.
    projects: RwLock<Vec<Project>>,
    snapshots: RwLock<Vec<Arc<Snapshot>>>,
}

/// A template that is a client's.
#[derive(Debug, Clone)]
pub(super) struct Project {
    pub(super) template_id: String,
    pub(super) name: String,
    pub(super) public: bool,
    pub(super) created_at: OffsetDateTime,
}

/// The files of a sandbox at one moment.
#[derive(Debug, Clone)]
pub(super) struct Snapshot {
    pub(super) template_id: String,
    /// Snapshots without a name are known by their template id alone.
    pub(super) name: Option<String>,
    pub(super) tag: String,
    pub(super) build_id: String,
    /// The sandbox that was copied; `None` for the build of a template.
    pub(super) sandbox_id: Option<String>,
    pub(super) created_at: OffsetDateTime,
    pub(super) archive: Arc<File>,
    /// What is started in new sandboxes.
    pub(super) setup: Arc<Setup>,
}

impl Snapshot {
    /// What clients create from and delete by.
    pub(super) fn id(&self) -> String {
        match &self.name {
            Some(name) => format!("{NAMESPACE}/{name}:{}", self.tag),
            None => format!("{}:{}", self.template_id, self.tag),
        }
    }

    /// `[namespace/]name:tag`, for those that were given a name.
    pub(super) fn names(&self) -> Vec<String> {
        self.name.iter().map(|_| self.id()).collect()
    }

    fn is_of(&self, name: &str) -> bool {
        self.template_id == name || self.name.as_deref() == Some(name)
    }
}

/// What a reference stands for.
#[derive(Debug, Clone)]
pub(super) struct Source {
    pub(super) template_id: String,
    pub(super) alias: Option<String>,
    pub(super) setup: Arc<Setup>,
    pub(super) snapshot: Option<Arc<File>>,
}

/// `[namespace/]name-or-id[:tag]`, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reference {
    pub(super) name: String,
    pub(super) tag: Option<String>,
}

impl Reference {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (name, tag) = text.split_once(':').map_or((text, None), |(name, tag)| (name, Some(tag)));
        let name = name.rsplit_once('/').map_or(name, |(_, name)| name);
        let plain = |text: &str| {
            !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        };
        (plain(name) && tag.is_none_or(plain))
            .then(|| Reference { name: name.to_ascii_lowercase(), tag: tag.map(str::to_owned) })
    }

    fn tag(&self) -> &str {
        self.tag.as_deref().unwrap_or(DEFAULT_TAG)
    }
}

impl Catalog {
    pub(super) fn new(templates: Vec<Template>) -> Self {
        Catalog { templates, projects: RwLock::default(), snapshots: RwLock::default() }
    }

    fn read(&self) -> RwLockReadGuard<'_, Vec<Arc<Snapshot>>> {
        self.snapshots.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Vec<Arc<Snapshot>>> {
        self.snapshots.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn templates(&self) -> &[Template] {
        &self.templates
    }

    /// Newest first.
    pub(super) fn snapshots(&self) -> Vec<Arc<Snapshot>> {
        self.read().iter().rev().cloned().collect()
    }

    pub(super) fn template(&self, name: &str) -> Option<&Template> {
        self.templates.iter().find(|template| template.id == name || template.name == name)
    }

    /// The id of the template or snapshot that a name or id means, whatever the tag.
    pub(super) fn id_of(&self, name: &str) -> Option<String> {
        let project = || self.project(name).map(|project| project.template_id);
        let snapshot =
            || self.read().iter().find(|snapshot| snapshot.is_of(name)).map(|found| found.template_id.clone());
        self.template(name).map(|template| template.id.clone()).or_else(project).or_else(snapshot)
    }

    fn lock_projects(&self) -> RwLockWriteGuard<'_, Vec<Project>> {
        self.projects.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Oldest first.
    pub(super) fn projects(&self) -> Vec<Project> {
        self.projects.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The client's template that a name or id means.
    pub(super) fn project(&self, name: &str) -> Option<Project> {
        self.projects().into_iter().find(|project| project.template_id == name || project.name == name)
    }

    /// The client's template of that name, which is made if there is none.
    pub(super) fn open_project(&self, name: &str) -> Project {
        let known = self.id_of(name);
        let mut projects = self.lock_projects();
        if let Some(found) = projects.iter().find(|project| project.name == name) {
            return found.clone();
        }
        let project = Project {
            template_id: known.unwrap_or_else(new_template_id),
            name: name.to_owned(),
            public: false,
            created_at: OffsetDateTime::now_utc(),
        };
        projects.push(project.clone());
        project
    }

    /// Says whether others may use a client's template, which nobody but its owner can ask here. False when there is none.
    pub(super) fn set_public(&self, template_id: &str, public: bool) -> bool {
        let mut projects = self.lock_projects();
        let found = projects.iter_mut().find(|project| project.template_id == template_id);
        found.map(|project| project.public = public).is_some()
    }

    /// What a create request means by `text`.
    pub(super) fn source(&self, text: &str) -> Result<Source, ApiError> {
        let reference = Reference::parse(text)
            .ok_or_else(|| ApiError::bad_request(format!("Invalid template reference: {text}")))?;
        let missing = |text: String| ApiError::new(StatusCode::NOT_FOUND, text);
        let Reference { name, .. } = &reference;
        let tag = reference.tag();
        let no_tag = || missing(format!("tag '{tag}' does not exist for template '{name}'"));
        if let Some(template) = self.template(name) {
            if tag != DEFAULT_TAG {
                return Err(no_tag());
            }
            let (template_id, alias) = (template.id.clone(), Some(template.name.clone()));
            return Ok(Source { template_id, alias, setup: Arc::clone(&template.setup), snapshot: None });
        }
        if self.id_of(name).is_none() {
            return Err(missing(format!("template '{text}' not found")));
        }
        let found = self.tagged(&reference).ok_or_else(no_tag)?;
        Ok(Source {
            template_id: found.template_id.clone(),
            alias: found.name.clone(),
            setup: Arc::clone(&found.setup),
            snapshot: Some(Arc::clone(&found.archive)),
        })
    }

    fn tagged(&self, reference: &Reference) -> Option<Arc<Snapshot>> {
        let snapshots = self.read();
        snapshots.iter().find(|snapshot| snapshot.is_of(&reference.name) && snapshot.tag == reference.tag()).cloned()
    }

    /// Gives further tags to what `reference` means; `None` when that does not exist.
    pub(super) fn assign_tags(&self, reference: &Reference, tags: &[String]) -> Option<Arc<Snapshot>> {
        let found = self.tagged(reference)?;
        for tag in tags.iter().filter(|tag| **tag != found.tag) {
            self.put(Snapshot { tag: tag.clone(), created_at: OffsetDateTime::now_utc(), ..(*found).clone() });
        }
        Some(found)
    }

    /// Adds a snapshot, in place of one that has its name and tag.
    fn put(&self, snapshot: Snapshot) -> Arc<Snapshot> {
        let mut snapshots = self.write();
        snapshots.retain(|other| other.template_id != snapshot.template_id || other.tag != snapshot.tag);
        let snapshot = Arc::new(snapshot);
        snapshots.push(Arc::clone(&snapshot));
        snapshot
    }

    /// Refuses a name that a new snapshot cannot have.
    pub(super) fn check_name(&self, text: &str) -> Result<Reference, ApiError> {
        let invalid = |why: &str| ApiError::bad_request(format!("Invalid name: {text:?} {why}"));
        let reference = Reference::parse(text)
            .ok_or_else(|| invalid("is not letters, digits, '-' and '_' with an optional ':tag'"))?;
        match self.template(&reference.name) {
            Some(_) => Err(invalid("is a template of this server")),
            None => Ok(reference),
        }
    }

    /// Keeps the files of a sandbox, under a name that was checked. The same name and tag are replaced.
    pub(super) fn add(&self, reference: Option<Reference>, sandbox: &Sandbox, archive: File) -> Arc<Snapshot> {
        let (name, tag) = match reference {
            Some(reference) => (Some(reference.name.clone()), reference.tag().to_owned()),
            None => (None, DEFAULT_TAG.to_owned()),
        };
        let known = name.as_deref().and_then(|name| self.id_of(name));
        self.put(Snapshot {
            template_id: known.unwrap_or_else(new_template_id),
            name,
            tag,
            build_id: new_build_id(),
            sandbox_id: Some(sandbox.id.clone()),
            created_at: OffsetDateTime::now_utc(),
            archive: Arc::new(archive),
            setup: Arc::clone(&sandbox.spec.setup),
        })
    }

    /// Keeps the files of a finished build under each of its tags. False when its template was deleted meanwhile.
    pub(super) fn add_build(
        &self,
        project: &Project,
        build_id: &str,
        tags: &[String],
        setup: Setup,
        archive: File,
    ) -> bool {
        if self.project(&project.template_id).is_none() {
            return false;
        }
        let (archive, setup) = (Arc::new(archive), Arc::new(setup));
        for tag in tags {
            self.put(Snapshot {
                template_id: project.template_id.clone(),
                name: Some(project.name.clone()),
                tag: tag.clone(),
                build_id: build_id.to_owned(),
                sandbox_id: None,
                created_at: OffsetDateTime::now_utc(),
                archive: Arc::clone(&archive),
                setup: Arc::clone(&setup),
            });
        }
        true
    }

    /// Forgets a client's template, with all that was built and all snapshots under its name. False when there is none.
    pub(super) fn remove_project(&self, template_id: &str) -> bool {
        let mut projects = self.lock_projects();
        let before = projects.len();
        projects.retain(|project| project.template_id != template_id);
        self.write().retain(|snapshot| snapshot.template_id != template_id);
        projects.len() < before
    }

    /// Forgets the snapshots that `reference` means: one when it has a tag, otherwise all of that name. False when
    /// there are none.
    pub(super) fn remove(&self, reference: &Reference) -> bool {
        let mut snapshots = self.write();
        let before = snapshots.len();
        snapshots.retain(|snapshot| {
            !snapshot.is_of(&reference.name) || reference.tag.as_ref().is_some_and(|tag| *tag != snapshot.tag)
        });
        snapshots.len() < before
    }
}

/// Twenty letters and digits.
fn new_template_id() -> String {
    const LETTERS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
    let mut random = rand::rng();
    (0..20).map(|_| char::from(LETTERS[random.random_range(0..LETTERS.len())])).collect()
}

/// A random UUID.
pub(super) fn new_build_id() -> String {
    let random: u128 = rand::random();
    let version = (random & !(0xf << 76) & !(0x3 << 62)) | (0x4 << 76) | (0x2 << 62);
    let hex = format!("{version:032x}");
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_taken_apart() {
        for (reference, expected) in [
            ("base", Some(("base", None))),
            ("Base:v1", Some(("base", Some("v1")))),
            ("team/base:v1", Some(("base", Some("v1")))),
            ("", None),
            ("a b", None),
            ("base:", None),
            (":x", None),
        ] {
            let parsed = Reference::parse(reference);
            let parsed = parsed.as_ref().map(|reference| (reference.name.as_str(), reference.tag.as_deref()));
            assert_eq!(parsed, expected, "{reference:?}");
        }
    }

    fn build(catalog: &Catalog, name: &str, tags: &[&str]) -> String {
        let (project, id) = (catalog.open_project(name), new_build_id());
        let tags: Vec<_> = tags.iter().map(|tag| (*tag).to_owned()).collect();
        assert!(catalog.add_build(&project, &id, &tags, Setup::default(), tempfile::tempfile().unwrap()));
        id
    }

    #[test]
    fn builds_are_replaced_by_name_and_tag() {
        let catalog = Catalog::new(vec![Template::named("base")]);
        assert!(catalog.check_name("base").is_err() && catalog.source("n").is_err());
        let empty = catalog.open_project("n");
        assert!(catalog.source("n").unwrap_err().body()["message"].as_str().unwrap().contains("tag 'default'"));
        let (first, second) = (build(&catalog, "n", &["default", "v1"]), build(&catalog, "n", &["default"]));
        let of = |text: &str| catalog.tagged(&Reference::parse(text).unwrap()).map(|found| found.build_id.clone());
        assert_eq!((of("n"), of("local/n:v1"), of("n:v2")), (Some(second), Some(first.clone()), None));
        assert_eq!(catalog.id_of("n"), Some(empty.template_id.clone()));
        assert!(catalog.assign_tags(&Reference::parse("n:v1").unwrap(), &["v2".to_owned()]).is_some());
        assert_eq!(of("n:v2"), Some(first));
        assert!(catalog.assign_tags(&Reference::parse("n:none").unwrap(), &["v3".to_owned()]).is_none());
        assert!(catalog.remove(&Reference::parse("local/n:v2").unwrap()));
        assert!(!catalog.remove(&Reference::parse("local/n:v2").unwrap()));
        assert!(catalog.remove_project(&empty.template_id) && catalog.snapshots().is_empty());
        assert!(!catalog.add_build(
            &empty,
            "",
            &["default".to_owned()],
            Setup::default(),
            tempfile::tempfile().unwrap()
        ));
    }

    #[test]
    fn build_ids_are_version_4() {
        let id = new_build_id();
        assert!(id.len() == 36 && id.as_bytes()[14] == b'4' && b"89ab".contains(&id.as_bytes()[19]), "{id}");
    }
}
