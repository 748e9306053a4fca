//! Tests that the pages about messages have the messages and codes of the program.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::crates;

/// Page that lists messages with what to do about each.
const TROUBLESHOOTING: &str = "docs/troubleshooting.md";
/// Page that lists the codes of refusals with words of their messages.
const REFUSALS: &str = "docs/refusals.md";
/// Page that lists the variables that the program reads.
const ENVIRONMENT: &str = "docs/environment.md";
/// All texts of the program.
const TEXTS: &str = "host/cli/src/output/tests/texts.txt";
/// Folder of the program's code.
const HOST: &str = "host";
/// Folders of the code that refuses moves.
const REFUSING: [&str; 2] = ["host/core/src", "host/engine/src"];
/// Words in front of the code of a refusal.
const BEFORE_CODE: [&str; 6] =
    ["Refusal::source(", "Refusal::target(", "refuse_source(", "refused(", "refusal(", "code: "];

/// Words in front of the name of a variable.
const READING_VARIABLES: [&str; 2] = ["env::var(", "env::var_os("];

/// Returns a violation for each message, code or variable that only a page or only the program has.
fn violations(root: &Path) -> Result<Vec<String>> {
    let read = |path: &str| fs::read_to_string(root.join(path)).with_context(|| format!("read {path}"));
    let (troubleshooting, refusals, texts) = (read(TROUBLESHOOTING)?, read(REFUSALS)?, read(TEXTS)?);
    let mut violations = unknown_words(TROUBLESHOOTING, &column(&troubleshooting, 0), &texts);
    violations.extend(unknown_words(REFUSALS, &column(&refusals, 1), &texts));
    violations.extend(other_codes(&column(&refusals, 0), &product_code(root, &REFUSING)?));
    let (environment, host) = (read(ENVIRONMENT)?, product_code(root, &[HOST])?);
    violations.extend(unknown_words(ENVIRONMENT, &column(&environment, 0), &host));
    violations.extend(unlisted_variables(&column(&environment, 0), &host));
    Ok(violations)
}

/// Returns the code spans in a column of the page's tables.
fn column(page: &str, number: usize) -> Vec<&str> {
    let cells = page.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").nth(number));
    cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect()
}

/// Returns a violation for each message or variable that the program doesn't have.
fn unknown_words(page: &str, words: &[&str], texts: &str) -> Vec<String> {
    let unknown = words.iter().filter(|word| !texts.contains(**word));
    unknown.map(|word| format!("{page}: the program doesn't have {word:?}")).collect()
}

/// Returns a violation for each variable that the code reads by its name, and the page doesn't list.
fn unlisted_variables(listed: &[&str], code: &str) -> Vec<String> {
    let names = READING_VARIABLES.iter().flat_map(|words| code.split(words).skip(1));
    let names: BTreeSet<&str> =
        names.filter_map(|rest| Some(rest.trim_start().strip_prefix('"')?.split_once('"')?.0)).collect();
    let missing = names.into_iter().filter(|name| !listed.contains(name));
    missing.map(|name| format!("{ENVIRONMENT} doesn't list {name}")).collect()
}

/// Returns a violation for each code of a refusal that only the page or only the code has.
fn other_codes(listed: &[&str], code: &str) -> Vec<String> {
    let gone = listed.iter().filter(|name| !code.contains(&format!("\"{name}\"")));
    let gone = gone.map(|name| format!("{REFUSALS}: no refusal has the code {name}"));
    let used: BTreeSet<&str> = BEFORE_CODE.iter().flat_map(|words| codes_after(code, words)).collect();
    let missing = used.into_iter().filter(|name| !listed.contains(name));
    gone.chain(missing.map(|name| format!("{REFUSALS} doesn't list {name}"))).collect()
}

/// Returns the codes that follow these words, and are followed by a comma.
fn codes_after<'a>(code: &'a str, words: &'a str) -> impl Iterator<Item = &'a str> {
    code.split(words).skip(1).filter_map(|rest| {
        let (literal, after) = rest.trim_start().strip_prefix('"')?.split_once('"')?;
        let is_code = literal.bytes().all(|letter| letter.is_ascii_lowercase() || letter == b'-');
        (is_code && after.starts_with(',')).then_some(literal)
    })
}

/// Files that are no part of the program.
const OTHER_FILES: [&str; 3] = ["tests", "tests.rs", "build.rs"];

/// Returns the code below these folders without its tests and build scripts.
fn product_code(root: &Path, folders: &[&str]) -> Result<String> {
    let mut code = String::new();
    for folder in folders {
        for file in crates::rust_files(&root.join(folder))? {
            if !file.iter().any(|part| OTHER_FILES.iter().any(|other| part == *other)) {
                let text = fs::read_to_string(&file).with_context(|| format!("read {}", file.display()))?;
                code.push_str(text.split("#[cfg(test)]").next().unwrap_or_default());
            }
        }
    }
    Ok(code)
}

#[test]
fn message_pages_agree_with_the_program() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    assert_eq!(violations(&root).unwrap(), Vec::<String>::new());
}

#[test]
fn unknown_words_are_found() {
    let page = "| message | do this |\n|---|---|\n| `no answer`, `lost it` | `wait` |\n`other`\n";
    let expected = ["a.md: the program doesn't have \"lost it\""];
    assert_eq!(unknown_words("a.md", &column(page, 0), "no answer from {}\n"), expected);
}

#[test]
fn unlisted_variables_are_found() {
    let code = "env::var(\"A_B\") std::env::var_os(\n    \"C\",\n) env::var(name)";
    assert_eq!(unlisted_variables(&["A_B"], code), ["docs/environment.md doesn't list C"]);
}

#[test]
fn refusal_codes_are_those_of_the_page() {
    let page = "| code | message |\n|---|---|\n| `a-b`, `c-d` | `e-f` |\n";
    let code =
        "Refusal::source(\"a-b\", key); Refusal {\n code: \"g-h\",\n side } Note { code: \"i-j\".into() }";
    let expected = [
        "docs/refusals.md: no refusal has the code c-d".to_owned(),
        "docs/refusals.md doesn't list g-h".into(),
    ];
    assert_eq!(other_codes(&column(page, 0), code), expected);
}
