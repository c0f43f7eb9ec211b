//! Templates: what of this machine's programs is set up and running in a new sandbox. Two are built in, one with the
//! code interpreter; others are described by TOML files in a folder, or built by clients.

use std::collections::BTreeMap;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use axum::Json;
use axum::extract::{Path, RawQuery, State};
use axum::response::Response;
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use time::OffsetDateTime;

use super::Api;
use super::body::JsonBody;
use super::builds::{Build, Size};
use super::catalog::{Reference, Snapshot, new_build_id};
use super::error::ApiError;
use super::page::{Parameters, page};
use super::sandboxes::{MIB, timestamp};
use crate::sandbox::limits::Limits;
use crate::sandbox::registry::Sandbox;
use crate::sandbox::setup::{Setup, SetupFile};

/// A template of the server's own.
#[derive(Debug)]
pub(crate) struct Template {
    pub(super) id: String,
    pub(super) name: String,
    build_id: String,
    created_at: OffsetDateTime,
    pub(super) setup: Arc<Setup>,
}

/// A template's file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Description {
    /// The template's name; that of the file when absent.
    name: Option<String>,
    /// See [`Setup`] for these.
    start: Option<String>,
    ready: Option<String>,
    user: Option<String>,
    envs: BTreeMap<String, String>,
    files: Vec<DescribedFile>,
}

/// A file of a template.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DescribedFile {
    /// Where it goes, absolute or relative to the home directory.
    path: String,
    /// What is in it …
    #[serde(default)]
    content: String,
    /// … or the file that is copied, relative to the template's.
    source: Option<PathBuf>,
}

impl DescribedFile {
    fn read(self, folder: &FilePath) -> Result<SetupFile> {
        let bytes = match &self.source {
            Some(_) if !self.content.is_empty() => bail!("{}: either content or source, not both", self.path),
            Some(source) => std::fs::read(folder.join(source))
                .with_context(|| format!("reading {} for {}", source.display(), self.path))?,
            None => self.content.into_bytes(),
        };
        Ok(SetupFile { path: self.path, bytes })
    }
}

impl Template {
    fn new(id: String, name: String, setup: Setup) -> Self {
        let (build_id, created_at) = (new_build_id(), OffsetDateTime::now_utc());
        Template { id, name, build_id, created_at, setup: Arc::new(setup) }
    }

    /// A template with nothing set up.
    pub(super) fn named(name: &str) -> Self {
        Self::new(format!("local{name:0<15}"), name.into(), Setup::default())
    }

    /// The template in which the code interpreter runs.
    fn interpreter() -> Self {
        let setup = Setup { interpreter: true, ..Setup::default() };
        Self::new("localinterpreter0000".into(), "code-interpreter-v1".into(), setup)
    }

    fn from_file(path: &FilePath) -> Result<Self> {
        let description: Description = toml::from_str(&std::fs::read_to_string(path)?)?;
        let Description { name, start, ready, user, envs, files } = description;
        let name = name.unwrap_or_else(|| path.file_stem().unwrap_or_default().to_string_lossy().into_owned());
        match Reference::parse(&name) {
            Some(reference) if reference.name == name && reference.tag.is_none() => {}
            _ => bail!("the name {name:?} is not lower-case letters, digits, '-' and '_'"),
        }
        let folder = path.parent().unwrap_or(FilePath::new("."));
        let files = files.into_iter().map(|file| file.read(folder)).collect::<Result<_>>()?;
        // The same name is the same template in every run of the server.
        let digest = Sha256::digest(name.as_bytes());
        let id = digest.iter().take(10).map(|byte| format!("{byte:02x}")).collect();
        Ok(Self::new(id, name, Setup { start, ready, user, envs, files, ..Setup::default() }))
    }
}

