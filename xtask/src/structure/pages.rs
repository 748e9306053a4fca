//! Checks that the files, functions and tests named on the pages about the code exist.
//!
//! A page names them in code spans:
//!
//! - `engine/src/act/commit.rs`: a file or a folder, by the end of its path, which must be unique;
//! - `act/commit.rs:release_list`: something that this file defines: a function, a type, a constant;
//! - `engine: w1_the_same_cluster_twice`: a test, in a file below a folder called `engine`.
//!
//! Anything else in a code span (commands, annotations, types) is ignored, and so are fenced blocks.
//!
//! Only `cargo xtask pages` writes the names of tests. A test that a page names elsewhere is a violation, so that
//! renaming a test edits no page by hand.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::crates::files;
use super::proofs::clear_places;
use super::source::tokens;

/// The keywords before the name of an item that a file defines.
const KEYWORDS: [&str; 7] = ["fn", "struct", "enum", "trait", "type", "const", "static"];
/// The extensions of the files that pages name.
const ENDINGS: [&str; 7] = [".rs", ".md", ".toml", ".wit", ".json", ".lock", ".yaml"];

/// What a code span names.
#[derive(Debug, PartialEq, Eq)]
enum Named<'a> {
    Path(&'a str),
    /// A file, and what it defines.
    Item(&'a str, &'a str),
    /// A folder, and a test somewhere below it.
    Below(&'a str, &'a str),
}

/// One line for each name on these pages that doesn't exist.
pub(super) fn violations(root: &Path, pages: &[&str]) -> Result<Vec<String>> {
    let tree = Tree::read(root)?;
    let mut found = Vec::new();
    for page in pages {
        let text = fs::read_to_string(root.join(page)).with_context(|| format!("read {page}"))?;
        if text.matches('`').count() % 2 == 1 {
            found.push(format!("{page} has a code span that doesn't end"));
        }
        for span in spans(&text) {
            if let Some(named) = named(&span) {
                let wrong = tree.wrong(&named)?;
                found.extend(wrong.map(|why| format!("{page} names `{span}`: {why}")));
            }
        }
    }
    for page in files(root)?.iter().filter(|file| file.extension().is_some_and(|end| end == "md")) {
        let page = page.display().to_string();
        let text = fs::read_to_string(root.join(&page)).with_context(|| format!("read {page}"))?;
        let by_hand = spans(&clear_places(&text)).into_iter().filter(|span| tree.is_test(span));
        found.extend(by_hand.map(|span| {
            format!("{page} names the test `{span}`: name its file, or tag it with the number that it proves")
        }));
    }
    Ok(found)
}

/// The code spans of a page, in order, line breaks in them as spaces.
fn spans(page: &str) -> Vec<String> {
    let mut text = String::new();
    let mut fenced = false;
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            text.push_str(line);
            text.push('\n');
        }
    }
    let words = |span: &str| span.split_whitespace().collect::<Vec<_>>().join(" ");
    text.split('`').skip(1).step_by(2).map(words).collect()
}

fn named(span: &str) -> Option<Named<'_>> {
    if let Some((folder, name)) = span.split_once(": ") {
        return (is_word(folder) && is_word(name)).then_some(Named::Below(folder, name));
    }
    if let Some((file, name)) = span.split_once(".rs:") {
        let file = span.get(..file.len() + ".rs".len())?;
        return (is_path(file) && is_word(name)).then_some(Named::Item(file, name));
    }
    is_path(span).then_some(Named::Path(span.trim_end_matches('/')))
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Whether it is a path: by a file extension, or by a slash in it. `pivot-host.io/move` is an annotation.
fn is_path(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    if text.is_empty() || text.starts_with(['.', '-', '/']) || !text.chars().all(plain) {
        return false;
    }
    match text.split_once('/') {
        Some((first, _)) => !first.contains('.'),
        None => ENDINGS.iter().any(|ending| text.len() > ending.len() && text.ends_with(ending)),
    }
}

/// The files and folders of a work tree, and what its Rust files define.
struct Tree<'a> {
    root: &'a Path,
    /// Relative to the root.
    paths: BTreeSet<String>,
    /// In which files a name is that of a test.
    tests: BTreeMap<String, Vec<String>>,
}

