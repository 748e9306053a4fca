//! Flags about results, reports and progress.

use std::path::PathBuf;

use clap::builder::PossibleValue;
use clap::{ArgAction, Args, ValueEnum};

/// How things are shown.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct Look {
    /// Format of the result on stdout; dot, mermaid and html draw a plan
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value = "text", global = true)]
    pub(crate) output: OutputFormat,
    /// Show more: every object, and why objects stay; twice, requests to servers too. Takes a level as well: -v 5
    #[arg(short, long, action = ArgAction::Count, global = true)]
    pub(crate) verbose: u8,
    /// Show only problems, warnings and the result
    #[arg(short, long, conflicts_with = "verbose", global = true)]
    pub(crate) quiet: bool,
    /// Format of progress and messages on stderr
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text", global = true)]
    pub(crate) log_format: LogFormat,
    /// Which API server warnings to hide; by default those about the form of finalizer names
    #[arg(long, value_enum, value_name = "WHICH", default_value = "default", global = true)]
    pub(crate) hide_api_warnings: Hide,
}

/// What is kept of a run.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct Kept {
    /// Write a report to this file, also if the run stops: a page if it ends in .html, a document if it ends in .json
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
}

/// The recording of a run.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Plugins")]
pub(crate) struct RecordArgs {
    /// Record the calls of plugins in this new file, without data of Secrets, for `plugin replay`
    #[arg(long, value_name = "FILE", requires = "plugins")]
    pub(crate) record: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputFormat {
    Text,
    Json,
    Yaml,
    /// Only of tests.
    Junit,
    /// Only of a plan.
    Picture(Picture),
}

impl OutputFormat {
    /// Whether results, failures among them, are documents for programs.
    pub(crate) fn is_document(self) -> bool {
        matches!(self, Self::Json | Self::Yaml)
    }
}

impl ValueEnum for OutputFormat {
    fn value_variants<'a>() -> &'a [Self] {
        &[
            Self::Text,
            Self::Json,
            Self::Yaml,
            Self::Junit,
            Self::Picture(Picture::Dot),
            Self::Picture(Picture::Mermaid),
            Self::Picture(Picture::Html),
        ]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let value = PossibleValue::new(match self {
            Self::Text => "text",
            Self::Json => "json",
            Self::Yaml => "yaml",
            Self::Junit => "junit",
            Self::Picture(Picture::Dot) => "dot",
            Self::Picture(Picture::Mermaid) => "mermaid",
            Self::Picture(Picture::Html) => "html",
        });
        Some(value.hide(*self == Self::Junit))
    }
}

/// How a plan is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Picture {
    Dot,
    Mermaid,
    /// A page of its own.
    Html,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    Auto,
    #[value(alias = "true")]
    Always,
    #[value(alias = "false")]
    Never,
}

/// clusterctl's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Hide {
    Default,
    All,
    None,
}
