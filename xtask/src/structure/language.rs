//! Checks the language of names, comments, messages and pages by patterns.
//!
//! Each rule finds words that readers have to decode. `xtask/language.txt` lists how many findings of a rule a crate or a page may
//! have. A rule's findings can only become fewer: `cargo xtask language` lowers the numbers and never raises one, and a list that
//! accepts more findings of a rule than the list of the commit before is a violation. A new rule begins with the findings that it has.

mod rules;
mod text;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::crates;
use super::proofs::clear_places;
use rules::RULES;

/// The list of accepted findings.
const ACCEPTED: &str = "xtask/language.txt";
/// The rules, whose literals are the words that they reject.
const RULES_FILE: &str = "xtask/src/structure/language/rules.rs";
/// Page that is made of help texts.
const COMMANDS: &str = "docs/commands.md";
/// Findings printed for each rule of a crate or page.
const MAX_PRINTED: usize = 10;

/// Name of a rule, and the folder of a crate or the path of a page.
type Place = (String, String);
/// Findings that are accepted.
type Accepted = BTreeMap<Place, usize>;

/// The list of a commit, with the rules that the commit has.
struct Earlier {
    accepted: Accepted,
    rules: String,
}

/// A phrase that a rule rejects, with the file and line where it stands.
struct Finding {
    at: String,
    found: String,
}

/// Returns a violation for each rule that has other numbers of findings than the list accepts.
pub(super) fn violations(root: &Path, folders: &[&str]) -> Result<Vec<String>> {
    let (found, accepted) = (find(root, folders)?, read_accepted(root)?);
    let mut violations = Vec::new();
    // In a clean work tree, the commit before is the one to compare with.
    for commit in ["HEAD", "HEAD~1"] {
        violations.extend(find_raised(&accepted, &Earlier::read(root, commit)?));
    }
    let places: BTreeSet<&Place> = found.keys().chain(accepted.keys()).collect();
    for place in places {
        let findings = found.get(place).map_or(&[][..], Vec::as_slice);
        let most = accepted.get(place).copied().unwrap_or(0);
        let (rule, area) = place;
        if findings.len() > most {
            let mut message =
                format!("{area}: {} findings of {rule}, of which {ACCEPTED} accepts {most}:", findings.len());
            for finding in findings.iter().take(MAX_PRINTED) {
                write!(message, "\n  {}: {}", finding.at, finding.found)?;
            }
            if let Some(rule) = RULES.iter().find(|one| one.name == rule) {
                write!(message, "\n  instead: {}", rule.instead)?;
            }
            violations.push(message);
        } else if findings.len() < most {
            violations.push(format!(
                "{area}: {} findings of {rule}, and {ACCEPTED} accepts {most}: run `cargo xtask language`",
                findings.len()
            ));
        }
    }
    Ok(violations)
}

/// Returns a violation for each rule of which the list accepts more findings than an earlier one, except for new rules.
fn find_raised(accepted: &Accepted, earlier: &Earlier) -> Vec<String> {
    let sum = |list: &Accepted, rule: &str| -> usize {
        list.iter().filter(|((name, _), _)| name == rule).map(|(_, count)| count).sum()
    };
    let rules = RULES.iter().map(|rule| rule.name).filter(|rule| earlier.has_rule(rule));
    let compare = |rule: &str| {
        let (before, now) = (sum(&earlier.accepted, rule), sum(accepted, rule));
        (now > before)
            .then(|| format!("{ACCEPTED} accepts {now} findings of {rule}, and accepted {before} before"))
    };
    rules.filter_map(compare).collect()
}

impl Earlier {
    /// Reads the list and the rules of a commit. Without that commit there are no rules.
    fn read(root: &Path, commit: &str) -> Result<Self> {
        let show = |file: &str| -> Result<String> {
            let mut git = Command::new("git");
            let shown = git.args(["show", &format!("{commit}:{file}")]).current_dir(root).output()?;
            Ok(String::from_utf8(shown.stdout)?)
        };
        Ok(Self { accepted: parse(&show(ACCEPTED)?)?, rules: show(RULES_FILE)? })
    }

