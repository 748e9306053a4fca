//! A single call of a hook.
//!
//! Every call gets a fresh store and instance (30 µs): nothing leaks from object to object, and a trap leaves nothing to clean
//! up.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use pivot_core::Key;
use pivot_core::plugins::hooks::{Hook, Point};
use tracing::{Instrument, debug_span, field};
use wasmtime::component::{Instance, InstancePre};
use wasmtime::{Store, Trap, WasmBacktrace};
use wasmtime_wasi::I32Exit;

use crate::context::{CalledFunction, Ctx, MoveContext, PluginAccess};
use crate::contract::pivot::provider::types;
use crate::error::CallError;
use crate::meter::Exceeded;
use crate::services::Services;
use crate::{text, trace};

/// One call.
pub(crate) struct Call<'a> {
    pub(crate) card: &'a Arc<PluginAccess>,
    pub(crate) called: CalledFunction,
    pub(crate) object: Option<Key>,
    /// The point of a check.
    pub(crate) point: Option<Point>,
    pub(crate) services: Option<Arc<dyn Services>>,
    /// The moving objects, in a check.
    pub(crate) moving: Option<MoveContext>,
    /// True if anyone but this program has written to the object since the commit.
    pub(crate) written_since_commit: bool,
}

/// A component's answer: its own error, or a value.
pub(crate) type RawAnswer<T> = wasmtime::Result<Result<T, types::Error>>;

impl<'a> Call<'a> {
    /// A call without access to the host's services.
    pub(crate) fn without_services(card: &'a Arc<PluginAccess>, called: CalledFunction) -> Self {
        Self {
            card,
            called,
            object: None,
            point: None,
            services: None,
            moving: None,
            written_since_commit: false,
        }
    }

    /// Instantiates the component and calls it, within the limits. `read` converts the answer into the program's own values, or
    /// returns the fault in the answer.
    pub(crate) async fn run<T: Debug, R: Debug>(
        self,
        pre: &InstancePre<Ctx>,
        ask: impl for<'s> FnOnce(&'s mut Store<Ctx>, Instance) -> BoxFuture<'s, RawAnswer<T>>,
        read: impl FnOnce(T) -> Result<R, String>,
    ) -> Result<R, CallError> {
        let mut ctx = Ctx::new(Arc::clone(self.card), self.called, self.services.clone());
        ctx.moving.clone_from(&self.moving);
        ctx.written_since_commit = self.written_since_commit;
        let span = debug_span!(
            "plugin",
            plugin = self.card.name,
            hook = self.called.as_str(),
            point = self.point.map(Point::as_str),
            kind = self.object.as_ref().map(|key| field::display(&key.group_kind)),
            object = self.object.as_ref().map(field::display),
            answer = field::Empty,
            time_us = field::Empty,
            peak_memory = field::Empty,
            outcome = field::Empty,
        );
        let limits = self.card.limits();
        // Never closed: the tally lives as long as the card.
        let _turn = self.card.tally.turns.acquire().await;
        let begun = Instant::now();
        // A hook that may ask questions also waits for others to answer; the move has its own timeout for that.
        let pure = self.services.is_none();
        let left = if pure { self.card.tally.remaining_time(limits.total) } else { Some(limits.time) };
        let Some(left) = left else {
            return Err(self.into_error("timeout".to_owned(), describe_exhausted_time(limits.total)));
        };
        let mut store = Store::new(pre.engine(), ctx);
        store.limiter(|ctx| &mut ctx.meter);
        store.set_hostcall_fuel(limits.output);
        store.set_epoch_deadline(1);
        store.epoch_deadline_async_yield_and_update(1);
        let work = async {
            let instance = pre.instantiate_async(&mut store).await?;
            ask(&mut store, instance).await
        };
        let done = tokio::time::timeout(limits.time.min(left), work.instrument(span.clone())).await;
        if let Ok(Ok(answer)) = &done {
            self.note_mark(answer);
        }
        let answer = match done {
            Ok(Ok(Ok(answer))) => read(answer).map_err(|why| ("invalid-answer".to_owned(), why)),
            Ok(Ok(Err(said))) => Err((
                text::permitted_code(&said.code, self.card.codes()),
                text::to_line(&said.message, 1_000),
            )),
            Ok(Err(error)) => Err(explain_failure(&error)),
            Err(_) if left < limits.time => {
                Err(("timeout".to_owned(), describe_exhausted_time(limits.total)))
            }
            Err(_) => {
                Err(("timeout".to_owned(), format!("it took longer than {:?} (limits.time)", limits.time)))
            }
        };
        if pure {
            self.card.tally.add_time(begun.elapsed());
        }
        span.in_scope(|| store.data().log_printed());
        let (time, peak) = (begun.elapsed(), store.data().meter.peak);
        if let Ok(answer) = &answer
            && !span.is_disabled()
        {
            span.record("answer", trace::describe_answer(self.card, self.called, answer));
        }
        // JSON, unlike other formats, has no 128-bit numbers.
        span.record("time_us", u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
        span.record("peak_memory", peak);
        span.record("outcome", answer.as_ref().err().map_or("ok", |(code, _)| code.as_str()));
        span.in_scope(|| tracing::debug!("answered"));
        self.card.tally.count_call(time, peak);
        answer.map_err(|(code, message)| self.into_error(code, message))
    }

    /// Reports an answer that has one of the run's marks. `adapt` may copy the data of a Secret into its copy.
    fn note_mark(&self, answer: &impl Debug) {
        let marks = self.card.run.marks;
        if marks.is_empty() || self.called == CalledFunction::Hook(Hook::Adapt) {
            return;
        }
        let words = format!("{answer:?}");
        if marks.iter().any(|mark| words.contains(mark)) {
            self.card.tally.update_used(|used| used.has_mark = true);
        }
    }

    pub(crate) fn into_error(self, code: String, message: String) -> CallError {
        // Only hooks see objects.
        let withheld = self.card.sees_secret_data() && matches!(self.called, CalledFunction::Hook(_));
        CallError {
            who: Arc::clone(&self.card.who),
            hook: self.called.as_str(),
            object: self.object.map(Box::new),
            code,
            message: if withheld { text::WITHHELD.to_owned() } else { message },
        }
    }
}

