//! What the libraries log, and what a panic says. Neither carries data of objects.

use std::io::Write;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::writer::BoxMakeWriter;

use crate::args::LogFormat;

/// Sends log lines to stderr: warnings, and with `-vv` what is asked of servers.
pub(crate) fn start(verbose: u8, format: LogFormat, colors: bool) {
    let level = match verbose {
        0 | 1 => "warn",
        2 => "warn,pivot_host=debug,pivot_core=debug,pivot_places=debug,pivot_engine=debug",
        // Libraries below log headers and bodies of requests at lower levels: never those.
        _ => "info,pivot_host=trace,pivot_core=trace,pivot_places=trace,pivot_engine=trace",
    };
    let builder = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(level))
        .with_writer(BoxMakeWriter::new(std::io::stderr))
        .with_ansi(colors);
    // A second start, as in tests, changes nothing.
    let _ = match format {
        LogFormat::Text => builder.with_target(verbose > 1).try_init(),
        LogFormat::Json => builder.json().try_init(),
    };
}

/// A panic says where it happened and nothing else: its message may quote the object at hand.
pub(crate) fn quiet_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(|at| format!(" at {}:{}", at.file(), at.line())).unwrap_or_default();
        // Nobody is left to be told that stderr is closed.
        let _ = writeln!(
            std::io::stderr().lock(),
            "error: a defect in pivot-host showed{place}; please report it. What is on both sides is kept: \
             `pivot-host status` shows it, `pivot-host resume` goes on"
        );
    }));
}
