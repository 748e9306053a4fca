//! Ctrl-C and SIGTERM: stop at a safe point rather than anywhere.
//!
//! The first signal requests a stop at the next safe point, the second explains the effect of a third, and the third ends the
//! program as a crash would; a move survives that too. A command that only reads ends at the first signal.

use std::sync::Arc;

use pivot_engine::{Halt, Halter};
#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};
#[cfg(windows)]
use tokio::signal::windows::{CtrlBreak, CtrlC, ctrl_break, ctrl_c};
use tokio::sync::oneshot;

use crate::output::Output;

const INTERRUPT: u8 = 2;
pub(crate) const TERMINATE: u8 = 15;

/// Reasons to end the program before its work is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interrupted {
    /// A command that only reads got this signal.
    Reading(u8),
    /// The user sent three signals.
    Forced,
}

/// Returns the signals that end the program.
#[cfg(unix)]
fn subscribe() -> std::io::Result<(Signal, Signal)> {
    Ok((signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?))
}

/// Returns the events of the console that end the program.
#[cfg(windows)]
fn subscribe() -> std::io::Result<(CtrlC, CtrlBreak)> {
    Ok((ctrl_c()?, ctrl_break()?))
}

/// Starts listening. The program ends as soon as the returned receiver yields.
pub(crate) fn listen_for_signals(
    halter: Halter,
    output: Arc<Output>,
    changes: bool,
) -> std::io::Result<oneshot::Receiver<Interrupted>> {
    let (mut interrupt, mut terminate) = subscribe()?;
    let (send, receive) = oneshot::channel();
    tokio::spawn(async move {
        for count in 1_u32.. {
            let number = tokio::select! {
                _ = interrupt.recv() => INTERRUPT,
                _ = terminate.recv() => TERMINATE,
            };
            let interrupted = match count {
                _ if !changes => Interrupted::Reading(number),
                1 => {
                    output.say("stopping at the next safe point; requests in progress are finished first");
                    halter.halt(Halt::Signal(number));
                    continue;
                }
                2 => {
                    output.warn(
                        "not at a safe point yet; another signal exits at once, as a crash would: Clusters may stay paused and locks held for 15 seconds, and `resume` continues from there",
                    );
                    continue;
                }
                _ => Interrupted::Forced,
            };
            // The receiver is dropped once the work is done.
            let _ = send.send(interrupted);
            return;
        }
    });
    Ok(receive)
}
