//! Splits files into the parts that rules look at, and the parts into words.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use proc_macro2::{Ident, TokenStream, TokenTree};

use super::rules::Part;
use crate::structure::flags::literals;
use crate::structure::source::{after_item, is, only_in_tests, tokens};

/// Words of one part of a file.
pub(super) struct Words {
    pub(super) part: Part,
    /// Line on which the part begins.
    pub(super) line: usize,
    /// Lower-case words, or one name; `.` ends a sentence, and `:` a part of one.
    pub(super) words: Vec<String>,
}

/// Returns comments, and those names and literals that aren't test code.
pub(super) fn of_rust(path: &Path, is_test: bool) -> Result<Vec<Words>> {
    let text = fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
    let mut parts = comments(&text);
    if !is_test {
        let code = tokens(path)?;
        literals(code.clone(), &mut |line, text| {
            parts.push(Words { part: Part::Literal, line, words: words(&message(text)) });
        });
        names(code, &mut parts);
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

/// Words in front of the name of an item.
const ITEMS: [&str; 8] = ["struct", "enum", "union", "trait", "type", "mod", "const", "static"];

fn names(code: TokenStream, parts: &mut Vec<Words>) {
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
            (TokenTree::Ident(word), [TokenTree::Ident(mutable), TokenTree::Ident(name), after @ ..])
                if word == "let" && mutable == "mut" && is_closure(after) =>
            {
                parts.push(name_of(Part::Closure, name));
            }
            (TokenTree::Ident(word), [TokenTree::Ident(name), after @ ..]) => {
                match word.to_string().as_str() {
                    "fn" => parts.push(name_of(Part::Function, name)),
                    "let" if is_closure(after) => parts.push(name_of(Part::Closure, name)),
                    // `ALL` is what Rust calls the values of an enum.
                    word if ITEMS.contains(&word) && name != "fn" && name != "ALL" => {
                        parts.push(name_of(Part::Item, name))
                    }
                    _ => {}
                }
            }
            (TokenTree::Group(group), _) => names(group.stream(), parts),
            _ => {}
        }
    }
}

/// Returns a name with underscores between its words: `PausedCopies` is `paused_copies`.
fn name_of(part: Part, name: &Ident) -> Words {
    let (mut snake, mut after_lower) = (String::new(), false);
    for character in name.to_string().chars() {
        if character.is_uppercase() && after_lower {
            snake.push('_');
        }
        after_lower = character.is_lowercase();
        snake.extend(character.to_lowercase());
    }
    Words { part, line: name.span().start().line, words: vec![snake] }
}

/// Returns true if a closure follows.
fn is_closure(after_name: &[TokenTree]) -> bool {
    let [equals, value @ ..] = after_name else { return false };
    let is_modifier =
        |token: &&TokenTree| matches!(token, TokenTree::Ident(word) if word == "move" || word == "async");
    is(equals, '=') && value.iter().find(|token| !is_modifier(token)).is_some_and(|token| is(token, '|'))
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

/// Returns the text of a string literal: without its quotes, with a full stop for each new line and a word for each inserted value.
fn message(literal: &str) -> String {
    let text = literal.split_once('"').map_or(literal, |(_, text)| text).replace("\\n", " . ");
    let mut message = String::new();
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once('{') {
        message.push_str(before);
        rest = match (after.strip_prefix('{'), after.split_once('}')) {
            (Some(after), _) => after,
            (None, Some((_, after))) => {
                message.push_str(" value ");
                after
            }
            (None, None) => after,
        };
    }
    message + rest
}

/// Returns the words of a text in lower case. Text between backticks is one word, which tells flags from other code. A full stop ends a
/// sentence. A colon stands for each sign and each border of a table's cell after which a sentence goes on.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (at, part) in text.split('`').enumerate() {
        if at % 2 == 1 {
            words.push(if part.starts_with("--") { "`--" } else { "`" }.to_owned());
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
            match character {
                '.' | '!' | '?' => words.push(".".to_owned()),
                ':' | ';' | '|' => words.push(":".to_owned()),
                _ => {}
            }
        }
    }
    words
}
