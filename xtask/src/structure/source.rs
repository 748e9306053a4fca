//! One source file as far as the checks need it: its modules, its imports, the paths in its code.
//!
//! Read as tokens (proc-macro2), not as a syntax tree (syn): syn leaves the contents of `format!(…)` or `select! { … }` as tokens
//! anyway, so that a tree would need this reader too, and shows no path that the tokens don't show.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

/// A module, inline or a whole file, without test code.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Module {
    /// `mod name;`, with its `#[path]`.
    pub(super) files: Vec<(String, Option<String>)>,
    /// `mod name { … }`.
    pub(super) inline: Vec<(String, Self)>,
    pub(super) uses: Vec<Use>,
    /// All paths in code, including single names, which may be re-exported here.
    pub(super) paths: BTreeSet<Vec<String>>,
}

/// One name of a `use` declaration.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Use {
    pub(super) path: Vec<String>,
    /// Its local name; none: it is a glob.
    pub(super) name: Option<String>,
    /// It has any kind of `pub`.
    pub(super) reexport: bool,
}

thread_local! {
    /// Several checks read the same files, and parsing takes most of their time.
    static PARSED: RefCell<BTreeMap<PathBuf, TokenStream>> = RefCell::default();
}

/// Returns the tokens of a file, parsed once in a run.
pub(super) fn tokens(file: &Path) -> Result<TokenStream> {
    if let Some(tokens) = PARSED.with_borrow(|parsed| parsed.get(file).cloned()) {
        return Ok(tokens);
    }
    let text = fs::read_to_string(file).with_context(|| format!("read {}", file.display()))?;
    let tokens: TokenStream = match text.parse() {
        Ok(tokens) => tokens,
        Err(error) => anyhow::bail!("{}: not Rust: {error}", file.display()),
    };
    PARSED.with_borrow_mut(|parsed| parsed.insert(file.to_owned(), tokens.clone()));
    Ok(tokens)
}

impl Module {
    pub(super) fn read(tokens: TokenStream) -> Self {
        let mut module = Self::default();
        module.take(tokens);
        module
    }

    fn take(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut rest = tokens.as_slice();
        let mut before = [None, None];
        let (mut file, mut reexport) = (None, false);
        while let [token, after @ ..] = rest {
            rest = after;
            match token {
                TokenTree::Group(attribute) if before[1] == Some('#') => {
                    if only_in_tests(attribute) {
                        rest = after_item(rest);
                        (file, reexport) = (None, false);
                    } else {
                        file = path_attribute(attribute).or(file);
                        self.take(attribute.stream());
                    }
                }
                TokenTree::Group(group) => {
                    self.take(group.stream());
                    // A public item may still follow `pub(crate)`.
                    if group.delimiter() == Delimiter::Brace {
                        (file, reexport) = (None, false);
                    }
                }
                TokenTree::Ident(word) if word == "pub" => reexport = true,
                TokenTree::Ident(word) if word == "mod" => match rest {
                    [TokenTree::Ident(name), TokenTree::Group(body), after @ ..] => {
                        self.inline.push((name.to_string(), Self::read(body.stream())));
                        rest = after;
                        (file, reexport) = (None, false);
                    }
                    [TokenTree::Ident(name), end, after @ ..] if is(end, ';') => {
                        self.files.push((name.to_string(), file.take()));
                        rest = after;
                        reexport = false;
                    }
                    _ => {}
                },
                // `use<'a>` in a bound is no import.
                TokenTree::Ident(word)
                    if word == "use" && !rest.first().is_some_and(|next| is(next, '<')) =>
                {
                    let end = rest.iter().position(|token| is(token, ';')).unwrap_or(rest.len());
                    let (tree, after) = rest.split_at(end);
                    self.import(tree, &[], reexport);
                    rest = after;
                }
                TokenTree::Ident(first) => {
                    let mut path = vec![first.to_string()];
                    while let [one, two, TokenTree::Ident(next), after @ ..] = rest
                        && is(one, ':')
                        && is(two, ':')
                    {
                        path.push(next.to_string());
                        rest = after;
                    }
                    let absolute = before == [Some(':'), Some(':')];
                    let member = before[1] == Some('.') && before[0] != Some('.');
                    if !absolute && !member {
                        self.paths.insert(path);
                    }
                }
                TokenTree::Punct(punct) if punct.as_char() == ';' => (file, reexport) = (None, false),
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
            before =
                [before[1], if let TokenTree::Punct(punct) = token { Some(punct.as_char()) } else { None }];
        }
    }

    /// A use tree: `a::{b, c::*, d as e}`, below a prefix.
    fn import(&mut self, tree: &[TokenTree], prefix: &[String], reexport: bool) {
        for branch in tree.split(|token| is(token, ',')) {
            let mut path = prefix.to_vec();
            let mut name = None;
            let mut nested = false;
            let mut renamed = false;
            // Nothing follows the last comma; `use ::name` is another crate's.
            if branch.first().is_none_or(|first| is(first, ':')) {
                continue;
            }
            for token in branch {
                match token {
                    TokenTree::Ident(word) if word == "as" => renamed = true,
                    TokenTree::Ident(word) if renamed => name = Some(word.to_string()),
                    // `a::{self}` is `a`.
                    TokenTree::Ident(word) if word == "self" && !path.is_empty() => {
                        name = path.last().cloned()
                    }
                    TokenTree::Ident(word) => {
                        path.push(word.to_string());
                        name = Some(word.to_string());
                    }
                    TokenTree::Punct(star) if star.as_char() == '*' => name = None,
                    TokenTree::Group(group) => {
                        nested = true;
                        let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
                        self.import(&tokens, &path, reexport);
                    }
                    _ => {}
                }
            }
            if !nested {
                self.uses.push(Use { path, name, reexport });
            }
        }
    }
}

pub(super) fn is(token: &TokenTree, character: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == character)
}

/// `#[cfg(test)]`, `#[cfg(all(test, …))]`.
pub(super) fn only_in_tests(attribute: &Group) -> bool {
    let is_test = |token: &TokenTree| matches!(token, TokenTree::Ident(word) if word == "test");
    let tokens: Vec<TokenTree> = attribute.stream().into_iter().collect();
    let [TokenTree::Ident(cfg), TokenTree::Group(condition)] = tokens.as_slice() else { return false };
    let condition: Vec<TokenTree> = condition.stream().into_iter().collect();
    cfg == "cfg"
        && match condition.as_slice() {
            [one] => is_test(one),
            [TokenTree::Ident(all), TokenTree::Group(each)] if all == "all" => {
                each.stream().into_iter().any(|token| is_test(&token))
            }
            _ => false,
        }
}

/// What follows the first item: it ends with a semicolon or with braces.
pub(super) fn after_item(mut tokens: &[TokenTree]) -> &[TokenTree] {
    while let [token, after @ ..] = tokens {
        tokens = after;
        let body = matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace);
        if body || is(token, ';') {
            break;
        }
    }
    tokens
}

/// `#[path = "…"]`.
fn path_attribute(attribute: &Group) -> Option<String> {
    let tokens: Vec<TokenTree> = attribute.stream().into_iter().collect();
    match tokens.as_slice() {
        [TokenTree::Ident(path), _, TokenTree::Literal(text)] if path == "path" => {
            Some(text.to_string().trim_matches('"').to_owned())
        }
        _ => None,
    }
}
