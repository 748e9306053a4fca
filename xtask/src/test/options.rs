//! Arguments of `cargo xtask test`.

use anyhow::{Context, Result, bail};

use super::stages::Stage;

const USAGE: &str = "cargo xtask test [STAGE …] [--without STAGE] [--require-all] [--fresh]";

/// Arguments of `cargo xtask test`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Options {
    /// In the order of [`Stage::ALL`].
    pub(super) stages: Vec<Stage>,
    /// Whether a stage that can't run here, or only in part, is a failure.
    pub(super) require_all: bool,
    /// Whether stages run again whose inputs have not changed since they passed. Stages that are named always run.
    pub(super) fresh: bool,
}

impl Options {
    pub(super) fn parse(typed: &[&str]) -> Result<Self> {
        let (mut named, mut without) = (Vec::new(), Vec::new());
        let (mut require_all, mut fresh) = (false, false);
        let mut rest = typed.iter();
        while let Some(word) = rest.next() {
            match *word {
                "--require-all" => require_all = true,
                "--fresh" => fresh = true,
                "--without" => without.push(stage(rest.next().context(USAGE)?)?),
                flag if flag.starts_with('-') => bail!("{flag} is not known here: {USAGE}"),
                name => named.push(stage(name)?),
            }
        }
        let is_chosen =
            |stage: &Stage| (named.is_empty() || named.contains(stage)) && !without.contains(stage);
        let stages = Stage::ALL.into_iter().filter(is_chosen).collect();
        Ok(Self { stages, require_all, fresh: fresh || !named.is_empty() })
    }
}

fn stage(name: &str) -> Result<Stage> {
    let names = || Stage::ALL.map(|stage| stage.to_string()).join(", ");
    let found = Stage::ALL.into_iter().find(|stage| stage.to_string() == name);
    found.with_context(|| format!("{name:?} is not a stage; they are {}", names()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_stages_run_by_default() {
        let all = Options { stages: Stage::ALL.to_vec(), require_all: false, fresh: false };
        assert_eq!(Options::parse(&[]).unwrap(), all);
        assert!(Options::parse(&["--require-all"]).unwrap().require_all);
    }

    #[test]
    fn stages_are_named_or_left_out() {
        let parse = |typed: &[&str]| Options::parse(typed).unwrap().stages;
        assert_eq!(parse(&["metal3"]), [Stage::Metal3]);
        assert_eq!(parse(&["unit", "fmt"]), [Stage::Fmt, Stage::Unit]);
        let without = parse(&["--without", "metal3", "--without", "release"]);
        assert_eq!(without.len(), Stage::ALL.len() - 2);
        for wrong in [&["metal4"][..], &["--without"], &["--without", "x"], &["--only", "unit"]] {
            assert!(Options::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