impl<'a> Tree<'a> {
    fn read(root: &'a Path) -> Result<Self> {
        let mut tree = Self { root, paths: BTreeSet::new(), tests: BTreeMap::new() };
        for file in files(root)? {
            let folders = file.ancestors().filter(|path| !path.as_os_str().is_empty());
            tree.paths.extend(folders.map(|path| path.display().to_string()));
            if file.extension().is_some_and(|end| end == "rs") {
                let mut names = BTreeSet::new();
                collect_tests(tokens(&root.join(&file))?, &mut names);
                for name in names {
                    tree.tests.entry(name).or_default().push(file.display().to_string());
                }
            }
        }
        Ok(tree)
    }

    /// Returns true for the name of a test, alone or with its folder or file.
    fn is_test(&self, span: &str) -> bool {
        let has_test = |name: &str, is_there: &dyn Fn(&str) -> bool| {
            self.tests.get(name).is_some_and(|files| files.iter().any(|file| is_there(file)))
        };
        match named(span) {
            Some(Named::Below(folder, name)) => has_test(name, &|file| is_below(file, folder)),
            Some(Named::Item(end, name)) => has_test(name, &|file| file.ends_with(end)),
            _ => span.contains('_') && self.tests.contains_key(span),
        }
    }

    /// What is wrong with a name; none if it exists.
    fn wrong(&self, named: &Named<'_>) -> Result<Option<String>> {
        Ok(match named {
            Named::Path(path) => self.only(path).err(),
            Named::Item(file, name) => match self.only(file) {
                Err(why) => Some(why),
                Ok(file) => {
                    let mut names = BTreeSet::new();
                    defined(tokens(&self.root.join(file))?, &KEYWORDS, &mut names);
                    (!names.contains(*name)).then(|| format!("{file} defines no {name}"))
                }
            },
            Named::Below(folder, name) => {
                let files = self.tests.get(*name).map(Vec::as_slice).unwrap_or_default();
                (!files.iter().any(|file| is_below(file, folder)))
                    .then(|| format!("no test of that name below a folder {folder}"))
            }
        })
    }

    /// The one path with this end, or why there is not exactly one.
    fn only(&self, named: &str) -> Result<&str, String> {
        if let Some(path) = self.paths.get(named) {
            return Ok(path);
        }
        let end = format!("/{named}");
        let mut found = self.paths.iter().filter(|path| path.ends_with(&end));
        match (found.next(), found.next()) {
            (Some(one), None) => Ok(one),
            (Some(one), Some(other)) => Err(format!("which one, {one} or {other}?")),
            (None, _) => Err("no such file or folder".to_owned()),
        }
    }
}

fn is_below(file: &str, folder: &str) -> bool {
    file.split('/').any(|part| part == folder)
}

/// The names that come after one of these keywords, tests included.
fn defined(tokens: TokenStream, keywords: &[&str], names: &mut BTreeSet<String>) {
    let mut before: Option<String> = None;
    for token in tokens {
        let word = match token {
            TokenTree::Group(group) => {
                defined(group.stream(), keywords, names);
                None
            }
            TokenTree::Ident(word) => Some(word.to_string()),
            TokenTree::Punct(_) | TokenTree::Literal(_) => None,
        };
        if let (Some(before), Some(name)) = (&before, &word)
            && keywords.contains(&before.as_str())
        {
            names.insert(name.clone());
        }
        before = word;
    }
}

/// Collects the names of the functions with `#[test]`, `#[tokio::test]` or the like.
pub(super) fn collect_tests(tokens: TokenStream, names: &mut BTreeSet<String>) {
    let (mut marked, mut of_attribute, mut of_function) = (false, false, false);
    for token in tokens {
        match &token {
            TokenTree::Group(group) if of_attribute && group.delimiter() == Delimiter::Bracket => {
                marked |= is_test(group.stream());
            }
            TokenTree::Group(group) => collect_tests(group.stream(), names),
            TokenTree::Ident(name) if of_function && std::mem::take(&mut marked) => {
                names.insert(name.to_string());
            }
            _ => {}
        }
        of_attribute = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '#');
        of_function = matches!(&token, TokenTree::Ident(word) if word == "fn");
    }
}

/// Whether the path of an attribute ends with `test`.
fn is_test(attribute: TokenStream) -> bool {
    let path = attribute.into_iter().take_while(|token| !matches!(token, TokenTree::Group(_)));
    path.last().is_some_and(|token| matches!(token, TokenTree::Ident(word) if word == "test"))
}
