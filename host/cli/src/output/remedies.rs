//! The text of remedies, with the flags, commands and settings that they need.

use std::collections::BTreeSet;

use pivot_core::messages::refusal::some_of;
use pivot_core::messages::remedy::{Installation, Remedy};
use pivot_core::messages::risk::Risk;
use pivot_core::messages::shell::{Kubectl, quote};
use pivot_core::objects::selector::Part;
use pivot_core::plugins::reach::EVERYWHERE;
use pivot_core::request::scope::ClusterName;
use pivot_core::{Both, GroupKind, Key, Side};
use pivot_engine::{Failure, OneSidedMove, Stop};
use pivot_places::PlaceError;

use crate::args::to_accept;
use crate::output::bundled_plugins::{enabling_text, handling_plugin_text};

/// Most objects that are excluded one by one.
const MAX_LISTED_EXCLUDES: usize = 3;

/// Remedy for an object of a directory that only a command on a server could correct.
const NO_SERVER: &str = "correct it in the cluster that the files come from, and write them again; if that cluster is lost, correct it in a copy of the files";

/// All remedies in one sentence. They are separated by semicolons if one other than the last contains commas.
pub(crate) fn remedies_sentence(remedies: &[Remedy]) -> String {
    let ways: Vec<String> = remedies.iter().map(remedy_text).collect();
    let commas = ways.split_last().is_some_and(|(_, before)| before.iter().any(|way| way.contains(',')));
    ways.join(if commas { "; or " } else { ", or " })
}

/// Adds the kubeconfig and the context of its side to each kubectl command of a stop. A side that is a directory has no server: its
/// commands are left out.
pub(crate) fn name_kubeconfigs(mut stop: Stop, flags: &Both<Vec<String>>, is_directory: &Both<bool>) -> Stop {
    match &mut stop.failure {
        Failure::Refused(refusals) => {
            for remedies in refusals.iter_mut().map(|refusal| &mut refusal.remedies) {
                let before = remedies.len();
                remedies.retain(|remedy| !matches!(remedy, Remedy::Kubectl { command, .. } if *is_directory.get(command.side)));
                if remedies.is_empty() && before > 0 {
                    remedies.push(NO_SERVER.into());
                }
                remedies.iter_mut().for_each(|remedy| remedy.name_kubeconfig(flags));
            }
        }
        Failure::Plugins { remedy, .. } => remedy.name_kubeconfig(flags),
        _ => {}
    }
    stop
}

/// Returns remedies of a stop: first commands that show more, then the engine's proposals.
pub(crate) fn of_stop(stop: &Stop, flags: &Both<Vec<String>>) -> Vec<Remedy> {
    let first = match &stop.failure {
        // No permission helps.
        Failure::Place { error, .. } if error.is_webhook_refusal() => vec![
            "do what the webhook's message asks for; if it names an object that is gone, wait until its controller has noticed that"
                .into(),
        ],
        Failure::Place { side, error, .. } if error.is_webhook_outage() => {
            let command = Kubectl::new(*side, ["get", "deployments", "-A"]);
            let check = "check that the controller of the webhook runs, and that the API server reaches it: ";
            vec![Remedy::kubectl(check, command, "")]
        }
        Failure::Place { side, error: PlaceError::Forbidden(_), .. } => {
            vec![Remedy::GrantRights { side: *side }, Remedy::NameOtherUser { side: *side }]
        }
        Failure::Place { error: PlaceError::Untrusted(_), .. } => vec![
            "check that this is the right server, and that certificate-authority-data of its cluster in that kubeconfig is the \
             CA that it uses now"
                .into(),
        ],
        Failure::OneSidedMove {
            one_sided: OneSidedMove::SourceWentBack { awake, is_recorded: true, .. },
            ..
        } => awake.first().map(|cluster| pause_each(cluster, awake.len())).into_iter().collect(),
        Failure::NotSeen(_) | Failure::NotTakenOver(_) => {
            let words = ["get", "deployments", "-A", "-l", "cluster.x-k8s.io/provider", "-o", "wide"];
            let command = Kubectl::new(Side::Target, words);
            vec![Remedy::kubectl("check that the target's controllers run: ", command, "")]
        }
        _ => Vec::new(),
    };
    let mut remedies: Vec<Remedy> = first.into_iter().chain(stop.remedies()).collect();
    remedies.iter_mut().for_each(|remedy| remedy.name_kubeconfig(flags));
    remedies
}

