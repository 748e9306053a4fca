//! Public items of a crate that no other crate uses.
//!
//! Judged by names alone: an item is used if its name occurs in the code of another crate, including tests, or in the signature
//! of a public item that is used. An item that shares its name with something else (`new`, `kind`) counts as used; a reported
//! item is really unused, unless a macro or a string assembles its name. Fields are items here; variants and trait members are
//! not, since they are as public as their enum or trait. rustc checks that `pub` items are reachable from outside
//! (`unreachable_pub`).

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::Result;
use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};

use super::crates::rust_files;
use super::source::{Module, after_item, is, only_in_tests, tokens};

/// Something that says `pub`.
pub(super) struct Item {
    file: PathBuf,
    line: usize,
    what: String,
    name: String,
    /// The names it makes public with it: types of parameters and fields.
    signature: BTreeSet<String>,
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ({}:{})", self.what, self.name, self.file.display(), self.line)
    }
}

/// The public items of the crate in a folder that the code in `folders` beside it doesn't use.
pub(super) fn unused(root: &Path, package: &str, folders: &[&str]) -> Result<Vec<Item>> {
    let mut used = BTreeSet::new();
    for folder in folders {
        for file in rust_files(&root.join(folder))? {
            if !file.starts_with(root.join(package)) {
                names(tokens(&file)?, &mut used);
            }
        }
    }
    let mut items = Vec::new();
    for file in rust_files(&root.join(package).join("src"))? {
        let relative = file.strip_prefix(root).unwrap_or(&file);
        collect(tokens(&file)?, relative, &mut items);
    }
    // A used item's signature is used, which may make others used.
    loop {
        let (reached, rest): (Vec<Item>, Vec<Item>) =
            items.into_iter().partition(|item| used.contains(&item.name));
        items = rest;
        if reached.is_empty() {
            return Ok(items);
        }
        used.extend(reached.into_iter().flat_map(|item| item.signature));
    }
}

/// All names in some code.
fn names(tokens: TokenStream, into: &mut BTreeSet<String>) {
    for token in tokens {
        match token {
            TokenTree::Ident(name) => {
                into.insert(name.to_string());
            }
            TokenTree::Group(group) => names(group.stream(), into),
            _ => {}
        }
    }
}

/// The public items of a file, without test code.
fn collect(tokens: TokenStream, file: &Path, items: &mut Vec<Item>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut rest = tokens.as_slice();
    while let [token, after @ ..] = rest {
        rest = after;
        match (token, rest) {
            (sign, [TokenTree::Group(attribute), after @ ..]) if is(sign, '#') => {
                rest = if only_in_tests(attribute) { after_item(after) } else { after };
            }
            (TokenTree::Ident(word), _) if word == "pub" => item(rest, file, items),
            (TokenTree::Group(group), _) => collect(group.stream(), file, items),
            _ => {}
        }
    }
}

/// What follows `pub`, if that is an item which is public everywhere.
fn item(mut tokens: &[TokenTree], file: &Path, items: &mut Vec<Item>) {
    let mut add = |what: &str, name: &Ident, named: &str, signature: BTreeSet<String>| {
        let (file, line) = (file.to_owned(), name.span().start().line);
        items.push(Item { file, line, what: what.to_owned(), name: named.to_owned(), signature });
    };
    while let [TokenTree::Ident(word), after @ ..] = tokens {
        let [next, after_next @ ..] = after else { return };
        tokens = after;
        match (word.to_string().as_str(), next) {
            (what @ ("fn" | "struct" | "union"), TokenTree::Ident(name)) => {
                return add(what, name, &name.to_string(), signature(after_next, false));
            }
            (what @ ("enum" | "trait" | "type" | "static"), TokenTree::Ident(name)) => {
                return add(what, name, &name.to_string(), signature(after_next, true));
            }
            ("mod", TokenTree::Ident(name)) => return add("mod", name, &name.to_string(), BTreeSet::new()),
            // `const NAME: …` and `const fn`.
            ("const", TokenTree::Ident(name)) if after_next.first().is_some_and(|next| is(next, ':')) => {
                return add("const", name, &name.to_string(), signature(after_next, true));
            }
            ("use", _) => {
                let stream = std::iter::once(TokenTree::Ident(word.clone())).chain(after.iter().cloned());
                let length =
                    1 + after.iter().position(|token| is(token, ';')).map_or(after.len(), |end| end + 1);
                for import in Module::read(stream.take(length).collect()).uses {
                    if let Some(name) = import.name {
                        add("use", word, &name, BTreeSet::new());
                    }
                }
                return;
            }
            (name, colon) if is(colon, ':') && !after_next.first().is_some_and(|next| is(next, ':')) => {
                let end = after_next.iter().position(|token| is(token, ',')).unwrap_or(after_next.len());
                let mut types = BTreeSet::new();
                names(after_next.iter().take(end).cloned().collect(), &mut types);
                return add("field", word, name, types);
            }
            _ => {}
        }
    }
}

/// The names up to the end of an item; a body in braces counts if it is public as a whole.
fn signature(tokens: &[TokenTree], with_body: bool) -> BTreeSet<String> {
    let end = tokens.len() - after_item(tokens).len();
    let body = |token: &TokenTree| matches!(token, TokenTree::Group(g) if g.delimiter() == Delimiter::Brace);
    let counted = tokens.iter().take(end).filter(|token| with_body || !body(token));
    let mut found = BTreeSet::new();
    names(counted.cloned().collect(), &mut found);
    found
}