/// The templates of a server: those that are built in, then those of `folder`, by name of the file.
pub(crate) fn load(folder: Option<&FilePath>) -> Result<Vec<Template>> {
    let mut templates = vec![Template::named("base"), Template::interpreter()];
    let Some(folder) = folder else { return Ok(templates) };
    let entries = std::fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    for path in paths {
        let template = Template::from_file(&path).with_context(|| format!("in template {}", path.display()))?;
        if templates.iter().any(|other| other.name == template.name) {
            bail!("in template {}: there is another template called {:?}", path.display(), template.name);
        }
        templates.push(template);
    }
    Ok(templates)
}

/// What of a template does not depend on where it comes from.
struct Facts<'a> {
    id: &'a str,
    name: &'a str,
    public: bool,
    created_at: OffsetDateTime,
    updated_at: OffsetDateTime,
    newest: BuildFacts<'a>,
    build_count: usize,
}

/// What lists and details show of a build.
struct BuildFacts<'a> {
    id: &'a str,
    status: &'static str,
    cpu_count: usize,
    memory_mb: u64,
}

impl<'a> BuildFacts<'a> {
    /// One that is done, of a template that asks for nothing.
    fn ready(id: &'a str, limits: &Limits) -> Self {
        let cpu_count = std::thread::available_parallelism().map_or(1, usize::from);
        BuildFacts { id, status: "ready", cpu_count, memory_mb: limits.memory / MIB }
    }

    fn of(build: &'a Build) -> Self {
        let Size { cpu_count, memory_mb } = build.size;
        BuildFacts { id: &build.id, status: build.status().name(), cpu_count, memory_mb }
    }
}

impl Api {
    fn described(&self, facts: &Facts<'_>) -> Value {
        let sandboxes = self.registry.all();
        let spawned = sandboxes.iter().filter(|sandbox| sandbox.spec.template_id == facts.id).count();
        json!({
            "templateID": facts.id,
            "buildID": facts.newest.id,
            "cpuCount": facts.newest.cpu_count,
            "memoryMB": facts.newest.memory_mb,
            "diskSizeMB": self.registry.limits().files / MIB,
            "public": facts.public,
            "aliases": [facts.name],
            "names": [facts.name],
            "createdAt": timestamp(facts.created_at),
            "updatedAt": timestamp(facts.updated_at),
            "createdBy": null,
            "lastSpawnedAt": null,
            "spawnCount": spawned,
            "buildCount": facts.build_count,
            "envdVersion": self.registry.envd_version(),
            "buildStatus": facts.newest.status,
        })
    }

    fn template_list(&self) -> Vec<Value> {
        let own = self.catalog.templates().iter().map(|template| {
            self.described(&Facts {
                id: &template.id,
                name: &template.name,
                public: true,
                created_at: template.created_at,
                updated_at: template.created_at,
                newest: BuildFacts::ready(&template.build_id, self.registry.limits()),
                build_count: 1,
            })
        });
        let projects = self.catalog.projects();
        let built = projects.iter().map(|project| {
            let builds = self.builds.of_template(&project.template_id);
            let newest =
                builds.first().map_or(BuildFacts::ready("", self.registry.limits()), |build| BuildFacts::of(build));
            self.described(&Facts {
                id: &project.template_id,
                name: &project.name,
                public: project.public,
                created_at: project.created_at,
                updated_at: builds.first().map_or(project.created_at, |build| build.created_at),
                newest,
                build_count: builds.len(),
            })
        });
        own.chain(built).collect()
    }

    fn described_build(&self, facts: &BuildFacts<'_>, at: &str) -> Value {
        let mut body = json!({
            "buildID": facts.id,
            "status": facts.status,
            "createdAt": at,
            "updatedAt": at,
            "cpuCount": facts.cpu_count,
            "memoryMB": facts.memory_mb,
            "diskSizeMB": self.registry.limits().files / MIB,
            "envdVersion": self.registry.envd_version(),
        });
        if matches!(facts.status, "ready" | "error") {
            body["finishedAt"] = at.into();
        }
        body
    }
}

