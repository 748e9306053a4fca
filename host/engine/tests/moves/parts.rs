//! Parts of what moves that the user excludes.

use std::collections::BTreeSet;

use pivot_core::objects::selector::Part;
use pivot_engine::{Exit, Failure, Stop};

use crate::run;
use crate::stage::{CLUSTERS, INFRA, Stage, key, picture};

fn excluding(parts: &[Part]) -> Stage {
    let mut stage = Stage::new();
    stage.options.scope.exclude = parts.iter().cloned().collect();
    stage
}

fn codes(stop: &Stop) -> Vec<&'static str> {
    let Failure::Refused(refusals) = &stop.failure else { panic!("{stop}") };
    refusals.iter().map(|refusal| refusal.code).collect()
}

#[tokio::test(start_paused = true)]
async fn what_is_excluded_stays_as_it_is_by_whichever_run_the_move_ends() {
    let all = Stage::new();
    run::start(all.setup()).await.unwrap();
    let mut expected = picture(&all.target);
    expected.remove("Pool ns/p").unwrap();
    for dies in [false, true] {
        let stage = excluding(&[Part::of_object(&key(INFRA, "Pool", "p"))]);
        let before = stage.source.body(&key(INFRA, "Pool", "p")).unwrap();
        if dies {
            stage.dies(|verb, _| verb == "create", |verb, _| verb == "delete").await;
            // The record says what is excluded.
            let plain = Stage { source: stage.source.clone(), target: stage.target.clone(), ..Stage::new() };
            run::resume(plain.setup()).await.unwrap();
        } else {
            run::start(stage.setup()).await.unwrap();
        }
        assert_eq!(picture(&stage.target), expected);
        assert_eq!(picture(&stage.source).into_keys().collect::<Vec<_>>(), ["Pool ns/p", "Secret ns/pull"]);
        assert_eq!(stage.source.body(&key(INFRA, "Pool", "p")).unwrap(), before);
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_needed_or_would_be_lost_is_refused_before_anything_is_changed() {
    for (part, expected) in [
        // Its InfraMachine moves; with both excluded, the Cluster that owns them would take them along when it is deleted.
        (Part::of_object(&key(CLUSTERS, "Machine", "m0")), "excluded-but-needed"),
        (Part::of_kind(key(INFRA, "InfraMachine", "m0").group_kind), "collateral"),
        (Part::of_object(&key("", "Secret", "m0-bootstrap")), "collateral"),
        (Part::of_object(&key("", "Secret", "m0-bootstrab")), "excluded-missing"),
    ] {
        let stage = excluding(std::slice::from_ref(&part));
        let before = picture(&stage.source);
        let stop = run::start(stage.setup()).await.unwrap_err();
        assert_eq!((stop.exit, codes(&stop)), (Exit::Refused, vec![expected]), "{part}");
        assert_eq!(picture(&stage.source), before);
        assert!(picture(&stage.target).is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn where_everything_is_excluded_there_is_nothing_to_move() {
    let kinds: BTreeSet<Part> = Stage::new()
        .source
        .keys()
        .into_iter()
        .filter(|key| key.namespace.is_some())
        .map(|key| Part::of_kind(key.group_kind))
        .collect();
    let stage = excluding(&Vec::from_iter(kinds));
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert_eq!(stop.exit, Exit::Empty);
    let text = "nothing to move: no Cluster, and nothing labelled to move, in namespace ns, apart from what is excluded; \
                there are Clusters in ns";
    assert_eq!(stop.to_string(), text);
}
