//! Log lines of libraries, and panic messages. Neither contains data of objects.

use std::io::Write;
use std::sync::Arc;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::writer::BoxMakeWriter;

use crate::args::{Hide, LogFormat, Look};
use crate::output::{LogLines, Output};

/// Sends log lines to stderr: warnings, plugins' messages and the work of controllers, and with `-vv` the requests to servers and
/// plugins.
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

/// Only our own crates, whose names begin with `pivot_`, log more at higher verbosity: libraries below them log headers and bodies of
/// requests.
fn filter(look: &Look) -> String {
    let (others, ours) = match look.verbose {
        0 | 1 => ("warn", "warn"),
        2 => ("warn", "debug"),
        _ => ("info", "trace"),
    };
    // Nothing else shows what a controller and its agents do.
    let services = match look.verbose {
        0 | 1 if look.quiet => "warn",
        0 | 1 => "info",
        _ => ours,
    };
    // Plugins' messages to the operator.
    let plugins = match look.verbose {
        0 if look.quiet => "warn",
        0 => "info",
        _ => "debug",
    };
    // kube_client logs each request that fails through a proxy as an error; we report it where it matters, with the request.
    let mut filter = format!(
        "{others},kube_client=off,plugin={plugins},pivot_={ours},pivot_controller={services},pivot_link={services}"
    );
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

#[cfg(test)]
mod tests {
    use clap::Parser;
    use tracing::{Level, enabled};
    use tracing_subscriber::prelude::*;

    use super::*;

    #[derive(Parser)]
    struct Flags {
        #[command(flatten)]
        look: Look,
    }

    /// Returns the levels at which the crates for registries, controllers and links log.
    fn logged(flags: &[&str]) -> [String; 3] {
        let look = Flags::parse_from([&["pivot-host"], flags].concat()).look;
        let subscriber = tracing_subscriber::registry().with(EnvFilter::new(filter(&look)));
        macro_rules! levels {
            ($target:literal) => {
                [
                    ("warn", enabled!(target: $target, Level::WARN)),
                    ("info", enabled!(target: $target, Level::INFO)),
                    ("debug", enabled!(target: $target, Level::DEBUG)),
                ]
                .into_iter()
                .filter(|(_, enabled)| *enabled)
                .map(|(level, _)| level)
                .collect::<Vec<_>>()
                .join(" ")
            };
        }
        tracing::subscriber::with_default(subscriber, || {
            [
                levels!("pivot_registry::push"),
                levels!("pivot_controller::view"),
                levels!("pivot_link::agents"),
            ]
        })
    }

    #[test]
    fn services_log_their_work_by_default() {
        assert_eq!(logged(&[]), ["warn", "warn info", "warn info"]);
        assert_eq!(logged(&["-q"]), ["warn", "warn", "warn"]);
        assert_eq!(logged(&["-vv"]), ["warn info debug"; 3]);
    }
}
