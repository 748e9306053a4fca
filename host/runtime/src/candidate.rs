//! A component being loaded: parsed, compiled, linked, described. Nothing here trusts it.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use pivot_core::plugins::hooks::Hook;
use pivot_vetting::permissions::{self, Declaration, Limits};
use wasmtime::component::{Component, InstancePre, Linker};

use crate::call::Call;
use crate::context::{CalledFunction, Ctx, PluginAccess};
use crate::contract::exports::pivot::provider as exports;
use crate::describe::parse_description;
use crate::directory::Artifact;
use crate::engine::Runtime;
use crate::error::{LoadError, Refused};
use crate::imports;
use crate::options;
use crate::parse::{self, BinaryDeclarations, CompileWork};
use crate::plugin::HookSet;
use crate::trial::{LimitEnforcement, TrialBudget};

/// A component that is compiled and has described itself.
pub(crate) struct Candidate {
    pub(crate) artifact: Artifact,
    pub(crate) seen: BinaryDeclarations,
    pub(crate) declaration: Declaration,
    pub(crate) hooks: Vec<Hook>,
    pub(crate) linked: Linked,
    /// True if the component was compiled on trial under the limits, now or earlier according to the lock file.
    pub(crate) passed: bool,
}

pub(crate) struct Linked {
    pub(crate) pre: InstancePre<Ctx>,
    pub(crate) hooks: HookSet,
    describe: exports::describe::GuestIndices,
}

impl Candidate {
    /// Returns a section of `plugins.toml` with its requests and its options.
    pub(crate) fn grants_section(&self, enabled: bool) -> String {
        let Self { declaration, hooks, seen, .. } = self;
        let options =
            seen.schema.as_ref().map(|schema| options::commented_example(&declaration.name, schema));
        permissions::grants_section(declaration, hooks, enabled) + &options.unwrap_or_default()
    }
}

impl Runtime {
    /// Counts the component's contents, compiles, links and describes it. If it has not passed a trial yet, that comes first.
    pub(crate) async fn prepare_candidate(
        &self,
        artifact: Artifact,
        passed: bool,
    ) -> Result<Candidate, LoadError> {
        let who = artifact.identity(None);
        let compile = async {
            // This costs no more than reading it, so it is done even if the lock says that it passed.
            let bytes = Arc::clone(&artifact.bytes);
            let work = check_off_thread(move || parse::count(&bytes))
                .await
                .map_err(|why| why.about_plugin(who.clone()))?;
            let passed = passed
                || self.run_trial(&artifact, work).await.map_err(|why| why.about_plugin(who.clone()))?;
            Ok::<_, LoadError>((passed, self.compile_and_link(&artifact, Limits::default().stack).await?))
        };
        let (passed, (seen, linked)) = report_slow_compile(self.slow_compile, &artifact, compile).await?;
        let hooks: Vec<Hook> =
            Hook::ALL.into_iter().filter(|hook| seen.exports.contains(&hook.to_string())).collect();
        let card = Arc::new(PluginAccess::undescribed(who.clone()));
        let call = Call::without_services(&card, CalledFunction::Describe);
        let describe = linked.describe.clone();
        let said = call
            .run(
                &linked.pre,
                move |store, instance| {
                    async move {
                        let guest = describe.load(&mut *store, &instance)?;
                        guest.call_plugin(store).await.map(Ok)
                    }
                    .boxed()
                },
                Ok,
            )
            .await
            .map_err(|error| Refused::Describe(Box::new(error)).about_plugin(who.clone()))?;
        let declaration =
            parse_description(said, &hooks).map_err(|why| Refused::Description(why).about_plugin(who))?;
        Ok(Candidate { artifact, seen, declaration, hooks, linked, passed })
    }

    /// Compiles a component on trial. False: the trial succeeded but proves nothing, because no limits applied.
    async fn run_trial(&self, artifact: &Artifact, work: CompileWork) -> Result<bool, Refused> {
        let Some(trials) = &self.trials else { return Ok(false) };
        let held = trials.run(&artifact.bytes, TrialBudget::for_work(work)).await?;
        Ok(held == LimitEnforcement::Limited)
    }

