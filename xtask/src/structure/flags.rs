//! Finds texts of the libraries that name a flag or a command of a program.
//!
//! Remedies are values: only the command line knows their flags, so that other programs on the same libraries can present them in
//! their own way. Comments and test code may name flags, and commands of kubectl have its flags.

use std::path::{Path, PathBuf};

use anyhow::Result;
use proc_macro2::{Group, TokenStream, TokenTree};

use super::imports;
use super::source::{after_item, is, only_in_tests, tokens};

/// The string literals of a crate's library that name one, a line each.
pub(super) fn named(root: &Path, package: &str) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for file in imports::library(root, Path::new(package))? {
        if file.ends_with("host/core/src/messages/shell.rs") {
            continue;
        }
        let relative: PathBuf = file.strip_prefix(root).unwrap_or(&file).to_owned();
        literals(tokens(&file)?, &mut |line, text| {
            if names_flag(&text.replace("\\n", "\n")) || text.contains("`pivot-host ") {
                found.push(format!("{}:{line} names a flag or a command: {text}", relative.display()));
            }
        });
    }
    Ok(found)
}

/// Calls `each` for the literals of some code, with their lines.
pub(super) fn literals(code: TokenStream, each: &mut dyn FnMut(usize, &str)) {
    let code: Vec<TokenTree> = code.into_iter().collect();
    let mut rest = code.as_slice();
    while let [token, after @ ..] = rest {
        rest = after;
        match (token, rest) {
            (sign, [TokenTree::Group(attribute), after @ ..]) if is(sign, '#') => {
                if only_in_tests(attribute) {
                    rest = after_item(after);
                } else if is_doc(attribute) {
                    rest = after;
                }
            }
            // `#![…]`
            (sign, [mark, TokenTree::Group(attribute), after @ ..])
                if is(sign, '#') && is(mark, '!') && is_doc(attribute) =>
            {
                rest = after;
            }
            (TokenTree::Literal(literal), _) => each(literal.span().start().line, &literal.to_string()),
            (TokenTree::Group(group), _) => literals(group.stream(), each),
            _ => {}
        }
    }
}

/// A doc comment, as the tokens have it.
fn is_doc(attribute: &Group) -> bool {
    matches!(attribute.stream().into_iter().next(), Some(TokenTree::Ident(word)) if word == "doc")
}

/// Two dashes and a letter, at the beginning of a word.
fn names_flag(text: &str) -> bool {
    text.match_indices("--").any(|(at, _)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let after = text.get(at + 2..).and_then(|after| after.chars().next());
        before.is_none_or(|c| !c.is_alphanumeric() && c != '-')
            && after.is_some_and(|c| c.is_ascii_lowercase())
    })
}
