//! Which file of a crate imports what from which other file.
//!
//! A name counts where it is defined: re-exports (`pub use`) are followed to their file, so that `crate::Key` is an import from
//! `object.rs` and not from the crate's root. A `pub use` is itself an import only if its file uses the name, too. An imported
//! module counts for what is then reached through it. `mod name;` is not an import. A glob import counts as one from the file
//! that it names, and re-exports through a glob are not followed further.
//!
//! Some imports can't be seen in the text: a type whose methods are called without writing its name, names that macros assemble,
//! modules inside macros.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use super::crates::targets;
use super::source::{Module, Use, tokens};

/// From a file to another, the names.
pub(super) type Imports = BTreeMap<(PathBuf, PathBuf), BTreeSet<String>>;

/// The imports of one crate, whose folder is relative to the work tree.
pub(super) fn of(root: &Path, package: &Path) -> Result<Imports> {
    let mut imports = Imports::new();
    for target in targets(&root.join(package))? {
        let mut tree = Tree::default();
        tree.load(&target, &[], true)?;
        tree.collect(root, &mut imports);
    }
    Ok(imports)
}

/// The files of one crate's library, sorted, without test-only files.
pub(super) fn library(root: &Path, package: &Path) -> Result<BTreeSet<PathBuf>> {
    let root = root.join(package).join("src/lib.rs");
    let mut tree = Tree::default();
    if root.is_file() {
        tree.load(&root, &[], true)?;
    }
    Ok(tree.modules.into_values().map(|(file, _)| file).collect())
}

/// The modules of one target by their paths; the root's is empty.
#[derive(Default)]
struct Tree {
    modules: BTreeMap<Vec<String>, (PathBuf, Module)>,
}

/// How many re-exports of re-exports are followed.
const MOST_REEXPORTS: usize = 16;

/// What a path leads to.
enum Found {
    Module(Vec<String>),
    /// A name in a file.
    Item(PathBuf, String),
}

impl Tree {
    fn load(&mut self, file: &Path, path: &[String], is_root: bool) -> Result<()> {
        let folder = file.parent().unwrap_or(Path::new(""));
        let children = match file.file_stem() {
            Some(stem) if !is_root && stem != "mod" => folder.join(stem),
            _ => folder.to_owned(),
        };
        self.add(Module::read(tokens(file)?), file, path, &children)
    }

    /// Adds a module and those below it, whose files are in the folder `children`.
    fn add(&mut self, mut module: Module, file: &Path, path: &[String], children: &Path) -> Result<()> {
        let below = |name: &String| [path, std::slice::from_ref(name)].concat();
        for (name, inner) in std::mem::take(&mut module.inline) {
            self.add(inner, file, &below(&name), &children.join(&name))?;
        }
        for (name, at) in &module.files {
            let candidates = match at {
                Some(at) => vec![file.with_file_name(at)],
                None => vec![children.join(format!("{name}.rs")), children.join(name).join("mod.rs")],
            };
            match candidates.iter().find(|candidate| candidate.is_file()) {
                Some(found) => self.load(found, &below(name), false)?,
                None => bail!("{}: no file for `mod {name};`", file.display()),
            }
        }
        self.modules.insert(path.to_vec(), (file.to_owned(), module));
        Ok(())
    }

    fn collect(&self, root: &Path, imports: &mut Imports) {
        let relative = |file: &Path| file.strip_prefix(root).unwrap_or(file).to_owned();
        for (path, (file, module)) in &self.modules {
            let mut add = |to: &Path, name: String| {
                if to != file {
                    imports.entry((relative(file), relative(to))).or_default().insert(name);
                }
            };
            let (globs, named): (Vec<&Use>, Vec<&Use>) =
                module.uses.iter().partition(|one| one.name.is_none());
            for found in globs.iter().flat_map(|glob| self.resolve(path, &glob.path, 0)) {
                match found {
                    Found::Module(to) => {
                        self.modules.get(&to).into_iter().for_each(|(to, _)| add(to, "*".into()))
                    }
                    Found::Item(to, name) => add(&to, name),
                }
            }
            let named = named.iter().filter(|import| !import.reexport).map(|import| &import.path);
            for found in named.chain(&module.paths).flat_map(|names| self.resolve(path, names, 0)) {
                if let Found::Item(to, name) = found {
                    add(&to, name);
                }
            }
        }
    }

    /// Where a path that is written in a module leads: empty if it is outside the crate or the text doesn't show the name;
    /// several places if a name is imported twice, under different conditions.
    fn resolve(&self, at: &[String], path: &[String], depth: usize) -> Vec<Found> {
        let Some((first, rest)) = path.split_first() else { return Vec::new() };
        match first.as_str() {
            "crate" => self.walk(Vec::new(), rest, depth),
            "self" => self.walk(at.to_vec(), rest, depth),
            "super" => {
                at.split_last().map_or_else(Vec::new, |(_, above)| self.walk(above.to_vec(), rest, depth))
            }
            _ => self.onward(self.member(at, first, depth), rest, depth),
        }
    }

    /// Follows a path down, or up, from a module.
    fn walk(&self, at: Vec<String>, path: &[String], depth: usize) -> Vec<Found> {
        let Some((name, rest)) = path.split_first() else { return vec![Found::Module(at)] };
        if name == "super" {
            return at
                .split_last()
                .map_or_else(Vec::new, |(_, above)| self.walk(above.to_vec(), rest, depth));
        }
        let Some((file, module)) = self.modules.get(&at) else { return Vec::new() };
        let members = self.member(&at, name, depth);
        // An import from another crate is not this crate's.
        if members.is_empty() && !module.uses.iter().any(|import| import.name.as_ref() == Some(name)) {
            return vec![Found::Item(file.clone(), name.clone())];
        }
        self.onward(members, rest, depth)
    }

    fn onward(&self, from: Vec<Found>, path: &[String], depth: usize) -> Vec<Found> {
        let step = |found| match found {
            Found::Module(module) => self.walk(module, path, depth),
            item => vec![item],
        };
        from.into_iter().flat_map(step).collect()
    }

    /// A module in a module, or what is imported into it by a name.
    fn member(&self, at: &[String], name: &String, depth: usize) -> Vec<Found> {
        let below = [at, std::slice::from_ref(name)].concat();
        if self.modules.contains_key(&below) {
            return vec![Found::Module(below)];
        }
        // An import whose path begins with its own name (`use serde;`) leads to itself.
        let Some((_, module)) = self.modules.get(at).filter(|_| depth < MOST_REEXPORTS) else {
            return Vec::new();
        };
        let imports = module.uses.iter().filter(|import| import.name.as_ref() == Some(name));
        imports.flat_map(|import| self.resolve(at, &import.path, depth + 1)).collect()
    }
}