pub(super) async fn list(State(api): State<Arc<Api>>) -> Json<Value> {
    Json(api.template_list().into())
}

pub(super) async fn list_v2(State(api): State<Arc<Api>>, RawQuery(query): RawQuery) -> Result<Response, ApiError> {
    let id = |template: &Value| template["templateID"].as_str().unwrap_or_default().to_owned();
    page(&Parameters::parse(query), &api.template_list(), id, Value::clone)
}

pub(super) fn missing(reference: &str) -> ApiError {
    ApiError::new(StatusCode::NOT_FOUND, format!("template '{reference}' not found"))
}

/// A template with its builds; a snapshot's template has one build for each tag.
pub(super) async fn one(State(api): State<Arc<Api>>, Path(id): Path<String>) -> Result<Json<Value>, ApiError> {
    let name = Reference::parse(&id).ok_or_else(|| missing(&id))?.name;
    if let Some(mut body) =
        api.template_list().into_iter().find(|body| body["templateID"] == name || body["names"][0] == name)
    {
        let builds = api.builds.of_template(body["templateID"].as_str().unwrap_or(""));
        body["builds"] = if builds.is_empty() && api.catalog.template(&name).is_some() {
            let (id, at) = (body["buildID"].as_str().unwrap_or(""), body["createdAt"].as_str().unwrap_or(""));
            json!([api.described_build(&BuildFacts::ready(id, api.registry.limits()), at)])
        } else {
            let build = |build: &Arc<Build>| api.described_build(&BuildFacts::of(build), &timestamp(build.created_at));
            builds.iter().map(build).collect()
        };
        return Ok(Json(body));
    }
    let template_id = api.catalog.id_of(&name).ok_or_else(|| missing(&id))?;
    let mut snapshots = api.catalog.snapshots();
    snapshots.retain(|snapshot| snapshot.template_id == template_id);
    let (Some(newest), Some(oldest)) = (snapshots.first(), snapshots.last()) else { return Err(missing(&id)) };
    let build = |snapshot: &Arc<Snapshot>| {
        api.described_build(
            &BuildFacts::ready(&snapshot.build_id, api.registry.limits()),
            &timestamp(snapshot.created_at),
        )
    };
    Ok(Json(json!({
        "templateID": template_id,
        "public": false,
        "aliases": newest.name.iter().collect::<Vec<_>>(),
        "names": snapshots.iter().flat_map(|snapshot| snapshot.names()).collect::<Vec<_>>(),
        "createdAt": timestamp(oldest.created_at),
        "updatedAt": timestamp(newest.created_at),
        "lastSpawnedAt": null,
        "spawnCount": api.registry.all().iter().filter(|sandbox| sandbox.spec.template_id == template_id).count(),
        "builds": snapshots.iter().map(build).collect::<Vec<_>>(),
    })))
}

pub(super) async fn alias(State(api): State<Arc<Api>>, Path(alias): Path<String>) -> Result<Json<Value>, ApiError> {
    let free = || ApiError::new(StatusCode::NOT_FOUND, format!("template alias '{alias}' not found"));
    let reference = Reference::parse(&alias).ok_or_else(free)?;
    // Without a tag the name is taken even before anything was built under it.
    let known = match reference.tag {
        None => api.catalog.id_of(&reference.name).ok_or_else(free)?,
        Some(_) => api.catalog.source(&alias).map_err(|_| free())?.template_id,
    };
    let public = match api.catalog.project(&known) {
        Some(project) => project.public,
        None => api.catalog.template(&known).is_some(),
    };
    Ok(Json(json!({ "templateID": known, "public": public })))
}

#[derive(Debug, Deserialize)]
pub(super) struct Update {
    public: Option<bool>,
}

