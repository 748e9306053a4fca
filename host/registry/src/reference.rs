//! A place in a registry, as people type it: `HOST[:PORT]/NAME:TAG`, or with `@sha256:…`.

use std::fmt;

use pivot_vetting::digest::strip_sha256_prefix;

use crate::error::RegistryError;

/// Longest reference: the specification's limit for a name, and room for host, tag and digest.
const LONGEST: usize = 512;
/// The longest tag of the specification.
const TAG: usize = 128;

/// A place in a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistryReference {
    /// `host[:port]`, as typed.
    pub(crate) host: String,
    /// The repository.
    pub(crate) name: String,
    pub(crate) tag: Option<String>,
    /// `sha256:…`
    pub(crate) digest: Option<String>,
}

impl RegistryReference {
    /// Parses a reference that a user typed. No part has a default: neither `latest` nor an unnamed registry is a safe source
    /// of plugins.
    pub fn parse(typed: &str) -> Result<Self, RegistryError> {
        let no =
            |why| RegistryError::Reference(pivot_core::messages::safe_text::escape_line(typed, LONGEST), why);
        if typed.len() > LONGEST {
            return Err(no("it is too long"));
        }
        let rest = typed.strip_prefix("oci://").unwrap_or(typed);
        let (host, rest) = rest.split_once('/').ok_or_else(|| no("write HOST/NAME:TAG"))?;
        if !is_host(host) {
            return Err(no("before the first `/` there is no host with a domain or a port"));
        }
        let (rest, digest) = match rest.split_once('@') {
            Some((rest, digest)) if is_digest(digest) => (rest, Some(digest.to_owned())),
            Some(_) => return Err(no("after `@` there is no `sha256:` with 64 digits, 0 to 9 and a to f")),
            None => (rest, None),
        };
        let (name, tag) = match rest.split_once(':') {
            Some((name, tag)) if is_tag(tag) => (name, Some(tag.to_owned())),
            Some(_) => return Err(no("its tag is no word of letters, digits, `_`, `.` and `-`")),
            None => (rest, None),
        };
        if !name.split('/').all(is_component) {
            return Err(no("its name is not lower-case words with `/` between them"));
        }
        if tag.is_none() && digest.is_none() {
            return Err(no("it has neither a tag nor a digest"));
        }
        Ok(Self { host: host.to_owned(), name: name.to_owned(), tag, digest })
    }

    /// The tag to write to.
    pub(crate) fn tag_to_write(&self) -> Result<&str, RegistryError> {
        match (&self.tag, &self.digest) {
            (Some(tag), None) => Ok(tag),
            _ => {
                Err(RegistryError::Reference(self.to_string(), "to push, it has to have a tag and no digest"))
            }
        }
    }

    /// Returns the digest if there is one, and otherwise the tag.
    pub(crate) fn digest_or_tag(&self) -> &str {
        self.digest.as_deref().or(self.tag.as_deref()).unwrap_or_default()
    }
}

impl fmt::Display for RegistryReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, name, tag, digest } = self;
        write!(f, "{host}/{name}")?;
        if let Some(tag) = tag {
            write!(f, ":{tag}")?;
        }
        if let Some(digest) = digest {
            write!(f, "@{digest}")?;
        }
        Ok(())
    }
}

/// A host that can't be mistaken for a part of a name: with a dot or a port, or `localhost`.
fn is_host(host: &str) -> bool {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) => (name, Some(port)),
        None => (host, None),
    };
    let words = name.split('.').all(|word| {
        !word.is_empty()
            && !word.starts_with('-')
            && !word.ends_with('-')
            && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    });
    let named = name.contains('.') || port.is_some() || name == "localhost";
    words && named && port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port != 0))
}

fn is_tag(tag: &str) -> bool {
    let plain = tag.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-'));
    plain && (1..=TAG).contains(&tag.len()) && !tag.starts_with(['.', '-'])
}

fn is_component(word: &str) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    word.bytes().all(|b| plain(b) || matches!(b, b'_' | b'.' | b'-'))
        && word.bytes().next().is_some_and(plain)
        && word.bytes().next_back().is_some_and(plain)
        && !word.contains("..")
}

/// Returns true if a text is a digest in the spelling of this program.
pub(crate) fn is_digest(text: &str) -> bool {
    strip_sha256_prefix(text).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_reads_as_it_is_written() {
        let digest = format!("sha256:{}", "0a".repeat(32));
        for typed in [
            "registry.example.com/site/plugins:2026-11".to_owned(),
            "localhost:5000/plugins:v1".to_owned(),
            "localhost/plugins:v1".to_owned(),
            format!("127.0.0.1:5000/a/b/c@{digest}"),
            format!("r.example/a:tag@{digest}"),
        ] {
            assert_eq!(RegistryReference::parse(&typed).unwrap().to_string(), typed);
            assert_eq!(RegistryReference::parse(&format!("oci://{typed}")).unwrap().to_string(), typed);
        }
        let reference = RegistryReference::parse(&format!("r.example/a:tag@{digest}")).unwrap();
        assert_eq!(reference.digest_or_tag(), digest);
        assert_eq!(reference.tag_to_write().unwrap_err().code(), "reference");
        assert_eq!(RegistryReference::parse("r.example/a:tag").unwrap().tag_to_write().unwrap(), "tag");
    }

    #[test]
    fn what_is_no_reference_is_refused() {
        for typed in [
            "plugins",
            "plugins:v1",
            "library/plugins:v1",
            "r.example/",
            "r.example/:v1",
            "r.example/a",
            "r.example/a:",
            "r.example/a:.v",
            "r.example/a:v 1",
            "r.example/A:v1",
            "r.example/a/../b:v1",
            "r.example/..:v1",
            "r.example/a//b:v1",
            "r.example/-a:v1",
            "r.example:0/a:v1",
            "r.example:x/a:v1",
            "r.example:99999/a:v1",
            "user@r.example/a:v1",
            "user:pass@r.example/a:v1",
            "https://r.example/a:v1",
            "r.example/a@sha512:00",
            "r.example/a@sha256:00",
            "r.example/a:v1?x=y",
            "r.example/a:v1#x",
            "r.exa mple/a:v1",
            ".example/a:v1",
            "-r.example/a:v1",
            "r..example/a:v1",
            "[::1]:5000/a:v1",
            "",
        ] {
            assert_eq!(RegistryReference::parse(typed).unwrap_err().code(), "reference", "{typed}");
        }
        let upper = format!("r.example/a@sha256:{}", "0A".repeat(32));
        assert!(RegistryReference::parse(&upper).is_err());
        assert!(RegistryReference::parse(&format!("r.example/{}:v1", "a".repeat(600))).is_err());
    }
}
