//! Counts tests in what the runners print, and sums them up.

use std::process::{Command, ExitStatus};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::shell::{self, note, seconds, step};

/// What all steps came to.
#[derive(Default)]
pub(crate) struct Report {
    lines: Vec<Line>,
}

struct Line {
    name: String,
    counts: Counts,
    /// Tests that passed at the second attempt only.
    flaky: Vec<String>,
    error: Option<String>,
    took: Duration,
}

#[derive(Default, Clone, Copy, PartialEq, Eq, Debug)]
struct Counts {
    passed: u64,
    failed: u64,
}

/// What a runner has told so far.
#[derive(Default)]
struct Told {
    counts: Counts,
    /// Names of tests of cargo that failed.
    failing: Vec<String>,
    flaky: Vec<String>,
}

impl Report {
    /// A step that is one check. Returns whether it went well.
    pub(crate) fn check(&mut self, name: &str, run: impl FnOnce() -> Result<()>) -> bool {
        self.step(name, |told| {
            run()?;
            told.counts.passed = 1;
            Ok(())
        })
    }

    /// A step that is a test runner. It must succeed, and must have run at least one test.
    pub(crate) fn runner(&mut self, name: &str, command: &mut Command) -> bool {
        self.step(name, |told| {
            let status = shell::watch(command, |line| told.add(line))?;
            judge(&shell::line(command), status, told.counts)
        })
    }

    /// The same for cargo. Tests that fail are tried once more, by `again` with their names, because machines stall; those that
    /// pass only then are named in the summary.
    pub(crate) fn cargo(
        &mut self,
        name: &str,
        command: &mut Command,
        again: impl FnOnce(&[String]) -> Command,
    ) -> bool {
        self.step(name, |told| {
            let status = shell::watch(command, |line| told.add(line))?;
            let Told { counts, failing, .. } = &told;
            if status.success() || failing.is_empty() || failing.len() as u64 != counts.failed {
                return judge(&shell::line(command), status, *counts);
            }
            note(&format!("tried once more: {}", failing.join(", ")));
            let mut second = Told::default();
            let mut command = again(failing);
            let status = shell::watch(&mut command, |line| second.add(line))?;
            judge(&shell::line(&command), status, second.counts)?;
            if second.counts.passed < counts.failed {
                bail!("{} ran fewer tests than had failed", shell::line(&command));
            }
            told.counts = Counts { passed: counts.passed + counts.failed, failed: 0 };
            told.flaky = std::mem::take(&mut told.failing);
            Ok(())
        })
    }

    /// The same for a runner that starts a browser and may lose it before the first test, which is nobody's failure: after a
    /// line with `started`, and without any test that has run, it is started again, twice at most.
    pub(crate) fn runner_in_browser(&mut self, name: &str, command: &mut Command, started: &str) -> bool {
        self.step(name, |told| {
            for again in [true, true, false] {
                let mut has_browser = false;
                let status = shell::watch(command, |line| {
                    told.add(line);
                    has_browser |= line.contains(started);
                })?;
                if status.success() || !has_browser || told.counts != Counts::default() || !again {
                    return judge(&shell::line(command), status, told.counts);
                }
                note("the browser was lost before the first test; another one is started");
            }
            unreachable!("the last round returns")
        })
    }

    /// Several test runners, `width` of them at a time. What each prints is shown when it has ended.
    pub(crate) fn runners(&mut self, runners: Vec<(String, Command)>, width: usize) {
        let (ended, results) = mpsc::channel();
        let waiting = Mutex::new(runners.into_iter());
        thread::scope(|scope| {
            for _ in 0..width {
                let (waiting, ended) = (&waiting, ended.clone());
                scope.spawn(move || {
                    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
                    while let Some((name, mut command)) = next() {
                        note(&format!("started: {name}"));
                        let start = Instant::now();
                        let output = shell::collect(&mut command);
                        // The receiver lives until all senders are gone.
                        let _ = ended.send((name, shell::line(&command), output, start.elapsed()));
                    }
                });
            }
            drop(ended);
            for (name, line, output, took) in results {
                self.step(&name, |told| {
                    let (status, text) = output?;
                    print!("{text}");
                    text.lines().for_each(|line| told.add(line));
                    judge(&line, status, told.counts)
                });
                // The step itself only looked at what had happened before.
                self.lines.last_mut().expect("a step was added").took = took;
            }
        });
    }

