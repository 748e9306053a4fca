//! docs/first-hour.md, typed as it stands: a run is killed halfway, and the move goes on by the words of the page alone.

use std::fs;
use std::path::Path;

use pivot_lab::assets::CLUSTER_API;
use pivot_lab::observer::{Side, check};
use pivot_lab::{Observer, Rules};
use pivot_scenarios::host::binary;
use pivot_scenarios::secrets::ensure_no_secret;
use pivot_scenarios::state::dangling;

use super::handover::{OBJECTS, truths};
use super::typed::type_commands;
use super::world::{NAMESPACE, World};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn first_hour_works_as_written() {
    let mut world = World::start(CLUSTER_API).await.unwrap();
    world.fill(OBJECTS, 5).await.unwrap();
    let before = world.until_quiet(Side::Source).await.unwrap();
    let (source, target) = (world.server(Side::Source), world.server(Side::Target));
    let folder = tempfile::tempdir().unwrap();
    for (server, name) in [(source, "boot.kubeconfig"), (target, "prod.kubeconfig")] {
        fs::copy(server.kubeconfig(), folder.path().join(name)).unwrap();
    }
    let observer = Observer::start(source, target, &[NAMESPACE]).await.unwrap();
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/first-hour.md");
    let (program, typed_in) = (binary().unwrap(), folder.path().to_owned());
    let typing = tokio::task::spawn_blocking(move || type_commands(&page, &typed_in, &program));
    ensure_no_secret("docs/first-hour.md", &typing.await.unwrap()).unwrap();

    let wanted = truths(&before, CLUSTER_API);
    let after = world.until(Side::Target, |dump| truths(dump, CLUSTER_API) == wanted).await.unwrap();
    let log = observer.finish_log().await.unwrap();
    let broken: Vec<_> =
        check(&log, &Rules::new().target_at_work()).iter().map(ToString::to_string).collect();
    assert_eq!(broken, Vec::<String>::new());
    assert!(world.server(Side::Source).dump(&[NAMESPACE]).await.unwrap().is_empty());
    assert_eq!(after.keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
    assert_eq!(dangling(&after), Vec::<String>::new());
    assert_eq!(world.torn_down().unwrap(), Vec::<String>::new());
}
