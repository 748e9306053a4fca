//! One test per way in which a plugin could do harm. Each ends in one clear error, and the next call works.

use std::pin::pin;
use std::time::{Duration, Instant};

use futures::future::{Either, select};
use pivot_core::plugins::hooks::{Point, Settlement, Severity};
use pivot_runtime::{CallError, Plugin};
use serde_json::json;

use crate::log::log;
use crate::support::{Place, asked, granting, grants, guest, in_mode, moving, of_version, run};

const SMALL: &str = "limits = { time = '400ms', memory = '16MiB', output = '1MiB', host-calls = 100 }";

async fn hostile() -> (Place, Plugin) {
    let place = Place::with(&["hostile"], &format!("{}\n{SMALL}", grants("hostile"))).await;
    let plugin = place.plugin().await;
    (place, plugin)
}

/// The error of a hold in this mode; afterwards the plugin answers normally.
async fn held(mode: &str) -> CallError {
    let (_place, plugin) = hostile().await;
    let error = plugin.hold(&in_mode(mode)).await.unwrap_err();
    assert_eq!(plugin.hold(&in_mode("")).await.unwrap(), None);
    assert_eq!((error.hook, error.who.name.as_deref()), ("hold", Some("hostile")));
    error
}

// proves: T11
#[tokio::test]
async fn an_endless_loop_times_out() {
    let begun = Instant::now();
    let error = held("loop").await;
    assert_eq!(
        (error.code.as_str(), error.message.as_str()),
        ("timeout", "it took longer than 400ms (limits.time)")
    );
    assert!(begun.elapsed() < Duration::from_secs(60));
}

#[tokio::test]
async fn an_endless_loop_does_not_delay_others() {
    let text = format!("{}\nlimits = {{ time = '60s' }}", grants("hostile"));
    let plugin = Place::with(&["hostile"], &text).await.plugin().await;
    // One thread for all: loops must yield.
    let (loops, other) = (in_mode("loop"), in_mode(""));
    let others = async {
        for _ in 0..10 {
            plugin.hold(&other).await.unwrap();
        }
    };
    tokio::select! {
        biased;
        looped = plugin.hold(&loops) => panic!("the loop ended before the others: {looped:?}"),
        () = others => {}
    }
}

/// Slightly too long for each of a thousand objects is far too long.
// proves: T11
#[tokio::test]
async fn total_time_of_calls_is_limited() {
    let text = format!("{}\nlimits = {{ time = '400ms', total = '600ms' }}", grants("hostile"));
    let plugin = Place::with(&["hostile"], &text).await.plugin().await;
    let said = async || plugin.hold(&in_mode("loop")).await.unwrap_err().message;
    assert_eq!(said().await, "it took longer than 400ms (limits.time)");
    let begun = Instant::now();
    for _ in 0..100 {
        assert_eq!(said().await, "its calls together took longer than 600ms");
    }
    assert!(begun.elapsed() < Duration::from_secs(10));
    // A check waits for others, as long as the operator allows.
    plugin.check(Point::BeforePause, &moving(), asked()).await.unwrap();
}

/// One run doesn't use up another's limits, nor take the turns that its slow calls wait for.
#[tokio::test]
async fn runs_have_separate_budgets() {
    let text = format!("{}\nlimits = {{ time = '1s', total = '2s' }}", grants("hostile"));
    let loaded = Place::with(&["hostile"], &text).await.plugin().await;
    let (one, other) = (loaded.for_run(run("m")), loaded.for_run(run("m")));
    let (looping, fine) = (in_mode("loop"), in_mode(""));
    let using_up = futures::future::join_all((0..17).map(|_| one.hold(&looping)));
    let beside = async {
        for _ in 0..10 {
            other.hold(&fine).await.unwrap();
        }
    };
    let used_up = match select(using_up, pin!(beside)).await {
        Either::Left((used_up, _)) => panic!("the other run waited for {} calls", used_up.len()),
        Either::Right(((), using_up)) => using_up.await,
    };
    assert!(used_up.into_iter().all(|answer| answer.unwrap_err().code == "timeout"));
    // It has nothing left, not even for an instant call; the other and the next have everything.
    assert_eq!(one.hold(&fine).await.unwrap_err().message, "its calls together took longer than 2s");
    other.hold(&fine).await.unwrap();
    loaded.for_run(run("m")).hold(&fine).await.unwrap();
    assert_eq!((other.take_used().calls, loaded.take_used().calls), (11, 0));
}

