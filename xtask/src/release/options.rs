//! Options of `cargo xtask release`.

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::shell::target;

const USAGE: &str = "cargo xtask release [--out DIR] [--url URL] [--key FILE] [--also arm64]";

/// Where a release goes, where users will find it, and who signs it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) out: PathBuf,
    /// Folder of the published files. krew's manifest names the archives there.
    pub(super) url: Option<String>,
    /// Private key that signs checksums and provenance.
    pub(super) key: Option<PathBuf>,
    /// Also builds for arm64 on another machine, with a cross compiler and an emulator.
    pub(super) also_arm64: bool,
}

impl Options {
    pub(super) fn parse(typed: &[&str]) -> Result<Self> {
        let mut options =
            Self { out: target()?.join("release-archive"), url: None, key: None, also_arm64: false };
        for pair in typed.chunks(2) {
            match pair {
                ["--out", directory] => options.out = PathBuf::from(directory),
                ["--url", url] if url.starts_with("https://") => {
                    options.url = Some(url.trim_end_matches('/').to_owned());
                }
                ["--key", file] => options.key = Some(PathBuf::from(file)),
                ["--also", "arm64"] => options.also_arm64 = true,
                other => bail!("{USAGE}, with a URL of https, not {:?}", other.join(" ")),
            }
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_options_are_accepted() {
        let options =
            Options::parse(&["--url", "https://a/b/", "--out", "o", "--key", "k.pem", "--also", "arm64"])
                .unwrap();
        let expected = Options {
            out: "o".into(),
            url: Some("https://a/b".to_owned()),
            key: Some("k.pem".into()),
            also_arm64: true,
        };
        assert_eq!(options, expected);
        for typed in [&["--out"][..], &["--url", "http://a"], &["--also", "s390x"], &["DIR"]] {
            Options::parse(typed).unwrap_err();
        }
    }
}
