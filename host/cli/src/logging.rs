//! What the libraries log, and what a panic says. Neither carries data of objects.

use std::io::Write;
use std::sync::Arc;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::writer::BoxMakeWriter;

use crate::args::{Hide, LogFormat, Look};
use crate::output::{LogLines, Output};

/// Sends log lines to stderr: warnings and what plugins say, and with `-vv` what is asked of servers and plugins.
pub(crate) fn start(look: &Look, output: &Arc<Output>) {
    let output = output.clone();
    let builder = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(filter(look)))
        // Colours are made of what is taken out of the words of others.
        .with_ansi(false)
        .with_writer(BoxMakeWriter::new(move || LogLines(output.clone())));
    // A second start, as in tests, changes nothing.
    let _ = match look.log_format {
        LogFormat::Text if look.verbose > 1 => builder.try_init(),
        LogFormat::Text => builder.without_time().with_target(false).try_init(),
        LogFormat::Json => builder.json().try_init(),
    };
}

/// Only our own rooms say more when asked: libraries below log headers and bodies of requests.
fn filter(look: &Look) -> String {
    let (others, ours) = match look.verbose {
        0 | 1 => ("warn", "warn"),
        2 => ("warn", "debug"),
        _ => ("info", "trace"),
    };
    let rooms = ["pivot_host", "pivot_core", "pivot_places", "pivot_runtime", "pivot_engine"]
        .map(|room| format!("{room}={ours}"));
    // What plugins say to the operator.
    let plugins = match look.verbose {
        0 if look.quiet => "warn",
        0 => "info",
        _ => "debug",
    };
    // It logs each request through a proxy that fails, as an error; we say it where it matters, with what is asked.
    let mut filter = format!("{others},kube_client=off,plugin={plugins},{}", rooms.join(","));
    if look.hide_api_warnings == Hide::All {
        filter.push_str(",pivot_places::kube::transport=error");
    }
    filter
}

/// A panic says where it happened and nothing else: its message may quote the object at hand.
pub(crate) fn quiet_panics() {
    std::panic::set_hook(Box::new(|panic| {
        // It comes back as an error.
        if pivot_places::catches_panics() {
            return;
        }
        let place = panic.location().map(|at| format!(" at {}:{}", at.file(), at.line())).unwrap_or_default();
        // Nobody is left to be told that stderr is closed.
        let _ = writeln!(
            std::io::stderr().lock(),
            "error: this is a bug in pivot-host{place}; please report it. Both sides keep their state: `status`, with the flags that name them, shows it and the commands that continue"
        );
    }));
}
