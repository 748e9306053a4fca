//! docs/guides/metal3.md: a move during which the source's Ironic is switched off, and back a move that stops while it unpauses hosts.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use kube::ResourceExt;
use kube::api::{DynamicObject, ListParams};
use pivot_lab::observer::Side;
use pivot_lab::process::Process;
use pivot_lab::proxy::{Fault, Rule, Times};
use pivot_lab::{Server, say};
use pivot_scenarios::sampling::choose_one;
use pivot_scenarios::secrets::ensure_no_secret;
use serde_json::Value;

use super::handover::{LATENCIES, observe_move};
use super::page::{Guide, SHELL};
use super::plugins::Plugins;
use super::site::{Site, deployment_names, follow_scale, remove_labels_of_hosts, scale_ironic};
use super::world::{CONSUMED, HOST, LIMIT, PAUSED, World, objects_of};

const PAGE: &str = "metal3.md";
const MOVE: &str = "Move";
const STOP: &str = "If it stops";
/// The directory of the page into which a release installs the bundled plugins.
const INSTALLED: &str = "/usr/local/share/pivot-host/plugins";
/// The host that the target refuses to unpause.
const STUCK: &str = "u13";
/// The value of the pause by which the plugin holds a host.
const HELD: &str = "metal3-hosts.pivot-host.io";

pub(crate) async fn guide_to_hosts_works_as_written(world: &mut World, bundled: &Plugins, from: Side) {
    let (start, to) = (Instant::now(), from.other());
    let delay = Duration::from_millis(choose_one("latencies of the guide", LATENCIES).unwrap());
    let site = Site::build(world).await.unwrap();
    let mut guide = Guide::open(PAGE, |line| Some(line.to_owned())).await;
    install_plugins(&mut guide, bundled, &site);

    connect(&guide, world, from, delay);
    let hosts = list_hosts(world.server(from)).await.unwrap();
    remove_labels_of_hosts(world.server(from)).await.unwrap();
    check_before(&mut guide, &hosts);
    plan(&mut guide, hosts.len());
    observe_move(world, from, async |world| switch_ironic_off_during_move(&mut guide, world, from).await)
        .await;
    let report = fs::read_to_string(guide.file("report.html")).unwrap();
    assert!(report.contains("both sides serve the same address"));
    let result = guide.type_section("How to tell that it worked");
    assert!(result.contains("The last moves"), "{result}");
    assert_eq!(table_of_hosts(&result), hosts);

    connect(&guide, world, to, delay);
    fs::remove_file(guide.file("report.html")).unwrap();
    scale_ironic(world.server(from), 1).await.unwrap();
    scale_ironic(world.server(to), 0).await.unwrap();
    observe_move(world, to, async |world| resume_stopped_move(&mut guide, world, from).await).await;
    guide.ensure_all_typed();
    say(format_args!("typed, with {} ms, in {:.0} s", delay.as_millis(), start.elapsed().as_secs_f64()));
}

/// Copies the directory of a release, and edits it.
fn install_plugins(guide: &mut Guide, bundled: &Plugins, site: &Site) {
    let released = bundled.copy_of_release().unwrap();
    guide.replace(INSTALLED, &released.path());
    fs::write(guide.file("editor"), site.editor()).unwrap();
    let printed = guide.type_section("Plugins, once");
    for plugin in ["metal3-hosts", "metal3-endpoints", "readiness"] {
        assert!(printed.contains(plugin), "{printed}");
    }
    let edited = fs::read_to_string(guide.file("site-plugins/plugins.toml")).unwrap();
    assert!(edited.contains(&site.probes()), "{edited}");
}

/// Writes the kubeconfigs of the page, for a move from this side.
fn connect(guide: &Guide, world: &World, from: Side, delay: Duration) {
    for (side, name) in [(from, "boot.kubeconfig"), (from.other(), "prod.kubeconfig")] {
        fs::copy(world.wire(side, delay), guide.file(name)).unwrap();
    }
}

/// Returns name, state, operational status and pause of each host, as kubectl prints them.
async fn list_hosts(server: &Server) -> Result<Vec<[String; 4]>> {
    let hosts = objects_of(server, HOST).await?.list(&ListParams::default()).await?;
    let cells = |host: &DynamicObject| {
        let text = |pointer: &str| host.data.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let pause = host.annotations().get(PAUSED).map_or("<none>", String::as_str);
        let status = [text("/status/provisioning/state"), text("/status/operationalStatus"), pause];
        let [state, status, pause] = status.map(str::to_owned);
        [host.name_any(), state, status, pause]
    };
    Ok(hosts.iter().map(cells).collect())
}

/// The commands show that each host is at rest, label the definition, and list the Deployments.
fn check_before(guide: &mut Guide, hosts: &[[String; 4]]) {
    let printed = guide.type_section("Before you begin");
    let lines: Vec<String> =
        printed.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    for [name, state, status, _] in hosts {
        let row = format!("{name} {status} {state} ");
        assert!(lines.iter().any(|line| line.starts_with(&row)), "{row:?} is missing in:\n{printed}");
    }
    assert!(printed.contains("baremetalhosts.metal3.io labeled"), "{printed}");
    for name in deployment_names() {
        assert!(printed.contains(name), "{name} is missing in:\n{printed}");
    }
}

