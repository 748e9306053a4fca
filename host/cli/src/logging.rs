//! Log lines of libraries, and panic messages. Neither contains data of objects.

use std::io::Write;
use std::sync::Arc;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::writer::BoxMakeWriter;

use crate::args::{Hide, LogFormat, Look};
use crate::output::{LogLines, Output};

/// Sends log lines to stderr: warnings and plugins' messages, and with `-vv` the requests to servers and plugins.
pub(crate) fn start(look: &Look, output: &Arc<Output>) {
    let output = output.clone();
    let builder = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(filter(look)))
        // Colours are escape sequences, which are stripped from other programs' text.
        .with_ansi(false)
        .with_writer(BoxMakeWriter::new(move || LogLines(output.clone())));
    // A second start, as in tests, changes nothing.
    let _ = match look.log_format {
        LogFormat::Text if look.verbose > 1 => builder.try_init(),
        LogFormat::Text => builder.without_time().with_target(false).try_init(),
        LogFormat::Json => builder.json().try_init(),
    };
}

/// Only our own crates log more at higher verbosity: libraries below them log headers and bodies of requests.
fn filter(look: &Look) -> String {
    let (others, ours) = match look.verbose {
        0 | 1 => ("warn", "warn"),
        2 => ("warn", "debug"),
        _ => ("info", "trace"),
    };
    let rooms = ["pivot_host", "pivot_core", "pivot_places", "pivot_runtime", "pivot_engine"]
        .map(|room| format!("{room}={ours}"));
    // Plugins' messages to the operator.
    let plugins = match look.verbose {
        0 if look.quiet => "warn",
        0 => "info",
        _ => "debug",
    };
    // kube_client logs each request that fails through a proxy as an error; we report it where it matters, with the request.
    let mut filter = format!("{others},kube_client=off,plugin={plugins},{}", rooms.join(","));
    if look.hide_api_warnings == Hide::All {
        filter.push_str(",pivot_places::kube::transport=error");
    }
    filter
}

/// Limits a panic's output to its location: its message may quote the object being processed.
pub(crate) fn quiet_panics() {
    std::panic::set_hook(Box::new(|panic| {
        // The caller gets it as an error.
        if pivot_places::catches_panics() {
            return;
        }
        let place = panic.location().map(|at| format!(" at {}:{}", at.file(), at.line())).unwrap_or_default();
        // If stderr is closed, there is no other place to report that.
        let _ = writeln!(
            std::io::stderr().lock(),
            "error: this is a bug in pivot-host{place}; please report it. Both sides keep their state: `status`, with the flags that name them, shows it and the commands that continue"
        );
    }));
}
