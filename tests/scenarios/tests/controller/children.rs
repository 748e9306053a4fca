//! Ten children at once, one of them out of reach for a while, and then their parent is gone.

use pivot_lab::proxy::Break;
use pivot_lab::{Relay, process, say};

use crate::agents::ended;
use crate::cases::Cases;
use crate::stage::same;

/// How many TLS records arrive before a link falls silent: a move has about 390.
const RECORDS: u64 = 150;

#[tokio::test(flavor = "multi_thread")]
async fn ten_children_one_of_them_silent_and_then_their_parent_gone() {
    let mut cases = Cases::start().await;
    let children = cases.more(10).await;
    let observer = cases.observer(&children).await;
    let mut running = cases.controller().await;
    let wire = Relay::start(cases.address()).await.unwrap();
    wire.sever_after(RECORDS, Break::Silence);
    let (silent, others) = children.split_first().unwrap();
    let mut agents = vec![cases.calling(silent, wire.address()).await];
    for child in others {
        agents.push(cases.agent(child).await);
    }
    for child in &children {
        cases.ask(child).await;
    }
    for child in others {
        cases.until_moved(child, &mut running).await;
    }
    wire.severed(0).await;
    assert!(!cases.succeeded(silent).await, "nothing was held up");
    say("nine of ten have moved, and one is silent");
    wire.heal();
    cases.until_moved(silent, &mut running).await;
    cases.stage.tidy().await;
    Cases::clean(observer).await;

    // With all of it: the API server doesn't answer any more, and nobody asks it.
    ended(running).await;
    process::kill(cases.stage.pair.source.apiserver().id()).unwrap();
    for (child, agent) in children.iter().zip(&mut agents) {
        agent.until_it_says("no link: ").await.unwrap();
        same(child.before.clone(), cases.stage.moved(&cases.stage.pair.target, &child.namespace).await);
        assert!(agent.still_runs().unwrap(), "{}", agent.said());
    }
    for agent in agents {
        ended(agent).await;
    }
}
