//! Flags about waits and the takeover.

use clap::{Args, ValueEnum};
use pivot_engine::Options;

use crate::args::values::format_duration;

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Waiting")]
pub(crate) struct WaitArgs {
    #[command(flatten)]
    pub(crate) pauses: PauseWaits,
    #[command(flatten)]
    pub(crate) takeover: TakeoverWaits,
}

/// The waits before the target takes over.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Waiting")]
pub(crate) struct PauseWaits {
    /// Limit of the wait for the source's controllers to acknowledge the pause, and for block-move
    #[arg(long, value_name = "DURATION", default_value_t = format_duration(Options::PAUSE_TIMEOUT))]
    pub(crate) pause_timeout: String,
    /// Limit of the wait for plugin checks
    #[arg(long, value_name = "DURATION", default_value_t = format_duration(Options::CHECK_TIMEOUT))]
    pub(crate) check_timeout: String,
}

/// The takeover.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Waiting")]
pub(crate) struct TakeoverWaits {
    /// Limit of the wait for the target's controllers to take over
    #[arg(long, value_name = "DURATION", default_value_t = format_duration(Options::TAKEOVER_TIMEOUT))]
    pub(crate) takeover_timeout: String,
    /// Most held objects, such as hosts, that are unpaused at once. The first batch is one object, the next two, then four
    #[arg(long, value_name = "N", default_value_t = Options::UNPAUSE_BATCH, value_parser = clap::value_parser!(u8).range(1..=i64::from(Options::MAX_UNPAUSE_BATCH)))]
    pub(crate) unpause_batch: u8,
    /// Stop after the target has taken over and before the source's objects are deleted. Back the target up, then `resume`
    #[arg(long, value_enum, value_name = "STEP")]
    pub(crate) stop_before: Option<StopStep>,
}

/// The steps before which a move can stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StopStep {
    /// Before anything is deleted from the source
    Release,
}
