//! The same Clusters on the same server, described by clusterctl and by pivot-host with the same flags: every cell of every row.
//!
//! Both must show the same, but for the differences in one table (`differences`), each of which has to occur.

mod clusters;
mod differences;
mod table;

use std::collections::BTreeSet;
use std::time::Instant;

use anyhow::Context;
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::jiff::Timestamp;
use pivot_lab::assets::{CLUSTER_API, CLUSTER_API_NEWEST, KUBERNETES};
use pivot_lab::{Crds, Server, say};
use pivot_scenarios::clusterctl::{Answer, describe, recorded};
use pivot_scenarios::host::Host;
use serde_json::Value;

use clusters::{Cluster, clusters};
use differences::{DIFFERENCES, Difference, found};
use table::{Row, rows};

/// Programs at the same time.
const CONCURRENT: usize = 4;

/// Every flag, alone and with others.
const FLAGS: [&str; 11] = [
    "",
    "--grouping=false",
    "--echo",
    "--show-machinesets",
    "--show-templates",
    "--show-resourcesets",
    "--show-conditions all",
    "--show-conditions all+ --show-resourcesets",
    "--show-conditions Machine,cluster/C+,LabMachine/w-2 --grouping=false --echo",
    "--show-conditions MachineDeployment+,LabCluster --show-machinesets --show-templates",
    "--show-conditions all --grouping=false --echo=true --show-machinesets --show-templates --show-resourcesets",
];

/// The arguments of both programs for one Cluster.
fn words<'a>(namespace: &'a str, flags: &'a str) -> Vec<&'a str> {
    ["c", "-n", namespace].into_iter().chain(flags.split_whitespace()).collect()
}

/// The tables that clusterctl prints, recorded: they depend on its version and on the Clusters alone, and on how long ago the
/// Clusters changed.
async fn describe_by_clusterctl(server: &Server, clusters: &[(&str, Cluster)]) -> Answer<Vec<String>> {
    let objects: Vec<_> = clusters.iter().map(|(_, cluster)| with_ages(&cluster.objects)).collect();
    let key = (CLUSTER_API_NEWEST, KUBERNETES, clusters::crds(), objects, FLAGS, include_str!("mod.rs"));
    let ask = async || {
        let first = clusters.first().context("no Cluster")?.0;
        // Builds it, if it is not there yet.
        describe(server.kubeconfig(), &words(first, "")).await?;
        let cases = clusters.iter().flat_map(|(namespace, _)| FLAGS.map(|flags| words(namespace, flags)));
        let tables = cases.map(|words| async move { describe(server.kubeconfig(), &words).await });
        stream::iter(tables).buffered(CONCURRENT).try_collect().await
    };
    // It lists objects of one kind and parent in any order.
    let comparable = |tables: &Vec<String>| -> Vec<BTreeSet<_>> {
        let cells = |table: &String| rows(table).into_iter().map(|row| (row.path, row.cells)).collect();
        tables.iter().map(cells).collect()
    };
    recorded("clusterctl-describe", &key, ask, comparable).await.unwrap()
}

/// The objects with the age of each time in them, in hours.
fn with_ages(objects: &[Value]) -> Value {
    fn replace(value: &mut Value, now: Timestamp) {
        match value {
            Value::String(text) => {
                if let Ok(time) = text.parse::<Timestamp>() {
                    *text = format!("{} hours ago", now.duration_since(time).as_hours());
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| replace(item, now)),
            Value::Object(fields) => fields.values_mut().for_each(|field| replace(field, now)),
            _ => {}
        }
    }
    let mut objects = Value::from(objects);
    replace(&mut objects, Timestamp::now());
    objects
}

#[tokio::test(flavor = "multi_thread")]
async fn clusterctl_and_pivot_host_describe_the_same_but_for_the_differences_that_have_a_name() {
    let start = Instant::now();
    let own = Crds::parse(&clusters::crds()).unwrap();
    let crds = Crds::cluster_api(CLUSTER_API).await.unwrap().and(own);
    let server = Server::start_with("described", &crds).await.unwrap();
    let clusters = clusters();
    for (_, cluster) in &clusters {
        server.apply_values(cluster.objects.clone()).await.unwrap();
    }
    say(format_args!("{} Clusters after {:?}", clusters.len(), start.elapsed()));
    let answer = describe_by_clusterctl(&server, &clusters).await;
    let cases = clusters.iter().flat_map(|(of, _)| FLAGS.map(|flags| (*of, flags)));
    let host = Host::out_of(server.kubeconfig());
    let printed = cases.zip(answer.value.clone()).map(async |((of, flags), theirs)| {
        let ours = host.run_as_text(&[&["describe", "cluster"], &words(of, flags)[..]].concat()).await;
        (of, flags, [theirs, ours.unwrap().ends_with(0).unwrap().stdout])
    });
    let printed: Vec<_> = stream::iter(printed).buffered(CONCURRENT).collect().await;
    assert_eq!(printed.len(), clusters.len() * FLAGS.len());
    let (mut seen, mut wrong, mut cells) = (BTreeSet::new(), Vec::new(), 0);
    for (of, flags, texts) in &printed {
        let [theirs, ours] = texts.each_ref().map(|text| rows(text));
        assert!(!theirs.is_empty() && !ours.is_empty(), "{of} {flags}: {texts:?}");
        cells += theirs.len() * table::COLUMNS.len();
        let differences = found(of, flags, &theirs, &ours);
        for found in &differences {
            match DIFFERENCES.iter().find(|difference| (difference.explains)(found)) {
                Some(difference) => drop(seen.insert(difference.name)),
                None => wrong.push(found.to_string()),
            }
        }
        // Where both have the same rows, in the same order, drawn in the same way.
        let drawn = |rows: &[Row]| -> Vec<String> {
            let name = |row: &Row| {
                row.name().split("... See ").next().unwrap_or_default().trim_end_matches(',').to_owned()
            };
            rows.iter().map(|row| format!("{}{}", row.drawn, name(row))).collect()
        };
        let same_rows = differences.iter().all(|found| matches!(found.what, differences::What::Cell(..)));
        if same_rows && drawn(&theirs) != drawn(&ours) {
            wrong.push(format!("{of} {flags}: drawn differently:\n{theirs:#?}\n{ours:#?}"));
        }
    }
    let texts =
        || printed.iter().map(|(of, flags, [theirs, ours])| format!("{of} {flags}\n{theirs}\n{ours}"));
    if let Some(path) = std::env::var_os("PIVOT_DESCRIBED") {
        std::fs::write(path, texts().collect::<Vec<_>>().join("\n")).unwrap();
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    for Difference { name, why, .. } in &DIFFERENCES {
        say(format_args!("{name}: {why}"));
    }
    let unseen: Vec<_> =
        DIFFERENCES.iter().map(|difference| difference.name).filter(|name| !seen.contains(name)).collect();
    assert_eq!(unseen, [""; 0], "no Cluster shows these");
    answer.keep().unwrap();
    say(format_args!("{cells} cells of {} tables compared after {:?}", printed.len(), start.elapsed()));
}

/// The page lists the same differences as the code.
#[test]
fn the_page_about_describe_lists_each_difference() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/describe.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, section) = page.split_once("\n## Differences from `clusterctl describe cluster`\n").unwrap();
    let names =
        section.lines().filter_map(|line| Some(line.strip_prefix("| `")?.split('`').next()?.to_owned()));
    let listed: BTreeSet<String> = names.collect();
    assert_eq!(listed, DIFFERENCES.iter().map(|difference| difference.name.to_owned()).collect());
}
