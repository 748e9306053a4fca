//! Every text of the program in one file, so that a change of wording can be reviewed: each text is worded where it is needed.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use expect_test::expect_file;

#[test]
fn texts_are_as_in_the_file() {
    let host = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut all = String::new();
    let mut packages: Vec<PathBuf> = fs::read_dir(host).unwrap().map(|entry| entry.unwrap().path()).collect();
    packages.sort();
    for file in packages.iter().flat_map(|package| sources(&package.join("src"))) {
        let source = fs::read_to_string(&file).unwrap();
        let texts = texts(product(&source));
        if !texts.is_empty() {
            let name = file.strip_prefix(host).unwrap().display();
            writeln!(all, "# {name}\n\n{}\n", texts.join("\n")).unwrap();
        }
    }
    all.truncate(all.trim_end().len() + 1);
    expect_file!["texts.txt"].assert_eq(&all);
}

/// The files of the product below a folder, in order.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    let of_tests = ["tests", "testing"];
    entries.retain(|entry| !of_tests.iter().any(|name| entry.file_stem().is_some_and(|stem| stem == *name)));
    entries.retain(|entry| entry.is_dir() || entry.extension().is_some_and(|extension| extension == "rs"));
    let below = |entry: PathBuf| if entry.is_dir() { sources(&entry) } else { vec![entry] };
    entries.into_iter().flat_map(below).collect()
}

/// A file without the tests at its end.
fn product(source: &str) -> &str {
    source.find("\n#[cfg(test)]\nmod ").and_then(|at| source.get(..at)).unwrap_or(source)
}

/// The literals of several words.
fn texts(source: &str) -> Vec<String> {
    let is_text = |text: &String| {
        let words: Vec<&str> = text.split_whitespace().collect();
        words.len() > 1 && words.iter().any(|word| word.starts_with(|c: char| c.is_ascii_lowercase()))
    };
    literals(source).into_iter().filter(is_text).collect()
}

fn literals(source: &str) -> Vec<String> {
    let mut literals = Vec::new();
    let mut rest = source;
    while let Some(at) = rest.find(['"', '\'', '/']) {
        let (before, found) = rest.split_at(at);
        let raw = before.trim_end_matches('#');
        let hashes = &before[raw.len()..];
        rest = match found.as_bytes() {
            [b'/', b'/', ..] => found.find('\n').map_or("", |end| &found[end..]),
            [b'"', ..] if raw.ends_with('r') => {
                let (literal, after) = found[1..].split_once(&format!("\"{hashes}")).unwrap();
                literals.push(literal.to_owned());
                after
            }
            [b'"', ..] => {
                let mut escaped = false;
                let end = found[1..].find(|c| {
                    let ends = c == '"' && !escaped;
                    escaped = c == '\\' && !escaped;
                    ends
                });
                let (literal, after) = found[1..].split_at(end.unwrap());
                literals.push(unescaped(literal));
                &after[1..]
            }
            // A character; otherwise a lifetime.
            [b'\'', b'\\', ..] => {
                let end = found[3..].find('\'').unwrap();
                &found[end + 4..]
            }
            [b'\'', ..] => {
                let mut characters = found[1..].chars();
                let character = characters.next().unwrap();
                if characters.next() == Some('\'') { &found[character.len_utf8() + 2..] } else { &found[1..] }
            }
            _ => &found[1..],
        };
    }
    literals
}

/// A literal without the breaks between its lines.
fn unescaped(literal: &str) -> String {
    let mut lines = literal.split("\\\n");
    let first = lines.next().unwrap_or_default().to_owned();
    lines.fold(first, |text, line| text + line.trim_start()).replace("\\\"", "\"")
}

#[test]
fn literals_are_found_among_characters_and_comments() {
    let source = r##"
        // Not "this one".
        fn f<'a>(c: char) -> &'a str { if c == '"' || c == '\'' { "one two" } else { "three \"four\" \
            five" } }
        const RAW: &str = r#"six "seven" eight"#;
        const ONE: &str = "word";
    "##;
    assert_eq!(literals(source), ["one two", "three \"four\" five", r#"six "seven" eight"#, "word"]);
    assert_eq!(texts(source).len(), 3);
}
