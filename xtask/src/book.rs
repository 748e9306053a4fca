//! The book: renders the pages that `docs/SUMMARY.md` lists, with a search that works offline.
//!
//! mdBook renders only files below one folder, and pages link to files all over the work tree. So the pages and the files that they
//! link are copied at their paths into one folder, where all relative links hold.

pub(crate) mod contents;
mod links;
mod tool;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::shell::{root, said, say, target};
pub(crate) use tool::missing_installer;

/// mdBook's settings, which name the two folders of a [`Book`].
const SETTINGS: &str = "docs/book.toml";

/// File in the book with the licence of mdBook's scripts and styles.
const LICENCE: &str = "LICENSE-mdBook.txt";

/// A rendered book.
pub(crate) struct Book {
    /// Pages as Markdown, and the files that they link.
    pub(crate) pages: PathBuf,
    /// Pages as HTML.
    pub(crate) html: PathBuf,
}

/// `cargo xtask book`
pub(crate) fn run() -> Result<()> {
    let book = render()?;
    say(&format!("{}", book.html.join("index.html").display()));
    Ok(())
}

/// Renders the book. Fails on links that lead nowhere.
pub(crate) fn render() -> Result<Book> {
    let (mdbook, folder) = (tool::install_once()?, target()?.join("book"));
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("remove {}", folder.display()))?;
    }
    let book = Book { pages: folder.join("pages"), html: folder.join("html") };
    copy_pages(&root()?, &book.pages)?;
    fs::copy(root()?.join(SETTINGS), folder.join("book.toml")).with_context(|| format!("copy {SETTINGS}"))?;
    // mdBook's variables would change the settings.
    said(Command::new(&mdbook.program).env_clear().arg("build").arg(&folder))?;
    fs::copy(&mdbook.licence, book.html.join(LICENCE)).with_context(|| format!("copy {LICENCE}"))?;
    let dead = links::find_dead_links(&book.html)?;
    if !dead.is_empty() {
        bail!("the book has dead links:\n  {}", dead.join("\n  "));
    }
    Ok(book)
}

/// Copies the pages and the files that they link.
fn copy_pages(root: &Path, to: &Path) -> Result<()> {
    let read = |page: &str| fs::read_to_string(root.join(page)).with_context(|| format!("read {page}"));
    let summary = read(contents::SUMMARY)?;
    for page in contents::list_pages(&summary) {
        copy(root, to, &page)?;
        let text = read(&page)?;
        let linked = contents::link_targets(&text).filter_map(|link| contents::resolve_link(&page, link));
        for file in linked.filter(|file| !file.ends_with(".md") && root.join(file).is_file()) {
            copy(root, to, &file)?;
        }
    }
    Ok(fs::write(to.join("SUMMARY.md"), contents::link_from_root(&summary))?)
}

fn copy(root: &Path, to: &Path, file: &str) -> Result<()> {
    let copied = to.join(file);
    fs::create_dir_all(copied.parent().context("a page is in a folder")?)?;
    fs::copy(root.join(file), copied).with_context(|| format!("copy {file}"))?;
    Ok(())
}