pub(super) async fn update(
    State(api): State<Arc<Api>>,
    Path(id): Path<String>,
    JsonBody(body): JsonBody<Update>,
) -> Result<Json<Value>, ApiError> {
    let name = Reference::parse(&id).ok_or_else(|| missing(&id))?.name;
    refuse_own(&api, &name)?;
    let project = api.catalog.project(&name).ok_or_else(|| missing(&id))?;
    if let Some(public) = body.public {
        api.catalog.set_public(&project.template_id, public);
    }
    Ok(Json(json!({ "names": [project.name] })))
}

/// The templates of the server itself belong to nobody who can ask.
pub(super) fn refuse_own(api: &Api, name: &str) -> Result<(), ApiError> {
    match api.catalog.template(name) {
        Some(_) => {
            let text = format!("template '{name}' belongs to this server and cannot be changed");
            Err(ApiError::new(StatusCode::FORBIDDEN, text))
        }
        None => Ok(()),
    }
}

/// Forgets a snapshot, or a client's template: all with its name when no tag is given. What is being built is given up.
/// Templates of the server itself are files of the operator's, and stay.
pub(super) async fn delete(State(api): State<Arc<Api>>, Path(id): Path<String>) -> Result<StatusCode, ApiError> {
    let reference = Reference::parse(&id).ok_or_else(|| missing(&id))?;
    if api.catalog.template(&reference.name).is_some() {
        return Err(ApiError::bad_request(format!("template '{id}' belongs to this server and cannot be deleted")));
    }
    let template_id = api.catalog.id_of(&reference.name).ok_or_else(|| missing(&id))?;
    let uses = |sandbox: &Arc<Sandbox>| sandbox.spec.template_id == template_id && !sandbox.spec.internal;
    if api.registry.all().iter().any(uses) {
        let text = format!("cannot delete template '{id}' because there are sandboxes that use it");
        return Err(ApiError::bad_request(text));
    }
    let removed = if reference.tag.is_none() && api.catalog.remove_project(&template_id) {
        api.builds.forget_template(&template_id);
        api.uploads.forget_template(&template_id);
        true
    } else {
        api.catalog.remove(&reference)
    };
    if removed { Ok(StatusCode::NO_CONTENT) } else { Err(missing(&id)) }
}

impl Template {
    /// Its only tag.
    pub(super) fn tag(&self) -> (&str, OffsetDateTime) {
        (&self.build_id, self.created_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_read_from_files() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("page.html", "<p>");
        write(
            "web.toml",
            "start = \"serve\"\nready = \"true\"\n[envs]\nA = \"1\"\n\
             [[files]]\npath = \"a\"\ncontent = \"x\"\n[[files]]\npath = \"b\"\nsource = \"page.html\"\n",
        );
        write("notes.txt", "not a template");
        let templates = load(Some(folder.path())).unwrap();
        let [base, _, web] = &templates[..] else { panic!("{templates:?}") };
        assert_eq!((base.id.as_str(), web.name.as_str(), web.id.len()), ("localbase00000000000", "web", 20));
        assert_eq!((&*web.setup.files[0].bytes, &*web.setup.files[1].bytes), (&b"x"[..], &b"<p>"[..]));

        for (bad, what) in [
            ("strat = \"typo\"", "unknown field"),
            ("name = \"Two Words\"", "lower-case"),
            ("name = \"web\"", "another template"),
            ("name = \"base\"", "another template"),
            ("[[files]]\npath = \"b\"\nsource = \"absent\"", "absent"),
            ("[[files]]\npath = \"b\"\nsource = \"page.html\"\ncontent = \"x\"", "not both"),
            ("=", "TOML"),
        ] {
            write("zbad.toml", bad);
            let error = format!("{:#}", load(Some(folder.path())).unwrap_err());
            assert!(error.contains(what) && error.contains("zbad.toml"), "{bad:?}: {error}");
        }
        assert!(load(Some(&folder.path().join("absent"))).is_err());
    }
}
