//! Every point at which plugins are called, with plugins written in Rust.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use pivot_core::messages::remedy::Remedy;
use pivot_core::messages::risk::Risk;
use pivot_core::objects::names::UNDO;
use pivot_core::plugins::hooks::{Description, Finding, Hook, Point, Relation, Settlement, Severity};
use pivot_core::{GroupKind, Object};
use pivot_engine::hooks::{HookError, Hooks, MoveContext, Services};
use pivot_engine::{Exit, Failure};
use serde_json::{Value, json};

use crate::committed::commit;
use crate::restored::Backup;
use crate::run::{self, With};
use crate::stage::{CLUSTERS, INFRA, Stage, body, key, picture};

const PAUSE: &str = "hosts.example.org/paused";
const SEEN: &str = "hosts.pivot-host.io/state";

/// Holds hosts, carries their status over, and releases them when they are ready.
struct HostKeeper {
    description: Description,
    calls: Mutex<Vec<String>>,
    failing: Option<Hook>,
    stop_at: Option<Point>,
    fails_at: Option<Point>,
}

impl HostKeeper {
    fn new() -> Self {
        Self {
            description: Description {
                name: "hosts".into(),
                version: "1.0.0".into(),
                digest: "d".into(),
                vouched_by: vec![],
                granted: vec![],
                kinds: vec![GroupKind::new(INFRA, "Host")],
                hooks: Hook::ALL.to_vec(),
                secret_data: false,
                reach: Vec::new(),
            },
            calls: Mutex::default(),
            failing: None,
            stop_at: None,
            fails_at: None,
        }
    }

    fn called(&self, hook: Hook, what: &str) -> Result<(), HookError> {
        self.calls.lock().unwrap().push(format!("{hook} {what}"));
        match self.failing {
            Some(failing) if failing == hook => {
                Err(HookError { code: "broken".into(), message: "it broke".into() })
            }
            _ => Ok(()),
        }
    }
}

/// Returns a plugin whose check before the pause fails.
pub(crate) fn broken_check() -> Arc<dyn Hooks> {
    Arc::new(HostKeeper { fails_at: Some(Point::BeforePause), ..HostKeeper::new() })
}

/// Returns a source with a plugin whose check before the pause says stop.
pub(crate) fn stage_of_stopping_check() -> Stage {
    stage(&Arc::new(HostKeeper { stop_at: Some(Point::BeforePause), ..HostKeeper::new() }))
}

#[async_trait]
impl Hooks for HostKeeper {
    fn describe(&self) -> &Description {
        &self.description
    }

    async fn relate(&self, object: &Object) -> Result<Vec<Relation>, HookError> {
        self.called(Hook::Relate, &object.meta.name)?;
        Ok(match object.meta.name.as_str() {
            "spare" => vec![Relation::Leave("spare hosts stay".into())],
            "h0" => vec![Relation::Link(key("cluster.x-k8s.io", "Cluster", "c"))],
            _ => Vec::new(),
        })
    }

    async fn check(
        &self,
        point: Point,
        context: &MoveContext,
        _services: Arc<dyn Services>,
    ) -> Result<Vec<Finding>, HookError> {
        self.called(Hook::Check, point.as_str())?;
        if self.fails_at == Some(point) {
            return Err(HookError { code: "broken".into(), message: "it broke".into() });
        }
        assert_eq!(context.objects.iter().map(|k| k.name.as_str()).collect::<Vec<_>>(), ["h0"]);
        let finding = |severity| Finding {
            severity,
            code: "seen".into(),
            message: "seen".into(),
            object: None,
            remedy: "none".into(),
        };
        Ok(if self.stop_at == Some(point) {
            vec![finding(Severity::Stop)]
        } else {
            vec![finding(Severity::Note)]
        })
    }

    async fn hold(&self, object: &Object) -> Result<Option<Value>, HookError> {
        self.called(Hook::Hold, &object.meta.name)?;
        Ok((!object.meta.has_annotation(PAUSE))
            .then(|| json!({"metadata": {"annotations": {PAUSE: "", SEEN: "provisioned"}}})))
    }

    async fn adapt(&self, object: &Object) -> Result<Option<Value>, HookError> {
        self.called(Hook::Adapt, &object.meta.name)?;
        Ok(Some(json!({"spec": {"adapted": true}})))
    }

    async fn restore(&self, source: &Object, created: &Object) -> Result<Option<Value>, HookError> {
        self.called(Hook::Restore, &created.meta.name)?;
        let source = source.value().unwrap();
        Ok(Some(json!({"status": source["status"]})))
    }