/// Pauses the Clusters of a source that went back, beginning with the first.
fn pause_each(cluster: &Key, clusters: usize) -> Remedy {
    let command = Kubectl::patch(Side::Source, cluster, r#"{"spec":{"paused":true}}"#);
    let after = if clusters > 1 { ", and so with the others that are named" } else { "" };
    Remedy::kubectl("if the target runs it, too, pause it in the source: ", command, after)
}

/// One remedy, for readers of a Pivot. They have no access to the controller's files.
pub(super) fn pivot_remedy_text(remedy: &Remedy) -> String {
    match remedy {
        Remedy::EnablePlugin { plugin, .. } => format!(
            "let plugin {plugin} handle such objects: ask an administrator to enable it in the controller's plugin directory"
        ),
        remedy => remedy_text(remedy),
    }
}

/// One remedy.
pub(super) fn remedy_text(remedy: &Remedy) -> String {
    match remedy {
        Remedy::ByHand { .. } | Remedy::Kubectl { .. } => remedy.by_hand().unwrap_or_default(),
        Remedy::GrantRights { side } => format!(
            "ask an administrator of the {side} to print and apply the roles: `generate rbac --side {side} --bind-to USER`, with the \
             scope of this command"
        ),
        Remedy::NameOtherUser { side } => {
            let flag = if *side == Side::Source { "--kubeconfig" } else { "--to-kubeconfig" };
            format!("name a kubeconfig of a user with that permission: {flag}")
        }
        Remedy::InstallProvider(provider) => {
            format!("install it in the target: `clusterctl init {}`", clusterctl_flag(provider))
        }
        Remedy::UpgradeProvider(provider) => {
            format!("upgrade it in the target: `clusterctl upgrade apply {}`", clusterctl_flag(provider))
        }
        Remedy::WatchAllNamespaces => {
            "let its controllers watch all namespaces: remove their --namespace flag, and watchedNamespace \
             from the Provider object"
                .to_owned()
        }
        Remedy::EndOtherMove => {
            "end that move first: `status` shows its phase, and whether to resume it or to roll it back".to_owned()
        }
        Remedy::WaitForOtherRun => "wait until it ends; `status` shows its phase".to_owned(),
        Remedy::ReachServer => "check that this is the right cluster, that its API server is up, and that it can be reached from here (VPN, firewall, HTTPS_PROXY and NO_PROXY)"
            .to_owned(),
        Remedy::NameOtherTarget => {
            "name another target with --to-kubeconfig and --to-kubeconfig-context".to_owned()
        }
        Remedy::NameRecordNamespace => {
            "name a namespace where you have that permission, the same in every command: --record-namespace".to_owned()
        }
        Remedy::DropOwners { kinds } => {
            format!("copy it without that owner: {}", risk_flags(Risk::OwnerDropped, kinds).join(" "))
        }
        Remedy::DropOneOwner { kinds } => {
            format!("drop one owner: {}", risk_flags(Risk::OwnerDropped, kinds).join(" or "))
        }
        Remedy::ResumeWithoutSource => {
            format!("end the move and leave the source as it is: resume with {}", to_accept(Risk::WithoutSource))
        }
        Remedy::RestoreTarget => {
            "if nothing of the move runs in the target: restore it from a backup of after the commit, then resume".to_owned()
        }
        Remedy::RecoverSource => format!(
            "only if there is no such backup: make sure that no other management cluster runs these Clusters, and compare the machines \
             of each with the cloud or the rack; then resume with {flag}, which copies again, or rollback with {flag}, which keeps the \
             source. Each Cluster stays paused until it is named",
            flag = to_accept(Risk::WorldChanged)
        ),
        Remedy::PauseSource => format!(
            "pause those whose copies run in the target: resume with {}, which only pauses them. Hosts and pools still run then: scale the \
             source's providers to 0, too",
            to_accept(Risk::WorldChanged)
        ),
        Remedy::NameClusterToPause { cluster } => format!(
            "compare each of these Clusters with the one in the target, and name those that are the same and run there: resume with {} and \
             --pause {}. That pauses the named Clusters in the source, and does nothing else. Hosts and pools still run then: scale the \
             source's providers to 0, too",
            to_accept(Risk::WorldChanged),
            quoted_name(cluster)
        ),
        Remedy::ExplainMissingCopies => "find out what became of them in the target: they may have been deleted there, or paused, or replaced. \
             Restore neither side from a backup: each has what the other lacks"
            .to_owned(),
        Remedy::SwitchOffSource => "no command deletes what the source has: without the move's list of what was copied, nothing shows that the \
             target has it in the same state. Keep the source, paused; only if each of its Clusters runs in the target, switch off what the \
             source's management cluster runs on"
            .to_owned(),
        Remedy::RollBackLostUndo => format!(
            "find out what happened to that copy. Only if it lost the annotation, and no Cluster has run in the target, rollback with \
             {}; each Cluster stays paused until it is named",
            to_accept(Risk::WorldChanged)
        ),
        Remedy::NameComparedCluster { cluster } => format!(
            "compare the machines of each Cluster with the cloud or the rack, then name the Clusters whose machines match: --unpause {}",
            cluster.as_ref().map_or_else(|| "NAMESPACE/NAME".to_owned(), quoted_name)
        ),
        Remedy::DropLostWorkers { cluster } => format!(
            "if the machines that can be dropped are gone in the cloud or the rack, resume with --drop {}: it removes their copies, and \
             nothing else is deleted",
            quoted_name(cluster)
        ),
        Remedy::NameClusterToUnpause { cluster } => {
            format!("to unpause them, name each: rollback with --unpause {}", quoted_name(cluster))
        }
        Remedy::NotImported => format!(
            "if no cluster loaded the directory, or the loaded objects were deleted, cancel the handover with {}",
            to_accept(Risk::MaybeImported)
        ),
        Remedy::ResumeUnverified => format!(
            "if no controller ever writes to a listed kind, resume with {} for that kind",
            to_accept(Risk::Unverified)
        ),
        Remedy::AcceptUnseen { kinds } => format!(
            "if you know that controllers of the target watch these objects: {}",
            risk_flags(Risk::Unseen, kinds).join(" ")
        ),
        Remedy::AcceptChanged { kinds } => format!(
            "if the target's state is correct, including deleted objects, resume with {}",
            risk_flags(Risk::CopyChanged, kinds).join(" ")
        ),
        Remedy::AcceptUnverified { kind } => {
            format!("accept that: {}", risk_flags(Risk::Unverified, [kind]).concat())
        }
        Remedy::AcceptLoss { kind } => {
            format!("accept the loss: {}", risk_flags(Risk::DependentsLost, [kind]).concat())
        }
        Remedy::AddPlugin { kind } => format!("add a plugin that handles {kind}{}", handling_plugin_text(kind)),
        Remedy::EnablePlugin { plugin, directory } => enabling_text(plugin, directory.as_deref()),
        Remedy::MoveWithoutPlugin { kind } => {
            format!("accept the risk: {}", risk_flags(Risk::NoPlugin, [kind]).concat())
        }
        Remedy::NameCluster { cluster } => format!("move both: add --cluster {}", quoted_name(cluster)),
        Remedy::AcceptOldNamespace { kind } => {
            format!("keep the old name there: {}", risk_flags(Risk::OldNamespace, [kind]).concat())
        }
        Remedy::AlsoCopy { part } => format!("copy it, too: --also-copy {}", quote(&part.to_string())),
        Remedy::AcceptDangling { kind } => {
            format!("move without it: {}", risk_flags(Risk::Dangling, [kind]).concat())
        }
        Remedy::AcceptGitops { kind } => {
            format!("move although it acts: {}", risk_flags(Risk::Gitops, [kind]).concat())
        }
        Remedy::MapNamespace { namespace } => {
            let map = quote(&format!("{namespace}=NEW"));
            format!("give namespace {namespace} another name there: --map-namespace {map}")
        }
        Remedy::AcceptShared { kind } => {
            let pool = kind.kind.ends_with("Pool");
            let first = if pool { "exclude on each side the addresses that the other has, and " } else { "" };
            format!("{first}accept it: {}", risk_flags(Risk::Shared, [kind]).concat())
        }
        Remedy::ExcludeToo { objects } => format!("exclude that too: {}", exclude_flags(objects)),
        Remedy::ExcludeInstead { parts } => {
            let flags: Vec<String> = parts.iter().map(exclude_flag).collect();
            format!("exclude a kind that exists: {}", some_of(&flags, MAX_LISTED_EXCLUDES))
        }
        Remedy::LeaveOutExclude { parts } => leave_out(parts, "--exclude"),
        Remedy::LeaveOutCarry { parts } => leave_out(parts, "--also-copy"),
        Remedy::NameOtherClusters => {
            "to leave a Cluster in the source, name the Clusters that move: --cluster NAMESPACE/NAME".to_owned()
        }
        Remedy::MovePaused => format!("move it paused: {}", to_accept(Risk::AlreadyPaused)),
        Remedy::MoveUnprovisioned => format!("move it as it is: {}", to_accept(Risk::Unprovisioned)),
        Remedy::SourceIsOff => {
            format!("if so: {}", to_accept(Risk::SourceMayRun))
        }
        Remedy::UseExisting => {
            format!("use the target's object as it is: {}", to_accept(Risk::ExistingDiffers))
        }
        Remedy::AcceptPluginChange => format!("{} continues anyway", to_accept(Risk::PluginsChanged)),
        Remedy::StartFinishingAgent => "restart the agent with `--finish-alone-after` and the controller's plugins, which its image has: `--plugins /plugins`".to_owned(),
        Remedy::WaitForLink => "let the agent wait for its link instead: `whenAway: Wait`".to_owned(),
        Remedy::ResumeAgain => "resume, which checks it again".to_owned(),
        Remedy::Fix { plugin } => format!("correct plugin {plugin} or its configuration in plugins.toml, then run this command again"),
        Remedy::SwitchOff { plugin } => {
            format!("switch plugin {plugin} off ({}), then run this command again", switch_off(plugin))
        }
        Remedy::GrantReach { plugin, kind, namespace } => {
            let namespace = namespace.as_deref().unwrap_or(EVERYWHERE);
            format!(
                "to move it too, grant reach = [{{ side = \"source\", kind = \"{kind}\", namespace = \"{namespace}\" }}] \
                 below [plugins.{plugin}] in plugins.toml (it is then copied, and deleted in the source only with delete = true)"
            )
        }
        Remedy::LetCheckPass { plugin } => format!(
            "let failing checks of plugin {plugin} pass (on-failure = {{ check = \"warn\" }} below [plugins.{plugin}] in \
             plugins.toml), then resume"
        ),
        Remedy::RollBackThenFix { plugin } => {
            format!("roll back, which needs no plugin; fix plugin {plugin}, and move again")
        }
        Remedy::RollBackThenSwitchOff { plugin } => {
            format!("roll back, switch plugin {plugin} off ({}), and move again", switch_off(plugin))
        }
        Remedy::FixThenAcceptChange { plugin } => {
            let which = plugin.as_ref().map_or("the plugins".to_owned(), |plugin| format!("plugin {plugin}"));
            format!("fix {which}, and resume with {}", to_accept(Risk::PluginsChanged))
        }
        Remedy::ResolveThenResume => "resolve the findings of the plugins, and resume".to_owned(),
        Remedy::SwitchOffThenAcceptChange { plugins } => {
            let off: Vec<String> = plugins.iter().map(|plugin| switch_off(plugin)).collect();
            format!(
                "continue without them: {}, and resume with {}; objects that they hold are then unpaused without them",
                off.join(", "),
                to_accept(Risk::PluginsChanged)
            )
        }
    }
}

/// The name of a Cluster, as a flag takes it.
fn quoted_name(cluster: &Key) -> String {
    quote(&ClusterName::from_key(cluster).to_string())
}

/// The words that accept a risk for each kind: `--accept dependents-lost=Secret`.
fn risk_flags<'a>(risk: Risk, kinds: impl IntoIterator<Item = &'a GroupKind>) -> Vec<String> {
    kinds.into_iter().map(|kind| format!("--accept {}", quote(&format!("{risk}={kind}")))).collect()
}

