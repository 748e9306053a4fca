//! Contents of the book: `docs/SUMMARY.md`, in mdBook's format.

use std::path::{Component, Path, PathBuf};

/// File with the contents.
pub(crate) const SUMMARY: &str = "docs/SUMMARY.md";

/// Returns the pages that the contents list, as paths from the root of the work tree, in order.
pub(crate) fn list_pages(summary: &str) -> Vec<String> {
    link_targets(summary).filter_map(|link| resolve_link(SUMMARY, link)).collect()
}

/// Returns the contents with links from the root of the work tree, which is where mdBook finds the pages.
pub(super) fn link_from_root(summary: &str) -> String {
    link_targets(summary).fold(summary.to_owned(), |text, link| match resolve_link(SUMMARY, link) {
        Some(page) => text.replace(&format!("]({link})"), &format!("]({page})")),
        None => text,
    })
}

/// Returns the targets of links in Markdown, `b.md#c` of `[A](b.md#c)`.
pub(super) fn link_targets(page: &str) -> impl Iterator<Item = &str> {
    page.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0))
}

/// Returns the file that a link on a page leads to, as a path from the root; none if that is outside of it.
pub(super) fn resolve_link(page: &str, link: &str) -> Option<String> {
    let (link, _) = link.split_once('#').unwrap_or((link, ""));
    let mut path = PathBuf::new();
    for part in Path::new(page).parent()?.join(link).components() {
        match part {
            Component::Normal(name) => path.push(name),
            Component::ParentDir if path.pop() => {}
            Component::CurDir => {}
            _ => return None,
        }
    }
    Some(path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_are_linked_from_the_root() {
        let summary = "[A](a.md)\n- [B](guides/b.md)\n  - [C](../plugins/c/README.md)\n";
        let expected = "[A](docs/a.md)\n- [B](docs/guides/b.md)\n  - [C](plugins/c/README.md)\n";
        assert_eq!(link_from_root(summary), expected);
        assert_eq!(list_pages(summary), ["docs/a.md", "docs/guides/b.md", "plugins/c/README.md"]);
    }

    #[test]
    fn links_out_of_the_tree_lead_nowhere() {
        assert_eq!(resolve_link("docs/a.md", "../wit/b.wit#c").as_deref(), Some("wit/b.wit"));
        assert_eq!(resolve_link("docs/a.md", "#c").as_deref(), Some("docs"));
        assert_eq!(resolve_link("docs/a.md", "../../b"), None);
        assert_eq!(resolve_link("docs/a.md", "/etc/passwd"), None);
    }
}