    async fn settle(
        &self,
        object: &Object,
        _: bool,
        _services: Arc<dyn Services>,
    ) -> Result<Settlement, HookError> {
        self.called(Hook::Settle, &object.meta.name)?;
        assert_eq!(object.meta.annotations[SEEN], "provisioned");
        Ok(if object.meta.has_annotation(PAUSE) {
            Settlement::Patch(json!({"metadata": {"annotations": {PAUSE: null}}}))
        } else {
            Settlement::Done
        })
    }
}

fn stage(keeper: &Arc<HostKeeper>) -> Stage {
    let mut stage = Stage::new();
    for name in ["h0", "spare"] {
        let mut host = body(INFRA, "Host", name, None);
        host["status"] = json!({"state": "provisioned"});
        stage.source.insert(host).unwrap();
    }
    stage.plugins = vec![keeper.clone()];
    stage
}

#[tokio::test(start_paused = true)]
async fn every_hook_is_called_and_its_decision_carried_out() {
    let keeper = Arc::new(HostKeeper::new());
    let stage = stage(&keeper);
    run::start(stage.setup()).await.unwrap();
    let host = stage.target.body(&key(INFRA, "Host", "h0")).unwrap();
    assert_eq!(host["status"]["state"], "provisioned");
    assert_eq!(host["spec"]["adapted"], true);
    let annotations = host["metadata"]["annotations"].as_object().unwrap();
    assert_eq!(
        annotations.keys().collect::<Vec<_>>(),
        ["pivot-host.io/copy-of", "pivot-host.io/move"],
        "no hold and no memory is left"
    );
    assert!(stage.target.body(&key(INFRA, "Host", "spare")).is_none());
    let calls = keeper.calls.lock().unwrap();
    for call in
        ["check before-pause", "check after-pause", "check before-commit", "check after-resume", "settle h0"]
    {
        assert!(calls.iter().any(|c| c == call), "{call}: {calls:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_failing_hook_before_the_first_target_write_restores_the_source() {
    for hook in [Hook::Relate, Hook::Check, Hook::Hold, Hook::Adapt] {
        let keeper = Arc::new(HostKeeper { failing: Some(hook), ..HostKeeper::new() });
        let stage = stage(&keeper);
        let before = picture(&stage.source);
        let stop = run::start(stage.setup()).await.unwrap_err();
        assert_eq!(stop.exit, Exit::Refused, "{hook}: {stop}");
        assert!(stop.to_string().contains("plugin hosts failed in"), "{stop}");
        assert_eq!(picture(&stage.source), before, "{hook}");
        assert!(picture(&stage.target).is_empty(), "{hook}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_check_that_says_stop_stops_with_the_exit_of_its_point() {
    for (point, exit) in [
        (Point::BeforePause, Exit::Refused),
        (Point::AfterPause, Exit::Refused),
        (Point::BeforeCommit, Exit::PartWay),
        (Point::AfterResume, Exit::PastCommit),
    ] {
        let keeper = Arc::new(HostKeeper { stop_at: Some(point), ..HostKeeper::new() });
        let stage = stage(&keeper);
        assert_eq!(run::start(stage.setup()).await.unwrap_err().exit, exit, "{point:?}");
    }
}

/// What a resume refuses is no way out.
#[tokio::test(start_paused = true)]
async fn a_failing_plugins_remedies_depend_on_how_far_the_move_is() {
    let plugin = || "hosts".to_owned();
    let begin_again = || vec![Remedy::Fix { plugin: plugin() }, Remedy::SwitchOff { plugin: plugin() }];
    let back = Remedy::RollBackThenFix { plugin: plugin() };
    let pass = Remedy::LetCheckPass { plugin: plugin() };
    for (failing, ways) in [
        (Hook::Check, begin_again()),
        (Hook::Adapt, begin_again()),
        (Hook::Restore, vec![back.clone(), Remedy::RollBackThenSwitchOff { plugin: plugin() }]),
        (Hook::Settle, vec![Remedy::ResumeAgain, Remedy::FixThenAcceptChange { plugin: None }]),
    ] {
        let keeper = Arc::new(HostKeeper { failing: Some(failing), ..HostKeeper::new() });
        let stop = run::start(stage(&keeper).setup()).await.unwrap_err();
        assert_eq!(stop.remedies(), ways, "{failing}: {stop}");
    }
    let change = Remedy::FixThenAcceptChange { plugin: Some(plugin()) };
    for (point, ways) in [
        (Point::BeforePause, begin_again()),
        (Point::AfterPause, begin_again()),
        (Point::BeforeCommit, vec![Remedy::ResumeAgain, pass.clone(), back]),
        (Point::AfterResume, vec![Remedy::ResumeAgain, pass, change]),
    ] {
        let keeper = Arc::new(HostKeeper { fails_at: Some(point), ..HostKeeper::new() });
        let stop = run::start(stage(&keeper).setup()).await.unwrap_err();
        assert_eq!(stop.remedies(), ways, "{point:?}: {stop}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_check_that_stops_after_the_commit_offers_a_remedy_that_works() {
    let keeper = Arc::new(HostKeeper { stop_at: Some(Point::AfterResume), ..HostKeeper::new() });
    let mut stage = stage(&keeper);
    let stop = run::start(stage.setup()).await.unwrap_err();
    let off = Remedy::SwitchOffThenAcceptChange { plugins: vec!["hosts".into()] };
    assert_eq!(stop.remedies(), [Remedy::ResolveThenResume, off]);
    // Switched off.
    stage.plugins = Vec::new();
    stage.options.accept.insert(Risk::PluginsChanged);
    run::resume(stage.setup()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_trap_in_settle_leaves_that_object_paused_and_can_be_resumed() {
    let keeper = Arc::new(HostKeeper { failing: Some(Hook::Settle), ..HostKeeper::new() });
    let mut stage = stage(&keeper);
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert_eq!(stop.exit, Exit::PastCommit, "{stop}");
    let host = key(INFRA, "Host", "h0");
    assert!(stage.target.body(&host).unwrap()["metadata"]["annotations"].get(PAUSE).is_some());
    assert!(stage.source.body(&host).is_none());
    stage.plugins = vec![Arc::new(HostKeeper::new())];
    run::resume(stage.setup()).await.unwrap();
    assert!(stage.target.body(&host).unwrap()["metadata"]["annotations"].get(PAUSE).is_none());
}

// proves: T22
#[tokio::test(start_paused = true)]
async fn a_move_is_not_resumed_with_other_plugins() {
    let keeper = Arc::new(HostKeeper { stop_at: Some(Point::BeforeCommit), ..HostKeeper::new() });
    let mut stage = stage(&keeper);
    run::start(stage.setup()).await.unwrap_err();
    stage.plugins = Vec::new();
    assert_eq!(run::resume(stage.setup()).await.unwrap_err().exit, Exit::Plugin);
    // A rollback needs no plugin: every hold carries its own inverse.
    run::rollback(stage.setup()).await.unwrap();
    let host = stage.source.body(&key(INFRA, "Host", "h0")).unwrap();
    assert!(host["metadata"].get("annotations").is_none_or(|a| a.as_object().unwrap().is_empty()), "{host}");
}

/// Which objects move, and which are held, is the plugins' to say: without them, nothing shows that a source is complete and at rest.
// proves: I14
#[tokio::test(start_paused = true)]
async fn recovery_needs_the_moves_plugins() {
    let keeper = Arc::new(HostKeeper::new());
    let stage = stage(&keeper);
    let untouched = picture(&stage.source);
    let before = Backup::take(&stage.target);
    let mut stage = commit(stage).await;
    before.restore(&stage.target);
    let recovering = |stage: &Stage| {
        let mut setup = stage.setup();
        setup.options.accept.insert(Risk::WorldChanged);
        setup
    };
    let committed = Backup::take(&stage.source);
    let plugins = std::mem::take(&mut stage.plugins);
    let paused = picture(&stage.source);
    let stop = run::rollback(recovering(&stage)).await.unwrap_err();
    assert!(matches!(stop.failure, Failure::Plugins { .. }), "{stop}");
    assert_eq!(picture(&stage.source), paused);

    stage.plugins = plugins;
    let host = key(INFRA, "Host", "h0");
    let wake = |body: &mut Value| {
        let annotations = body["metadata"]["annotations"].as_object_mut().unwrap();
        [PAUSE, SEEN, UNDO].into_iter().for_each(|name| drop(annotations.remove(name)));
    };
    stage.source.edit(&host, wake).unwrap();
    let stop = run::rollback(recovering(&stage)).await.unwrap_err();
    let Failure::Refused(refusals) = &stop.failure else { panic!("{stop}") };
    assert_eq!((refusals[0].code, refusals[0].object.as_ref()), ("pause-undone", Some(&host)), "{stop}");

    committed.restore(&stage.source);
    let stop = run::rollback(recovering(&stage)).await.unwrap_err();
    assert!(matches!(stop.failure, Failure::LeftPaused { .. }), "{stop}");
    let held = stage.source.body(&host).unwrap();
    assert!(held["metadata"]["annotations"].get(PAUSE).is_some(), "its Cluster is paused: {held}");

    // From here on it is a rollback as any other, which needs none.
    stage.plugins.clear();
    run::rollback(With::unpause(stage.setup(), &[&key(CLUSTERS, "Cluster", "c")])).await.unwrap();
    assert_eq!(picture(&stage.source), untouched);
}