    fn step(&mut self, name: &str, run: impl FnOnce(&mut Told) -> Result<()>) -> bool {
        step(&format!("test: {name}"));
        let start = Instant::now();
        let mut told = Told::default();
        let error = run(&mut told).err().map(|error| format!("{error:#}"));
        let Told { mut counts, flaky, .. } = told;
        if let Some(error) = &error {
            // A step that broke before it could count is one failure.
            counts.failed = counts.failed.max(1);
            println!("    FAILED: {error}");
        }
        let went_well = error.is_none();
        self.lines.push(Line { name: name.to_owned(), counts, flaky, error, took: start.elapsed() });
        went_well
    }

    pub(crate) fn is_success(&self) -> bool {
        self.lines.iter().all(|line| line.error.is_none())
    }

    /// The table of all steps, and as the last line the sum.
    pub(crate) fn print(&self) {
        step("summary");
        let (mut passed, mut failed) = (0, 0);
        for Line { name, counts, error, took, .. } in &self.lines {
            let verdict = if error.is_none() { "ok" } else { "FAILED" };
            println!(
                "    {verdict:6}  {name:40} {:5} passed {:4} failed {:>9}",
                counts.passed,
                counts.failed,
                seconds(*took)
            );
            passed += counts.passed;
            failed += counts.failed;
        }
        for Line { name, error, flaky, .. } in &self.lines {
            for test in flaky {
                println!("    flaky: {name}: {test} passed at the second attempt");
            }
            if let Some(error) = error {
                println!("    {name}: {error}");
            }
        }
        println!("{passed} passed, {failed} failed");
    }
}

/// A runner must succeed, and must have run at least one test.
fn judge(line: &str, status: ExitStatus, counts: Counts) -> Result<()> {
    if !status.success() {
        bail!("{line} ended with {status}");
    }
    if counts.passed == 0 {
        bail!("{line} ran no test");
    }
    Ok(())
}

impl Told {
    fn add(&mut self, line: &str) {
        self.counts.add(line);
        if let Some(name) = line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED")) {
            self.failing.push(name.to_owned());
        } else if let Some(rest) = line.strip_prefix("flaky   ") {
            self.flaky.push(rest.split_once("  ").map_or(rest, |(_, name)| name).to_owned());
        }
    }
}

impl Counts {
    /// Adds what a line reports: `test result: ok. 3 passed; 0 failed; …` of cargo and wasm-bindgen, or
    /// `node: 3 passed, 0 failed` of the runners in `tests/harness`.
    fn add(&mut self, line: &str) {
        let counts = match line.strip_prefix("test result: ") {
            Some(rest) => rest.split_once(". ").and_then(|(_, rest)| pair(rest, ';')),
            None => pair(line.split_once(": ").map_or(line, |(_, rest)| rest), ','),
        };
        if let Some((passed, failed)) = counts {
            self.passed += passed;
            self.failed += failed;
        }
    }
}

