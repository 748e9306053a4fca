//! Log lines of libraries, and panic messages. Neither contains data of objects.

use std::fmt;
use std::io::Write;
use std::sync::Arc;

use tracing::{Event, Level, Subscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::{Format, Full, Writer};
use tracing_subscriber::fmt::writer::BoxMakeWriter;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields};
use tracing_subscriber::registry::LookupSpan;

use crate::args::{Hide, LogFormat, Look};
use crate::output::{LogLines, Output};

/// Sends log lines to stderr: warnings, plugins' messages and the work of controllers, and with `-vv` the requests to servers and
/// plugins.
pub(crate) fn start_logging(look: &Look, output: &Arc<Output>) {
    let output = output.clone();
    let builder = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(log_filter(look)))
        // Colours are escape sequences, which are stripped from other programs' text.
        .with_ansi(false)
        .with_writer(BoxMakeWriter::new(move || LogLines(output.clone())));
    // A second start, as in tests, changes nothing.
    let _ = match look.log_format {
        LogFormat::Text if look.verbose > 1 => builder.try_init(),
        LogFormat::Text => builder.event_format(Labelled::default()).try_init(),
        LogFormat::Json => builder.json().try_init(),
    };
}

/// Lines without times, on which warnings and errors are labelled as those of the program itself.
struct Labelled {
    others: Format<Full, ()>,
}

impl Default for Labelled {
    fn default() -> Self {
        Self { others: Format::default().without_time().with_target(false) }
    }
}

impl<S, N> FormatEvent<S, N> for Labelled
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    N: for<'writer> FormatFields<'writer> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let label = match *event.metadata().level() {
            Level::ERROR => "error: ",
            Level::WARN => "warning: ",
            _ => return self.others.format_event(context, writer, event),
        };
        writer.write_str(label)?;
        for span in context.event_scope().into_iter().flat_map(|spans| spans.from_root()) {
            match span.extensions().get::<FormattedFields<N>>() {
                Some(fields) if !fields.is_empty() => write!(writer, "{}{{{fields}}}: ", span.name())?,
                _ => write!(writer, "{}: ", span.name())?,
            }
        }
        context.format_fields(writer.by_ref(), event)?;
        writeln!(writer)
    }
}

/// Only our own crates, whose names begin with `pivot_`, log more at higher verbosity: libraries below them log headers and bodies of
/// requests.
fn log_filter(look: &Look) -> String {
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
    filter.push_str(match look.hide_api_warnings {
        Hide::None => "",
        Hide::Default => ",pivot_places::kube::transport::finalizers=off",
        Hide::All => ",pivot_places::kube::transport=error",
    });
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
    use tracing::enabled;
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
        let subscriber = tracing_subscriber::registry().with(EnvFilter::new(log_filter(&look)));
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
    fn warnings_are_labelled_as_the_programs_own() {
        let (output, _, err) = crate::output::testing::output(0, LogFormat::Text);
        let subscriber = tracing_subscriber::fmt()
            .with_ansi(false)
            .with_writer(BoxMakeWriter::new(move || LogLines(output.clone())))
            .event_format(Labelled::default())
            .finish();
        tracing::subscriber::with_default(subscriber, || {
            tracing::warn!(file = "a", "changed");
            tracing::info!("done");
            let _span = tracing::info_span!("pivot", name = "x").entered();
            tracing::error!("gone");
        });
        assert_eq!(err.text(), "warning: changed file=\"a\"\n INFO done\nerror: pivot{name=\"x\"}: gone\n");
    }

    #[test]
    fn services_log_their_work_by_default() {
        assert_eq!(logged(&[]), ["warn", "warn info", "warn info"]);
        assert_eq!(logged(&["-q"]), ["warn", "warn", "warn"]);
        assert_eq!(logged(&["-vv"]), ["warn info debug"; 3]);
    }
}
