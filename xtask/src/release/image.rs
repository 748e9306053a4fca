//! The image that a Containerfile describes, as files: where no container engine runs, its file layout, its user and its program can
//! still be tried. Only what ours has is read.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::place::copy_folder;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Image {
    /// From which folder of the archive to which of the image.
    copied: Vec<(String, String)>,
    pub(super) user: String,
    pub(super) program: String,
}

impl Image {
    pub(super) fn read(file: &Path) -> Result<Self> {
        let text = fs::read_to_string(file).with_context(|| format!("read {}", file.display()))?;
        Self::parse(&text).with_context(|| format!("read {}", file.display()))
    }

    fn parse(text: &str) -> Result<Self> {
        let (mut copied, mut user, mut program) = (Vec::new(), None, None);
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            match line.split(' ').collect::<Vec<_>>().as_slice() {
                ["FROM", "scratch"] | ["WORKDIR", "/"] => {}
                ["COPY", from, to] => copied.push(((*from).to_owned(), (*to).to_owned())),
                ["USER", one] => user = Some((*one).to_owned()),
                ["ENTRYPOINT", one] => {
                    program =
                        one.strip_prefix("[\"").and_then(|one| one.strip_suffix("\"]")).map(str::to_owned);
                }
                _ => bail!("nobody tries what this says: {line}"),
            }
        }
        let (user, program) = (user.context("no USER")?, program.context("no ENTRYPOINT of one word")?);
        Ok(Self { copied, user, program })
    }

    /// Puts its files below a root directory.
    pub(super) fn copy(&self, from: &Path, root: &Path) -> Result<()> {
        self.copied.iter().try_for_each(|(folder, to)| {
            copy_folder(&from.join(folder), &root.join(to.trim_start_matches('/')))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_containerfile_is_understood_line_by_line() {
        let image = Image::parse(include_str!("../../../packaging/Containerfile")).unwrap();
        assert_eq!((image.user.as_str(), image.program.as_str()), ("65532:65532", "/bin/pivot-host"));
        assert!(image.copied.contains(&("bin/".to_owned(), "/bin/".to_owned())), "{image:?}");
        for (other, why) in [
            ("FROM debian\n", "nobody tries what this says: FROM debian"),
            ("FROM scratch\nRUN x\n", "nobody tries what this says: RUN x"),
            ("USER 1:1\n", "no ENTRYPOINT of one word"),
            ("ENTRYPOINT [\"a\"]\n", "no USER"),
        ] {
            assert_eq!(Image::parse(other).unwrap_err().to_string(), why);
        }
    }
}