/// Each may use all the memory it is granted; together they must not use up the machine's.
#[tokio::test]
async fn calls_side_by_side_take_turns() {
    let (_place, plugin) = hostile().await;
    let (looping, begun) = (in_mode("loop"), Instant::now());
    // Eight at a time, each until its timeout.
    let errors = futures::future::join_all((0..17).map(|_| plugin.hold(&looping))).await;
    assert!(errors.into_iter().all(|error| error.unwrap_err().code == "timeout"));
    assert!(begun.elapsed() >= 3 * Duration::from_millis(400), "{:?}", begun.elapsed());
}

/// Fewer than a thousand lines per call, forever.
#[tokio::test]
async fn log_lines_are_limited() {
    let text =
        grants("hostile").replace("[plugins.hostile]", "[plugins.hostile]\nlimits = { host-calls = 900 }");
    let plugin = Place::with(&["hostile"], &text).await.plugin().await;
    let said = || log().text().matches("plugin=\"hostile\" hook=\"adapt\"").count();
    for _ in 0..5 {
        assert_eq!(plugin.adapt(&in_mode("shout")).await.unwrap_err().code, "too-many-host-calls");
    }
    assert!(said() <= 1_100, "{}", said());
    assert!(log().text().contains("it has logged 1000 lines; the rest is not shown"));
}

// proves: T12
#[tokio::test]
async fn calls_share_no_memory() {
    let (_place, plugin) = hostile().await;
    for _ in 0..2 {
        assert_eq!(plugin.hold(&in_mode("remember")).await.unwrap(), None);
        assert_eq!(plugin.adapt(&in_mode("remember")).await.unwrap(), None);
    }
}

// proves: T11
#[tokio::test]
async fn a_memory_bomb_stops_at_the_limit() {
    let error = held("bomb").await;
    assert_eq!(error.code, "out-of-memory");
    assert!(error.message.contains("its limit is 16777216"), "{}", error.message);
}

#[tokio::test]
async fn a_deep_recursion_is_a_trap() {
    assert_eq!(held("deep").await.code, "trap");
}

#[tokio::test]
async fn panic_names_its_functions() {
    let error = held("trap").await;
    assert_eq!(error.code, "trap");
    let message = &error.message;
    // As written in the source, without the functions that every panic goes through.
    assert!(message.contains(", in hostile::misbehave < "), "{message}");
    assert!(
        ["_ZN", "_RN", "17h", "panicking", ".rs:"].iter().all(|part| !message.contains(part)),
        "{message}"
    );
}

#[tokio::test]
async fn debug_information_names_file_and_line() {
    let place = Place::new();
    place.put("faulty.wasm", &guest("faulty"));
    let trap = async |plugin: Plugin| {
        let plugin = plugin.with_config(&json!({"defect": "no-status"})).await.unwrap();
        plugin.hold(&of_version("v2", in_mode(""))).await.unwrap_err().message
    };
    let (runtime, file) = (&place.runtime, place.path("faulty.wasm"));
    let said = trap(runtime.with_debug_information().try_out(&file, None).await.unwrap()).await;
    let source = include_str!("../../../../tests/guests/faulty/src/lib.rs");
    let line = 1 + source.lines().position(|line| line.contains("\"no status\"")).unwrap();
    assert!(said.contains(&format!("faulty/src/lib.rs:{line})")), "{said}");

    // Unless it is wanted, nothing parses what a hostile author may have written there.
    let said = trap(runtime.try_out(&file, None).await.unwrap()).await;
    assert!(said.contains(", in ") && !said.contains(".rs"), "{said}");
}

#[tokio::test]
async fn trap_is_the_hooks_error() {
    let (_place, plugin) = hostile().await;
    let bad = in_mode("trap");
    let errors = [
        plugin.relate(&bad).await.unwrap_err(),
        plugin.for_run(run("trap")).check(Point::AfterPause, &moving(), asked()).await.unwrap_err(),
        plugin.hold(&bad).await.unwrap_err(),
        plugin.adapt(&bad).await.unwrap_err(),
        plugin.restore(&bad, &bad).await.unwrap_err(),
        plugin.settle(&bad, false, asked()).await.unwrap_err(),
    ];
    let hooks: Vec<_> = errors.iter().map(|error| error.hook).collect();
    assert_eq!(hooks, ["relate", "check", "hold", "adapt", "restore", "settle"]);
    assert!(errors.iter().all(|error| error.code == "trap"));
    assert!(errors.iter().all(|error| error.object.is_some() == (error.hook != "check")));
}

#[tokio::test]
async fn an_output_bomb_is_rejected() {
    assert_eq!(held("output").await.code, "output-too-large");
    let (_place, plugin) = hostile().await;
    assert_eq!(plugin.relate(&in_mode("echo")).await.unwrap_err().code, "output-too-large");
}

