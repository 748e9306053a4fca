//! Limits of waits.

use pivot_engine::Options;

use crate::args::flags::{PauseWaits, StopStep, TakeoverWaits, WaitArgs};
use crate::args::usage::Result;
use crate::args::values::timeout;

pub(super) fn waiting(options: Options, WaitArgs { pauses, takeover }: &WaitArgs) -> Result<Options> {
    let TakeoverWaits { takeover_timeout, unpause_batch, stop_before } = takeover;
    Ok(Options {
        takeover_timeout: timeout("--takeover-timeout", takeover_timeout)?,
        unpause_batch: usize::from(*unpause_batch),
        stop_before_release: *stop_before == Some(StopStep::Release),
        ..wait_before_takeover(options, pauses)?
    })
}

pub(super) fn wait_before_takeover(options: Options, pauses: &PauseWaits) -> Result<Options> {
    let PauseWaits { pause_timeout, check_timeout } = pauses;
    Ok(Options {
        pause_timeout: timeout("--pause-timeout", pause_timeout)?,
        check_timeout: timeout("--check-timeout", check_timeout)?,
        ..options
    })
}