    /// Validates and compiles, concurrently with others.
    pub(crate) async fn compile_and_link(
        &self,
        artifact: &Artifact,
        stack: usize,
    ) -> Result<(BinaryDeclarations, Linked), LoadError> {
        // Never closed.
        let _turn = self.turns.acquire().await;
        let (runtime, bytes) = (self.clone(), Arc::clone(&artifact.bytes));
        let linked = check_off_thread(move || compile_and_link(&runtime, &bytes, stack)).await;
        linked.map_err(|why| why.about_plugin(artifact.identity(None)))
    }
}

/// Waits for the compiler, and logs a line if that takes longer than a limit.
async fn report_slow_compile<T>(
    limit: Option<Duration>,
    artifact: &Artifact,
    compile: impl Future<Output = T>,
) -> T {
    let mut compile = pin!(compile);
    let Some(limit) = limit else { return compile.await };
    if let Ok(done) = tokio::time::timeout(limit, &mut compile).await {
        return done;
    }
    tracing::info!(target: "plugin", "compiling {}, {} KiB", artifact.file, artifact.bytes.len() >> 10);
    compile.await
}

/// Works on a separate thread. Fails with the refusal of the work, or of the thread.
async fn check_off_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Refused> + Send + 'static,
) -> Result<T, Refused> {
    let done = run_off_thread(work).await;
    done.unwrap_or_else(|_| Err(Refused::Malformed("the compiler gave up".into())))
}

/// Works on a separate thread: other tasks don't wait, and a signal ends the wait.
pub(crate) async fn run_off_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Refused> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| Refused::Runtime("a thread of it panicked".into()))
}

/// Validates, compiles and links.
pub(crate) fn compile_and_link(
    runtime: &Runtime,
    bytes: &[u8],
    stack: usize,
) -> Result<(BinaryDeclarations, Linked), Refused> {
    runtime.on_compiler_threads(|| {
        let seen = parse::inspect_component(bytes)?;
        let linked = link_component(runtime, bytes, &seen, stack)?;
        Ok((seen, linked))
    })?
}

fn link_component(
    runtime: &Runtime,
    bytes: &[u8],
    seen: &BinaryDeclarations,
    stack: usize,
) -> Result<Linked, Refused> {
    let engine = runtime.engine_for_stack(stack).map_err(|error| Refused::Runtime(format!("{error:#}")))?;
    let component =
        Component::new(&engine, bytes).map_err(|error| Refused::Malformed(format!("{error:#}")))?;
    let mut linker = Linker::new(&engine);
    imports::link_imports(&mut linker, seen).map_err(|error| Refused::Runtime(format!("{error:#}")))?;
    let mismatch = |error: wasmtime::Error| {
        let why = format!("{error:#}");
        Refused::Mismatch(missing_function(&why).unwrap_or(why))
    };
    let pre = linker.instantiate_pre(&component).map_err(mismatch)?;
    // An exported interface must match; a missing one is a hook that the plugin lacks.
    macro_rules! find {
        ($hook:ident) => {
            (seen.exports.iter().any(|export| export == stringify!($hook)))
                .then(|| exports::$hook::GuestIndices::new(&pre))
                .transpose()
                .map_err(mismatch)?
        };
    }
    let hooks = HookSet {
        configure: find!(configure),
        relate: find!(relate),
        check: find!(check),
        hold: find!(hold),
        adapt: find!(adapt),
        restore: find!(restore),
        settle: find!(settle),
    };
    let describe = exports::describe::GuestIndices::new(&pre).map_err(mismatch)?;
    Ok(Linked { pre, hooks, describe })
}

/// Names the function of the host's interfaces that a component imports and this program lacks. The linker's error has no type that
/// would tell.
fn missing_function(why: &str) -> Option<String> {
    let (_, rest) = why.split_once("component imports instance `")?;
    let (interface, rest) = rest.split_once('`')?;
    let (_, rest) = rest.split_once("instance export `")?;
    let (function, rest) = rest.split_once('`')?;
    if !rest.contains("implementation is missing") {
        return None;
    }
    let interface = interface.split('@').next()?;
    Some(format!(
        "it needs {interface}.{function}, which this pivot-host lacks: use a newer one, or build the plugin against an older contract"
    ))
}
