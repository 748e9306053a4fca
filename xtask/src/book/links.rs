//! Checks the links of the rendered book: each leads to a file and an anchor in it, and no page loads anything from the network.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// A rendered page.
#[derive(Default)]
struct Page {
    /// Tags with what they link or load.
    links: BTreeSet<(String, String)>,
    anchors: BTreeSet<String>,
}

/// Returns a line for each link that leads nowhere, and each resource that isn't in the book.
pub(super) fn find_dead_links(book: &Path) -> Result<Vec<String>> {
    let mut pages = BTreeMap::new();
    let book = &book.canonicalize().with_context(|| format!("read {}", book.display()))?;
    collect_pages(book, &mut pages)?;
    let mut dead = Vec::new();
    for (path, page) in &pages {
        let shown = path.strip_prefix(book).unwrap_or(path).display();
        for (tag, link) in &page.links {
            if let Some(reason) = reject_link(path, tag, link, &pages) {
                dead.push(format!("{shown} has <{tag}> with {link:?}: {reason}"));
            }
        }
    }
    Ok(dead)
}

/// Returns the reason why a link on a page is dead.
fn reject_link(page: &Path, tag: &str, link: &str, pages: &BTreeMap<PathBuf, Page>) -> Option<&'static str> {
    if link.contains("://") || link.starts_with("//") {
        return (tag != "a").then_some("it is loaded from the network");
    }
    if link.starts_with("mailto:") {
        return None;
    }
    let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
    let path = if file.is_empty() { page.to_owned() } else { page.parent()?.join(file) };
    let Some(file) = path.canonicalize().ok().filter(|file| file.is_file()) else {
        return Some("no such file in the book");
    };
    let has_anchor = |page: &Page| anchor.is_empty() || page.anchors.contains(anchor);
    (!pages.get(&file).is_none_or(has_anchor)).then_some("no such anchor")
}

fn collect_pages(folder: &Path, pages: &mut BTreeMap<PathBuf, Page>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("read {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            collect_pages(&path, pages)?;
        } else if path.extension().is_some_and(|ending| ending == "html") {
            let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
            pages.insert(path, parse_page(&text));
        }
    }
    Ok(())
}

/// Reads the tags of a page. mdBook puts all values into double quotes, and escapes `<` in text.
fn parse_page(text: &str) -> Page {
    let mut page = Page::default();
    for tag in text.split('<').skip(1).filter_map(|rest| Some(rest.split_once('>')?.0.replace('\n', " "))) {
        let name = tag.split(' ').next().unwrap_or_default();
        page.anchors.extend(attribute(&tag, "id"));
        for link in ["href", "src"].into_iter().filter_map(|key| attribute(&tag, key)) {
            page.links.insert((name.to_owned(), link));
        }
    }
    page
}

fn attribute(tag: &str, key: &str) -> Option<String> {
    let (_, rest) = tag.split_once(&format!(" {key}=\""))?;
    Some(rest.split_once('"')?.0.replace("&amp;", "&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dead_links_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
        fs::create_dir(dir.path().join("guides")).unwrap();
        write("guides/b.html", r#"<h2 id="there">There</h2>"#);
        write("image.svg", "");
        let good = r##"<a href="guides/b.html#there"> <a href="#here" id="here"> <img src="image.svg"> <a
            href="https://example.org">"##;
        write("a.html", good);
        assert_eq!(find_dead_links(dir.path()).unwrap(), Vec::<String>::new());
        let bad = [
            (r#"<a href="c.html">"#, r#"a.html has <a> with "c.html": no such file in the book"#),
            (r#"<a href="guides">"#, r#"a.html has <a> with "guides": no such file in the book"#),
            (
                r#"<a href="guides/b.html#gone">"#,
                r#"a.html has <a> with "guides/b.html#gone": no such anchor"#,
            ),
            (r##"<a class="x" href="#gone">"##, r##"a.html has <a> with "#gone": no such anchor"##),
            (
                r#"<script src="https://example.org/x.js">"#,
                r#"a.html has <script> with "https://example.org/x.js": it is loaded from the network"#,
            ),
        ];
        for (page, dead) in bad {
            write("a.html", page);
            assert_eq!(find_dead_links(dir.path()).unwrap(), [dead]);
        }
    }
}
