//! `pivot-host explain [CODE]`: cause, danger and alternatives of a risk.

use pivot_core::messages::risk::Risk;
use serde_json::{Value, json};

use crate::args::to_accept;
use crate::exit;
use crate::output::{Document, Output, Text};

/// Facts about a risk that a user should know before accepting it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Explanation {
    /// When pivot-host asks for the risk to be accepted.
    cause: &'static str,
    /// Possible damage.
    danger: &'static str,
    /// Ways without the risk.
    alternatives: &'static str,
}

/// Prints one risk, or a line for each.
pub(crate) fn run(risk: Option<Risk>, output: &Output) -> u8 {
    let risks = risk.map_or_else(|| Risk::ALL.to_vec(), |risk| vec![risk]);
    let document =
        Document::new("Risks", json!({"risks": risks.iter().map(risk_document).collect::<Vec<_>>()}));
    output.result(&document, || risk.map_or_else(list_risks, explain_risk));
    exit::DONE
}

fn risk_document(risk: &Risk) -> Value {
    let Explanation { cause, danger, alternatives } = explanation_of(*risk);
    json!({
        "code": risk, "takesKinds": risk.takes_kinds(), "accept": to_accept(*risk), "summary": risk.summary(),
        "cause": cause, "danger": danger, "alternatives": alternatives,
    })
}

/// One line for each risk.
fn list_risks() -> Text {
    let width = Risk::ALL.iter().map(|risk| risk.code().len()).max().unwrap_or(0);
    let mut text = Text::default();
    for risk in Risk::ALL {
        text.add_line(format!("{:<width$}  {}", risk.code(), risk.summary()));
    }
    text
}

/// The explanation of a risk for people.
pub(crate) fn explain_risk(risk: Risk) -> Text {
    let Explanation { cause, danger, alternatives } = explanation_of(risk);
    let mut text = Text::default();
    text.add_line(format!("{risk}: {}", risk.summary()));
    for (head, words) in [("cause", cause), ("danger", danger), ("instead", alternatives)] {
        text.add_line(format!("  {head:<8} {words}"));
    }
    text.add_line(format!("  {:<8} {}", "accept", to_accept(risk)));
    text
}