fn describe_exhausted_time(total: Duration) -> String {
    format!("its calls together took longer than {total:?}")
}

/// wasmtime's text when a component passes more to the host at once than allowed; it has no error type of its own.
const TOO_MUCH: &str = "fuel allocated for hostcalls has been exhausted";

/// A failure inside the sandbox as a code and a sentence.
fn explain_failure(error: &wasmtime::Error) -> (String, String) {
    let at = innermost_functions(error);
    if let Some(exceeded) = error.downcast_ref::<Exceeded>() {
        let code = match exceeded {
            Exceeded::Memory { .. } => "out-of-memory",
            Exceeded::Tables { .. } => "out-of-tables",
            Exceeded::HostCalls { .. } => "too-many-host-calls",
        };
        return (code.to_owned(), format!("{exceeded}{at}"));
    }
    if let Some(I32Exit(status)) = error.downcast_ref() {
        return ("exit".to_owned(), format!("it exited with status {status}{at}"));
    }
    if let Some(trap) = error.downcast_ref::<Trap>() {
        let why = match trap {
            Trap::UnreachableCodeReached => "it panicked or aborted; its log may have the reason".to_owned(),
            Trap::StackOverflow => "it ran out of stack".to_owned(),
            trap => format!("it trapped: {trap}"),
        };
        return ("trap".to_owned(), format!("{why}{at}"));
    }
    let chain = format!("{:#}", error.root_cause());
    if chain.contains(TOO_MUCH) {
        return (
            "output-too-large".to_owned(),
            "its answer or question is larger than its limit (limits.output)".to_owned(),
        );
    }
    ("trap".to_owned(), format!("it trapped: {}{at}", text::to_line(&chain, 300)))
}

/// The innermost functions, by their names in the binary, with file and line if it has debug information.
fn innermost_functions(error: &wasmtime::Error) -> String {
    let Some(backtrace) = error.downcast_ref::<WasmBacktrace>() else { return String::new() };
    let functions = backtrace.frames().iter().flat_map(|frame| match frame.symbols() {
        [] => vec![(frame.func_name(), None)],
        // The compiler may have put several functions into one.
        symbols => {
            symbols.iter().map(|one| (one.name().or(frame.func_name()), one.file().zip(one.line()))).collect()
        }
    });
    // As the author wrote them, without the hash at the end.
    let functions =
        functions.filter_map(|(name, place)| Some((format!("{:#}", rustc_demangle::demangle(name?)), place)));
    // Functions that are part of every panic carry no information.
    let functions = functions.filter(|(name, _)| {
        !["core::panicking", "std::panicking", "__rust", "rust_panic", "std::sys", "abort", "std::rt"]
            .iter()
            .any(|prefix| name.contains(prefix))
    });
    let functions = functions.take(6).map(|(name, place)| {
        let place = place.map(|(file, line)| format!(" ({}:{line})", text::to_line(file, 120)));
        format!("{}{}", text::to_line(&name, 120), place.unwrap_or_default())
    });
    let functions: Vec<String> = functions.collect();
    if functions.is_empty() { String::new() } else { format!(", in {}", functions.join(" < ")) }
}
