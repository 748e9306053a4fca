//! A side of a move, as it is typed.

use clap::ValueEnum;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OneSide {
    Source,
    Target,
}