    fn has_rule(&self, rule: &str) -> bool {
        self.rules.contains(&format!("name: \"{rule}\""))
    }
}

/// Lowers the numbers of the list to the findings that are left, and adds the findings of rules that the last commit doesn't have.
pub(super) fn lower(root: &Path, folders: &[&str]) -> Result<()> {
    let (found, accepted) = (find(root, folders)?, read_accepted(root)?);
    let earlier = Earlier::read(root, "HEAD")?;
    let mut text = String::new();
    for (place, findings) in found {
        let most = accepted.get(&place).copied().unwrap_or(0);
        let count = if earlier.has_rule(&place.0) { findings.len().min(most) } else { findings.len() };
        if count > 0 {
            writeln!(text, "{}\t{}\t{count}", place.0, place.1)?;
        }
    }
    fs::write(root.join(ACCEPTED), text).with_context(|| format!("write {ACCEPTED}"))
}

fn read_accepted(root: &Path) -> Result<Accepted> {
    let path = root.join(ACCEPTED);
    if path.exists() { parse(&read(&path)?) } else { Ok(Accepted::new()) }
}

fn parse(text: &str) -> Result<Accepted> {
    let mut accepted = Accepted::new();
    for line in text.lines() {
        let [rule, area, count] = line.split('\t').collect::<Vec<_>>()[..] else {
            bail!("{ACCEPTED}: not a rule, a place and a number: {line}")
        };
        let count = count.parse().with_context(|| format!("{ACCEPTED}: {line}"))?;
        accepted.insert((rule.to_owned(), area.to_owned()), count);
    }
    Ok(accepted)
}

/// Returns all findings in crates and pages.
fn find(root: &Path, folders: &[&str]) -> Result<BTreeMap<Place, Vec<Finding>>> {
    let packages = crates::below(root, folders)?;
    let mut found: BTreeMap<Place, Vec<Finding>> = BTreeMap::new();
    for file in crates::files(root)? {
        let Some((area, parts)) = parts_of(root, &file, &packages)? else { continue };
        for part in &parts {
            for rule in RULES.iter().filter(|rule| rule.parts.contains(&part.part)) {
                for phrase in rule.find(&part.words) {
                    let at = format!("{}:{}", file.display(), part.line);
                    let findings = found.entry((rule.name.to_owned(), area.clone())).or_default();
                    findings.push(Finding { at, found: phrase });
                }
            }
        }
    }
    Ok(found)
}

/// Returns the crate or page that a file belongs to, and the parts of the file that rules look at.
fn parts_of(root: &Path, file: &Path, packages: &[PathBuf]) -> Result<Option<(String, Vec<text::Words>)>> {
    let path = root.join(file);
    match file.extension().and_then(|end| end.to_str()) {
        Some("rs") if file == Path::new(RULES_FILE) => Ok(None),
        Some("rs") => {
            let package = packages.iter().filter(|package| file.starts_with(package)).max();
            let Some(package) = package else { return Ok(None) };
            Ok(Some((package.display().to_string(), text::of_rust(&path, is_test(file))?)))
        }
        // Help texts count where they are written.
        Some("md") if file == Path::new(COMMANDS) => Ok(None),
        // Lists of tests are no sentences.
        Some("md") => Ok(Some((file.display().to_string(), text::of_page(&clear_places(&read(&path)?))))),
        _ => Ok(None),
    }
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("read {}", path.display()))
}

/// Returns true for files that contain tests alone. Names in them are sentences, which other rules judge.
fn is_test(file: &Path) -> bool {
    let is_folder = |name: &str| ["tests", "benches", "examples"].contains(&name);
    file.iter().any(|part| part.to_str().is_some_and(is_folder))
        || file.file_stem().is_some_and(|name| name == "tests")
}

#[cfg(test)]
mod tests;