/// The flags that exclude objects: each, or all of their kinds if there are many.
fn exclude_flags(objects: &BTreeSet<Key>) -> String {
    let parts: BTreeSet<Part> = match objects.len() > MAX_LISTED_EXCLUDES {
        true => objects.iter().map(|key| Part::of_kind(key.group_kind.clone())).collect(),
        false => objects.iter().map(Part::of_object).collect(),
    };
    parts.iter().map(exclude_flag).collect::<Vec<_>>().join(" ")
}

fn exclude_flag(part: &Part) -> String {
    format!("--exclude {}", quote(&part.to_string()))
}

fn leave_out(parts: &BTreeSet<Part>, flag: &str) -> String {
    let flags: Vec<String> =
        parts.iter().map(|part| format!("{flag} {}", quote(&part.to_string()))).collect();
    format!("leave out {}", some_of(&flags, MAX_LISTED_EXCLUDES))
}

fn switch_off(plugin: &str) -> String {
    format!("enabled = false below [plugins.{plugin}] in plugins.toml")
}

/// The clusterctl arguments that name a provider.
fn clusterctl_flag(provider: &Installation) -> String {
    let flag = match provider.kind_of.as_str() {
        "CoreProvider" => "--core",
        "BootstrapProvider" => "--bootstrap",
        "ControlPlaneProvider" => "--control-plane",
        "IPAMProvider" => "--ipam",
        "RuntimeExtensionProvider" => "--runtime-extension",
        "AddonProvider" => "--addon",
        _ => "--infrastructure",
    };
    format!("{flag} {}", quote(&format!("{}:{}", provider.name, provider.version)))
}

#[cfg(test)]
mod tests;