fn explanation_of(risk: Risk) -> Explanation {
    let (cause, danger, alternatives) = match risk {
        Risk::OwnerDropped => (
            "An object moves, and one of its owners stays, or owners form a circle.",
            "The copy has no reference to that owner. Deleting the owner no longer deletes the copy, and controllers that \
             follow the reference don't find the owner.",
            "Move the owner, too. Or exclude the object with --exclude.",
        ),
        Risk::DependentsLost => (
            "An object stays in the source, and its owner is deleted there after the move.",
            "The source's garbage collector deletes the object. It exists in neither cluster afterwards.",
            "Copy the object with --also-copy, or label its kind so that it moves. Or remove its owner reference first.",
        ),
        Risk::NoPlugin => (
            "A kind that is dangerous to move, such as BareMetalHost, moves, and no plugin handles it. Or a system \
             outside of Cluster API manages an object that moves (annotation cluster.x-k8s.io/managed-by).",
            "The copy has no status. The target's controllers may treat a running host as new and wipe it. The source's \
             controllers may power the host off when its object is deleted.",
            "Pass the plugin for the kind with --plugins.",
        ),
        Risk::Shared => (
            "An object is used by Clusters that move and by Clusters that stay.",
            "Both sides use the object. A pool gives out the same address twice.",
            "Move all Clusters that use the object. Or divide a pool's addresses between the two sides first.",
        ),
        Risk::OldNamespace => (
            "--map-namespace renames a namespace, and an object contains the old name in a field that pivot-host doesn't know.",
            "The copy refers to a namespace that doesn't exist in the target, or to another one of that name.",
            "Change the field before the move, or keep the namespace's name.",
        ),
        Risk::Dangling => (
            "An object that moves names another one, such as its credentials, which stays and isn't in the target.",
            "The target's controllers can't reconcile the moved object until the other one exists there.",
            "Copy the object with --also-copy, label it so that it moves, or enable a plugin that brings it along. Or create it in the target first.",
        ),
        Risk::Gitops => (
            "Flux, Argo CD or Sveltos applies an object that moves, and the owner in the source isn't suspended.",
            "The tool may unpause the object, or create it again after the move. Two management clusters then control \
             the same machines. The code accepts each owner of the kind, also those that become active later.",
            "Suspend the owner before the move. Before you unsuspend it, remove the objects from its Git repository.",
        ),
        Risk::AlreadyPaused => (
            "A Cluster was paused before the move.",
            "The copy stays paused: no controller reconciles it until a user unpauses it. Nothing shows that the target's \
             controllers can take over.",
            "Find out why the Cluster is paused, and unpause it before the move.",
        ),
        Risk::Unprovisioned => (
            "A Cluster's infrastructure or control plane, or a Machine, is still being provisioned.",
            "A controller's work may be done twice: a second machine or load balancer may be created.",
            "Wait until it is provisioned: --wait-for-provisioning.",
        ),
        Risk::SourceMayRun => (
            "The source is a directory that wasn't written by a handover.",
            "If another management cluster still runs the objects, two management clusters control the same machines.",
            "Write the directory with `handover start`, which leaves the source paused.",
        ),
        Risk::ExistingDiffers => (
            "An object that moves is used by others, too, and exists in the target with other content.",
            "The moved Clusters use the target's object. A template or an identity with other content changes them.",
            "Compare both objects, and make them equal. Or give the source's object another name.",
        ),
        Risk::PauseUnchecked => (
            "Controllers of the source have to acknowledge the pause before objects are copied.",
            "A controller that still works changes objects or machines after they were copied.",
            "Wait longer with --pause-timeout. Or scale the source's controllers to 0, and accept the risk then.",
        ),
        Risk::Unseen => (
            "Controllers of the target have to write a condition on the paused copies before the move is committed. A provider whose \
             controllers write none needs its Deployments available.",
            "If no controller of the target watches these objects, the move stops after the commit, and can't be rolled back any more.",
            "Check that the provider's Deployment runs in the target, and watches the namespace. Then resume, which waits again.",
        ),
        Risk::Unverified => (
            "The target's controllers of a kind haven't shown that they took over.",
            "The source is deleted although no controller of the target may reconcile these objects.",
            "Check the provider's Deployment in the target. Accept the risk only for kinds that no controller ever writes to.",
        ),
        Risk::TakeoverUnchecked => (
            "The target's controllers have to show that they took over before anything is deleted from the source.",
            "The source is deleted although no controller of the target may reconcile the Clusters.",
            "Leave it out, and accept unverified=KIND.group for single kinds.",
        ),
        Risk::PluginsChanged => (
            "A committed move is continued with other plugins than it began with.",
            "Another plugin may unpause objects that the first one held, or not know how.",
            "Continue with the plugins that `status` lists.",
        ),
        Risk::CopyChanged => (
            "Copies in the target are gone before the source is deleted. Or, after the import of a handover, they have changed.",
            "If a copy was deleted or changed by mistake, the source has the last right one. Machines that only it describes keep running, and no controller manages them.",
            "Find out who deleted or changed the copies, and restore them from the source if that was a mistake. Clusters are never accepted. In moves without a handover, Secrets, hosts and objects whose controller is a Cluster aren't accepted either.",
        ),
        Risk::MaybeImported => (
            "A handover is canceled, and its directory may have been loaded into a cluster.",
            "If a management cluster imported the directory, two management clusters control the same machines.",
            "Ask the cluster that may have imported it: name it as the target of `handover cancel`.",
        ),
        Risk::WorldChanged => (
            "One side of a move went back to an earlier state. Or a copy lost the annotation that unpauses it.",
            "If the target went back, it may have run before. Machines that it created or deleted are unknown to the source, whose \
             controllers may create or delete others. If another management cluster still runs these Clusters, two control them. If the \
             source went back, `resume` pauses it, then deletes from it; machines that its controllers created or deleted since are unknown to \
             the target.",
            "Restore the side that went back from a later backup, and resume.",
        ),
        Risk::LeaseBroken => (
            "Another run holds the lease of the move.",
            "If that run is alive, both write until it notices.",
            "Wait: a lease that isn't renewed expires after 15 seconds.",
        ),
        Risk::WithoutSource => (
            "The source of a move doesn't answer.",
            "Nothing is deleted from the source. If it comes back, its objects are stale, and paused.",
            "Resume once the source answers.",
        ),
        Risk::WithoutTarget => (
            "The target of a move doesn't answer.",
            "The source is unpaused. Copies in the target stay, and are paused. If a user unpauses them, two management \
             clusters control the same machines.",
            "Roll back once the target answers.",
        ),
    };
    Explanation { cause, danger, alternatives }
}

#[cfg(test)]
mod tests {
    use expect_test::expect_file;

    use super::*;

    /// `UPDATE_EXPECT=1` writes the page.
    #[test]
    fn page_of_risks_has_every_risk() {
        let mut page = PAGE_BEGINS.to_owned();
        for risk in Risk::ALL {
            let Explanation { cause, danger, alternatives } = explanation_of(risk);
            page.push_str(&format!(
                "\n## {risk}\n\n`{}`: {}.\n\n- **Cause:** {}\n- **Danger:** {}\n- **Alternatives:** {}\n",
                to_accept(risk),
                risk.summary(),
                cause,
                danger,
                alternatives,
            ));
        }
        expect_file!["../../../docs/risks.md"].assert_eq(&page);
    }

    const PAGE_BEGINS: &str = "# Risks

pivot-host refuses a move, or stops it, when something could get lost. Some of these risks can be accepted. A refusal prints the risk's
code, and `pivot-host explain CODE` prints what this page has.

A risk that takes kinds is accepted for each kind: `--accept no-plugin=BareMetalHost.metal3.io`. `plan`, `move`, `resume`,
`rollback` and `handover` each accept the risks that they can use. The result, the report and the records list accepted risks. A risk that
was accepted and that the run had no use for is reported as not needed. A Pivot lists accepted risks in `options.accept`. No environment
variable accepts a risk.
";
}