/// `<n> passed<separator> <n> failed` at the start of a text.
fn pair(text: &str, separator: char) -> Option<(u64, u64)> {
    let (passed, rest) = text.split_once(separator)?;
    let passed = passed.strip_suffix(" passed")?.parse().ok()?;
    let failed = rest.trim_start().split_once(" failed")?.0.parse().ok()?;
    Some((passed, failed))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::{Counts, Report};

    /// An empty folder of this process.
    fn tempdir() -> std::path::PathBuf {
        let folder = std::env::temp_dir().join(format!("xtask-report-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn a_browser_that_is_lost_is_replaced_and_a_failing_test_is_not_repeated() {
        let folder = tempdir();
        let attempt = format!("cd {}; echo x >> tries; echo browser; ", folder.display());
        let tries = || std::fs::read_to_string(folder.join("tries")).unwrap().lines().count();
        let run = |script: &str| {
            let _ = std::fs::remove_file(folder.join("tries"));
            let mut command = Command::new("sh");
            command.args(["-c", &format!("{attempt}{script}")]);
            let went_well = Report::default().runner_in_browser("a", &mut command, "browser");
            (went_well, tries())
        };
        assert_eq!(run("[ $(wc -l < tries) = 2 ] && echo a: 1 passed, 0 failed"), (true, 2));
        assert_eq!(run("echo a: 1 passed, 1 failed; exit 1"), (false, 1));
        assert_eq!(run("exit 1"), (false, 3));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_fails_once_is_flaky_and_what_fails_twice_is_a_failure() {
        let shell = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            command
        };
        let first = "echo test a::b ... FAILED; echo 'test result: FAILED. 3 passed; 1 failed; 0 ignored'; exit 101";
        let run = |first: &str, second: &str| {
            let mut report = Report::default();
            let mut asked = Vec::new();
            report.cargo("a", &mut shell(first), |names| {
                asked = names.to_vec();
                shell(second)
            });
            let line = report.lines.pop().unwrap();
            (asked, line.counts.passed, line.counts.failed, line.flaky, line.error.is_none())
        };
        let names = vec!["a::b".to_owned()];
        let well = "echo 'test result: ok. 1 passed; 0 failed; 0 ignored'";
        assert_eq!(run(first, well), (names.clone(), 4, 0, names.clone(), true));
        assert_eq!(run(first, first), (names.clone(), 3, 1, vec![], false));
        assert_eq!(run(first, "true"), (names, 3, 1, vec![], false), "it has to run");
        let two = "echo test a ... FAILED; echo test b ... FAILED; echo 'test result: FAILED. 3 passed; 2 failed; 0 ignored'; exit 101";
        assert_eq!(run(two, well), (vec!["a".into(), "b".into()], 3, 2, vec![], false), "each of them has to run");
        // What ended without saying which test failed is not tried again.
        assert_eq!(run("exit 101", well), (vec![], 0, 1, vec![], false));

        let mut report = Report::default();
        report.runner("a", &mut shell("echo 'flaky   node  files: a case'; echo node: 2 passed, 0 failed"));
        assert_eq!(report.lines[0].flaky, ["files: a case"]);
    }

    #[test]
    fn runners_that_run_at_once_are_judged_one_by_one() {
        let runner = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            (script.to_owned(), command)
        };
        let scripts = ["echo a: 2 passed, 0 failed", "echo b: 1 passed, 3 failed; exit 1", "true"];
        let mut report = Report::default();
        report.runners(scripts.map(runner).into(), 2);
        let went_well = scripts.map(|script| {
            let line = report.lines.iter().find(|line| line.name == script).expect("every runner has a line");
            (line.counts.passed, line.counts.failed, line.error.is_none())
        });
        assert_eq!(went_well, [(2, 0, true), (1, 3, false), (0, 1, false)]);
    }

    #[test]
    fn counts_are_read_from_what_runners_print() {
        let check = |line: &str, passed, failed| {
            let mut counts = Counts::default();
            counts.add(line);
            assert_eq!(counts, Counts { passed, failed }, "{line}");
        };
        check("test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.02s", 12, 0);
        check("test result: FAILED. 3 passed; 2 failed; 0 ignored", 3, 2);
        check("worker: 7 passed, 1 failed", 7, 1);
        check("7 passed, 0 failed", 7, 0);
        check("test protocol::decodes ... ok", 0, 0);
        check("a passed, b failed", 0, 0);
    }
}
