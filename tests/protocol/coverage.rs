//! Every recording is replayed, by a test that is named, or stands in a list with the reason why not.
//!
//! `tests/vectors/replayed.json` says for each list of each file which test goes through it; both ways of replaying (here and in
//! `tests/e2e/vectors.js`) go through a list completely and hold it against `known-differences.json`.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Map, Value};

use crate::replay::{case_name, load, text};

/// What stands beside the recordings.
const OWN: [&str; 2] = ["known-differences", "replayed"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn object(value: &Value) -> &Map<String, Value> {
    value.as_object().unwrap_or_else(|| panic!("not an object: {value}"))
}

fn names(value: &Value) -> BTreeSet<&str> {
    object(value).keys().map(String::as_str).collect()
}

#[test]
fn every_list_of_every_file_is_replayed() {
    let replayed = load("replayed.json");
    let mut files = BTreeSet::new();
    for entry in std::fs::read_dir(root().join("tests/vectors")).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(path.extension().and_then(|ending| ending.to_str()), Some("json"), "{}", path.display());
        files.insert(path.file_stem().unwrap().to_str().unwrap().to_owned());
    }
    files.retain(|file| !OWN.contains(&file.as_str()));
    assert_eq!(names(&replayed), files.iter().map(String::as_str).collect(), "the files");
    for file in &files {
        let recorded = load(&format!("{file}.json"));
        let is_list = |value: &Value| value.as_array().is_some_and(|list| !list.is_empty()) || value.is_object();
        let lists = object(&recorded).iter().filter(|(_, value)| is_list(value)).map(|(name, _)| name.as_str());
        assert_eq!(names(&replayed[file]), lists.collect(), "the lists of {file}.json");
        for (list, by) in object(&replayed[file]) {
            if let Some(reason) = by["unused"].as_str() {
                assert!(reason.ends_with('.'), "{file}, {list}: a reason is a sentence");
                continue;
            }
            let sources = by.as_array().map_or(std::slice::from_ref(by), Vec::as_slice);
            assert!(!sources.is_empty(), "{file}, {list}: no test is named");
            for source in sources {
                let source = source.as_str().unwrap_or_else(|| panic!("{file}, {list}: not a path: {source}"));
                let code =
                    std::fs::read_to_string(root().join(source)).unwrap_or_else(|error| panic!("{source}: {error}"));
                let names = |forms: [String; 2]| forms.iter().any(|form| code.contains(form));
                let file_is_named = names([format!("\"{file}\""), format!("{file}.json")]);
                let list_is_named = names([format!("\"{list}\""), format!(".{list}")]);
                assert!(file_is_named && list_is_named, "{source} does not go through {list} of {file}.json");
            }
        }
    }
}

/// The cases below one name of a list that is an object: itself, and those of the list that it may be.
fn names_within(part: &str, cases: &Value) -> Vec<String> {
    let within = cases.as_array().into_iter().flatten().enumerate();
    let named = within.map(|(at, case)| format!("{part}/{}", case_name(case, at)));
    named.chain([part.to_owned()]).collect()
}

#[test]
fn every_difference_is_about_a_case_and_has_a_reason() {
    let known = load("known-differences.json");
    for (file, lists) in object(&known) {
        let recorded = load(&format!("{file}.json"));
        for (list, entries) in object(lists) {
            // A list among other lists is named with its path.
            let cases: BTreeSet<String> = match list.split('/').fold(&recorded, |inside, name| &inside[name]) {
                Value::Array(cases) => cases.iter().enumerate().map(|(index, case)| case_name(case, index)).collect(),
                Value::Object(parts) => parts.iter().flat_map(|(part, cases)| names_within(part, cases)).collect(),
                _ => panic!("{file}.json has no list {list}"),
            };
            let mut seen = BTreeSet::new();
            for entry in entries.as_array().unwrap() {
                let case = text(entry, "case");
                assert!(cases.contains(case), "{file}, {list}: there is no case {case}");
                assert!(seen.insert(case), "{file}, {list}: {case} is listed twice");
                assert!(text(entry, "reason").ends_with('.'), "{file}, {list}, {case}: a reason is a sentence");
                assert!(["differs", "not covered"].contains(&text(entry, "outcome")), "{file}, {list}, {case}");
            }
        }
    }
}
