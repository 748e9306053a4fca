//! Plugins of a controller, and the context of their runs.

use std::sync::{Arc, Mutex};

use pivot_core::Both;
use pivot_core::plugins::hooks::Description;
use pivot_engine::hooks::{Hooks, RunContext};

use crate::stage::Stage;

/// Records the flags of kubectl that complete its commands.
#[derive(Default)]
struct Recorder {
    description: Description,
    flags: Mutex<Option<Both<Option<Vec<String>>>>>,
}

impl Hooks for Recorder {
    fn describe(&self) -> &Description {
        &self.description
    }

    fn for_run(&self, run: &RunContext) -> Option<Arc<dyn Hooks>> {
        *self.flags.lock().unwrap() = Some(run.kubectl.clone());
        None
    }
}

/// Without kubeconfigs, a command would run against whichever cluster its reader uses.
#[tokio::test(start_paused = true)]
async fn commands_of_plugins_name_kubeconfigs() {
    let mut stage = Stage::new(&["a"]);
    let recorder = Arc::new(Recorder::default());
    let flags = |file: &str| vec!["--kubeconfig".to_owned(), file.to_owned()];
    stage.plugins = vec![recorder.clone() as Arc<dyn Hooks>].into();
    stage.kubectl_flags = Both::new(flags("one"), flags("other"));
    stage.ask("a");
    let running = stage.start();
    stage.until("done", |stage| stage.done("a")).await;
    let expected = Both::new(Some(flags("one")), Some(flags("other")));
    assert_eq!(*recorder.flags.lock().unwrap(), Some(expected));
    running.stop().await;
}