/// The plan counts the hosts of the Cluster and the free ones, which move because of the label. It has the warning of a plugin. The
/// page has the changes by plugins.
fn plan(guide: &mut Guide, hosts: usize) {
    let printed = guide.type_section("Plan");
    let count = |cluster: &str| {
        let mut rows = printed.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let row = rows.find(|row| row.first() == Some(&cluster)).unwrap_or_else(|| panic!("{printed}"));
        row[2].parse::<usize>().unwrap_or_else(|_| panic!("{printed}"))
    };
    assert_eq!([count("metal3/edge"), count("(none)")], [CONSUMED.len(), hosts - CONSUMED.len()]);
    assert!(printed.contains(" is still up"), "{printed}");
    let page = fs::read_to_string(guide.file("plan.html")).unwrap();
    assert!(page.contains("metal3-hosts changes the annotation "), "no change of a host");
}

/// Types the command in the message for which the move waits.
async fn switch_ironic_off_during_move(guide: &mut Guide, world: &World, from: Side) -> Result<()> {
    let mut moving = guide.start(MOVE, |_| true).await?;
    let command = moving.until_it_says(find_switch_off_command).await?;
    ensure!(
        command.starts_with("kubectl --kubeconfig boot.kubeconfig "),
        "the command is for another cluster: {command}"
    );
    guide.type_lines(MOVE, &[command]);
    ensure!(follow_scale(world.server(from)).await? == 0, "the source's Ironic is not switched off");
    moving.ends_with(0).await.map(drop)
}

/// Returns the command in the message that both sides run Ironic at one address.
fn find_switch_off_command(said: &str) -> Option<String> {
    let (_, message) = said.split_once("both sides serve the same address")?;
    let (_, command) = message.split_once('`')?;
    command.split_once('`').map(|(command, _)| command.to_owned())
}

/// Returns the rows of the table of hosts that kubectl printed last.
fn table_of_hosts(printed: &str) -> Vec<Vec<&str>> {
    let rows = printed.lines().skip_while(|line| !line.starts_with("NAME ")).skip(1);
    rows.map(|row| row.split("   ").map(str::trim).filter(|cell| !cell.is_empty()).collect()).collect()
}

/// The target refuses to unpause a host. The others are unpaused. A resume stops again until that is fixed.
async fn resume_stopped_move(guide: &mut Guide, world: &World, to: Side) -> Result<()> {
    let refusal = world.faults(to).add(refuse_to_change(STUCK));
    let is_slow = |line: &str| line.contains(" --unpause-batch ");
    guide.start(MOVE, |_| true).await?.expect_stuck_host(world.server(to)).await?;
    guide.start(STOP, |line| !is_slow(line)).await?.expect_stuck_host(world.server(to)).await?;
    world.faults(to).remove(refusal);
    guide.start(STOP, is_slow).await?.ends_with(0).await.map(drop)
}

/// Refuses changes of a host, but none of its status.
fn refuse_to_change(host: &str) -> Rule {
    let path = format!("/baremetalhosts/{host}");
    Rule::new(Times::Always, Fault::Answer { status: 403, retry_after: None }, move |seen| {
        seen.method.as_str() == "PATCH"
            && seen.path.split('?').next().is_some_and(|seen| seen.ends_with(&path))
    })
}

/// A command that runs while the test does something else.
struct Typing {
    line: String,
    process: Process,
}

impl Guide {
    /// Types the chosen line of a section, and doesn't wait for its end.
    async fn start(&mut self, heading: &str, is_chosen: impl Fn(&str) -> bool) -> Result<Typing> {
        let lines = self.choose_lines(heading, is_chosen);
        let [line] = lines.as_slice() else { bail!("not one line of {heading} is chosen: {lines:?}") };
        let [program, words @ ..] = SHELL;
        let mut command = Command::new(program);
        // Nothing of the test's environment. The program replaces the shell, so that it ends with the test.
        command.arg("-i").arg(format!("PATH={}", self.path_variable())).args(words);
        command.arg("-c").arg(format!("exec {line}")).current_dir(self.file("."));
        let process = Process::spawn(line, &command, self.file("typed.log")).await?;
        Ok(Typing { line: line.clone(), process })
    }
}

impl Typing {
    fn read_output(&self) -> Result<String> {
        Ok(String::from_utf8_lossy(&fs::read(self.process.log())?).into_owned())
    }

    /// Waits until the output has what the function looks for.
    async fn until_it_says<T>(&mut self, find: impl Fn(&str) -> Option<T>) -> Result<T> {
        let start = Instant::now();
        loop {
            let said = self.read_output()?;
            if let Some(found) = find(&said) {
                return Ok(found);
            }
            self.process.still_runs()?;
            ensure!(start.elapsed() < LIMIT, "`{}` never says it:\n{said}", self.line);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Waits for its end, with this exit code. Returns all that it printed.
    async fn ends_with(mut self, code: i32) -> Result<String> {
        let ended = tokio::time::timeout(LIMIT, self.process.wait()).await;
        let said = self.read_output()?;
        let status = ended.with_context(|| format!("`{}` hangs:\n{said}", self.line))??;
        ensure_no_secret(&self.line, &said)?;
        ensure!(status.code() == Some(code), "`{}`: {status}, not {code}:\n{said}", self.line);
        Ok(said)
    }

    /// Waits until it stops in Settled. It names the only host that it has not unpaused.
    async fn expect_stuck_host(self, target: &Server) -> Result<()> {
        let said = self.ends_with(5).await?;
        ensure!(said.contains(&format!("  - BareMetalHost metal3/{STUCK}: ")), "{said}");
        let hosts = list_hosts(target).await?;
        let held: Vec<&String> =
            hosts.iter().filter(|[.., pause]| pause == HELD).map(|[name, ..]| name).collect();
        ensure!(held == [STUCK], "held: {held:?}\n{said}");
        Ok(())
    }
}
