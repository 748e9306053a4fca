//! Names that a plugin, its version and the kinds and namespaces that it asks for may have.

use pivot_core::GroupKind;
use pivot_core::messages::safe_text::to_line;

/// Fails if a plugin can't have this name.
pub fn check_name(name: &str) -> Result<(), String> {
    let word =
        |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    if name.len() <= 63 && name.starts_with(|c: char| c.is_ascii_lowercase()) && name.split('-').all(word) {
        return Ok(());
    }
    let name = to_line(name, 64);
    Err(format!("its name `{name}` is not lower-case words joined by dashes, 63 characters at most"))
}

/// Fails if a plugin can't have this version.
pub fn check_version(version: &str) -> Result<(), String> {
    if semver::Version::parse(version).is_ok() && version.len() <= 64 {
        return Ok(());
    }
    Err(format!("`{}` is no semantic version", to_line(version, 64)))
}

/// Returns true if a word is a DNS label, and so can name a namespace or a Service.
pub fn is_label(word: &str) -> bool {
    !word.is_empty()
        && word.len() <= 63
        && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
        && !word.starts_with('-')
        && !word.ends_with('-')
}

/// Returns true if a kind is well-formed; `*` is every kind of the group.
pub fn is_kind(kind: &GroupKind) -> bool {
    let GroupKind { group, kind } = kind;
    let group_fine = group.is_empty() || (group.len() <= 253 && group.split('.').all(is_label));
    let word = kind.starts_with(|c: char| c.is_ascii_uppercase())
        && kind.len() <= 63
        && kind.chars().all(|c| c.is_ascii_alphanumeric());
    group_fine && (kind == "*" || word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_checked() {
        let long = "a".repeat(64);
        for label in ["a", "0", "metal3", "a-b", &long[1..]] {
            assert!(is_label(label), "{label}");
        }
        for label in ["", ".", "..", "a.b", "-a", "a-", "A", "a_b", "a b", "\u{e4}", &long] {
            assert!(!is_label(label), "{label}");
        }
    }
}
