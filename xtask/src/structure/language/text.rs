//! Splits files into the parts that rules look at, and the parts into words.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use proc_macro2::{TokenStream, TokenTree};

use super::rules::Part;
use crate::structure::flags::literals;
use crate::structure::source::{after_item, is, only_in_tests, tokens};

/// Words of one part of a file.
pub(super) struct Words {
    pub(super) part: Part,
    /// Line on which the part begins.
    pub(super) line: usize,
    /// Lower-case words; `.` ends a sentence.
    pub(super) words: Vec<String>,
}

/// Returns comments, and those function names and literals that aren't test code.
pub(super) fn of_rust(path: &Path, is_test: bool) -> Result<Vec<Words>> {
    let text = fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
    let mut parts = comments(&text);
    if !is_test {
        let code = tokens(path)?;
        literals(code.clone(), &mut |line, text| {
            parts.push(Words { part: Part::Literal, line, words: words(text) });
        });
        function_names(code, &mut parts);
    }
    Ok(parts)
}

/// Returns blocks of lines that are comments.
fn comments(text: &str) -> Vec<Words> {
    let mut blocks = Vec::new();
    let mut block: Option<(usize, String)> = None;
    for (at, line) in text.lines().chain([""]).enumerate() {
        match (line.trim_start().strip_prefix("//"), &mut block) {
            (Some(comment), Some((_, all))) => {
                all.push(' ');
                all.push_str(comment.trim_start_matches(['/', '!']));
            }
            (Some(comment), None) => {
                block = Some((at + 1, comment.trim_start_matches(['/', '!']).to_owned()))
            }
            (None, _) => {
                let words =
                    |(line, text): (usize, String)| Words { part: Part::Comment, line, words: words(&text) };
                blocks.extend(block.take().map(words));
            }
        }
    }
    blocks
}

fn function_names(code: TokenStream, parts: &mut Vec<Words>) {
    let code: Vec<TokenTree> = code.into_iter().collect();
    let mut rest = code.as_slice();
    while let [token, after @ ..] = rest {
        rest = after;
        match (token, rest) {
            (sign, [TokenTree::Group(attribute), after @ ..])
                if is(sign, '#') && only_in_tests(attribute) =>
            {
                rest = after_item(after);
            }
            // A trait dictates the names of its implementations.
            (TokenTree::Ident(word), _) if word == "impl" && implements_a_trait(rest) => {
                rest = after_item(rest)
            }
            (TokenTree::Ident(word), [TokenTree::Ident(name), ..]) if word == "fn" => parts.push(Words {
                part: Part::Function,
                line: name.span().start().line,
                words: vec![name.to_string()],
            }),
            (TokenTree::Group(group), _) => function_names(group.stream(), parts),
            _ => {}
        }
    }
}

fn implements_a_trait(after_impl: &[TokenTree]) -> bool {
    let header =
        after_impl.iter().take_while(|token| !matches!(token, TokenTree::Group(_)) && !is(token, ';'));
    header.into_iter().any(|token| matches!(token, TokenTree::Ident(word) if word == "for"))
}

/// Returns paragraphs, list items, rows and headings of a page, without code.
pub(super) fn of_page(page: &str) -> Vec<Words> {
    let (mut parts, mut block) = (Vec::new(), (1, String::new()));
    let mut is_code = false;
    for (at, line) in page.lines().chain([""]).enumerate() {
        let line = line.trim();
        let is_fence = line.starts_with("```");
        is_code ^= is_fence;
        let begins = ["#", "|", "- ", "* ", "<!--"].iter().any(|mark| line.starts_with(mark))
            || line.split_once(". ").is_some_and(|(number, _)| number.parse::<u32>().is_ok());
        if line.is_empty() || begins || is_fence || is_code {
            let (line, text) = std::mem::take(&mut block);
            if !text.is_empty() {
                parts.push(Words { part: Part::Page, line, words: words(&text) });
            }
        }
        if !line.is_empty() && !is_fence && !is_code {
            if block.1.is_empty() {
                block.0 = at + 1;
            }
            block.1.push(' ');
            block.1.push_str(line);
        }
    }
    parts
}

/// Returns the words of a text in lower case. Text between backticks is one word; a full stop, a colon, a semicolon and the border of a
/// table's cell end a sentence.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (at, part) in text.split('`').enumerate() {
        if at % 2 == 1 {
            words.push("`".to_owned());
            continue;
        }
        let mut word = String::new();
        for character in part.chars().chain([' ']) {
            if character.is_alphanumeric() || (character == '\'' && !word.is_empty()) {
                word.extend(character.to_lowercase());
                continue;
            }
            if !word.is_empty() {
                words.push(std::mem::take(&mut word));
            }
            if ['.', ':', ';', '|', '!', '?'].contains(&character) {
                words.push(".".to_owned());
            }
        }
    }
    words
}