// proves: T11
#[tokio::test]
async fn too_many_queries_end_the_call() {
    assert_eq!(held("shout").await.code, "too-many-host-calls");
    let error = held("flood").await;
    assert!(["too-many-host-calls", "output-too-large"].contains(&error.code.as_str()), "{error}");
}

#[tokio::test]
async fn patch_must_be_an_object() {
    for (mode, said) in [
        ("array", "its patch is not a JSON object"),
        ("null", "its patch is not a JSON object"),
        ("broken", "its patch is not JSON (line 1, column 13)"),
    ] {
        let error = held(mode).await;
        assert_eq!((error.code.as_str(), error.message.as_str()), ("invalid-answer", said));
    }
}

/// Forged and endless patches pass: the engine checks their bounds, because it sees all plugins' patches.
#[tokio::test]
async fn the_engine_judges_what_a_patch_touches() {
    let (_place, plugin) = hostile().await;
    for mode in ["identity", "owners", "mark"] {
        assert!(plugin.adapt(&in_mode(mode)).await.unwrap().is_some());
    }
    let again = in_mode("again");
    for _ in 0..3 {
        assert!(matches!(plugin.settle(&again, false, asked()).await.unwrap(), Settlement::Patch(_)));
    }
}

// proves: T4
#[tokio::test]
async fn ungranted_query_is_denied_unsent() {
    let (_place, plugin) = hostile().await;
    let services = asked();
    let findings =
        plugin.for_run(run("read")).check(Point::BeforePause, &moving(), services.clone()).await.unwrap();
    let said: Vec<_> = findings.iter().map(|f| (f.code.as_str(), f.message.as_str())).collect();
    assert_eq!(
        said,
        [
            ("denied", "reading Host.test.io of the source was not declared"),
            ("denied", "reading Secret of the target in namespace * was not declared"),
        ]
    );
    let findings =
        plugin.for_run(run("probe")).check(Point::BeforePause, &moving(), services.clone()).await.unwrap();
    let codes: Vec<_> = findings.iter().map(|f| f.code.as_str()).collect();
    assert_eq!(codes, ["denied", "denied", "invalid"]);
    assert!(services.queries.lock().unwrap().is_empty() && services.probes.lock().unwrap().is_empty());
}

// proves: T13
#[tokio::test]
async fn plugin_text_can_not_control_the_terminal() {
    let (_place, plugin) = hostile().await;
    let findings = plugin.for_run(run("escape")).check(Point::BeforePause, &moving(), asked()).await.unwrap();
    assert_eq!(findings[0].code, "invalid-code");
    assert_eq!(findings[0].message, "[2Jgone next line");
}

#[tokio::test]
async fn only_checks_may_fail_as_warnings() {
    let text = format!("{}\n{SMALL}\non-failure = {{ check = 'warn' }}", grants("hostile"));
    let plugin = Place::with(&["hostile"], &text).await.plugin().await;
    let findings = plugin.for_run(run("trap")).check(Point::BeforePause, &moving(), asked()).await.unwrap();
    assert_eq!((findings[0].severity, findings[0].code.as_str()), (Severity::Warn, "trap"));
    assert!(plugin.hold(&in_mode("trap")).await.is_err());
}

/// Two instances of a component with two instances of a component …, nested this deeply.
fn doubled(deep: usize) -> Vec<u8> {
    let section = |id: u8, content: &[u8]| {
        let length = content.len();
        let length = [0x80 | (length & 0x7f), 0x80 | ((length >> 7) & 0x7f), length >> 14];
        let length = length.map(|byte| u8::try_from(byte).unwrap());
        [&[id][..], &length, content].concat()
    };
    let component = |sections: &[Vec<u8>]| [b"\0asm\x0d\0\x01\0".to_vec(), sections.concat()].concat();
    let module = section(1, b"\0asm\x01\0\0\0");
    let innermost = component(&[module, section(2, &[1, 0, 0, 0])]);
    let twice = section(5, &[2, 0, 0, 0, 0, 0, 0]);
    (0..deep).fold(innermost, |inner, _| component(&[section(4, &inner), twice.clone()]))
}

/// The compiler would put a module into it 67 million times.
#[tokio::test]
async fn an_endlessly_nested_component_is_not_compiled() {
    let place = Place::new();
    let bomb = doubled(26);
    assert!(bomb.len() < 2_000, "{}", bomb.len());
    place.put("bomb.wasm", &bomb);
    let errors = [
        place.runtime.inspect(&place.path("bomb.wasm")).await.unwrap_err(),
        place.runtime.admit(&place.path("bomb.wasm"), &granting(false)).await.unwrap_err(),
        place.runtime.try_out(&place.path("bomb.wasm"), None).await.unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.code(), "unfolds");
        let said = "would be compiled into more than 200 instances of modules";
        assert!(error.to_string().contains(said), "{error}");
    }
}
