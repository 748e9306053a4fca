//! Makes a plan from a reading of the source, with the relations that plugins return.

use std::collections::BTreeSet;
use std::sync::Arc;

use pivot_core::GroupKind;
use pivot_core::discovery::dangerous_kinds::{is_dangerous, is_pool};
use pivot_core::messages::refusal::risks_to_accept;
use pivot_core::messages::risk::AcceptedRisks;
use pivot_core::plan::Plan;
use pivot_core::planner::make_plan;
use pivot_core::plugins::hooks::{Hook, Relation};
use pivot_core::plugins::reach::{Wishes, is_shown};
use pivot_core::plugins::relations::{Link, Need, Relations, Said};
use pivot_core::request::scope::Scope;

use crate::base::outcome::failure::Failure;
use crate::base::plugins::hooks::{HookError, Hooks};
use crate::read::objects::SourceObjects;

/// Returns the kinds and the objects that plugins want to see.
pub(crate) fn collect_wishes(plugins: &[Arc<dyn Hooks>]) -> Wishes {
    Wishes {
        kinds: plugins.iter().flat_map(|plugin| plugin.describe().kinds.iter().cloned()).collect(),
        reaches: plugins.iter().flat_map(|plugin| plugin.describe().reach.iter().cloned()).collect(),
    }
}

/// Returns the kinds that some plugin holds, restores or settles. A plugin that only looks at a kind doesn't count.
pub(crate) fn find_handled_kinds(
    plugins: &[Arc<dyn Hooks>],
    kinds: impl IntoIterator<Item = GroupKind>,
) -> BTreeSet<GroupKind> {
    let hooks = [Hook::Hold, Hook::Restore, Hook::Settle];
    kinds
        .into_iter()
        .filter(|kind| plugins.iter().any(|plugin| hooks.iter().any(|hook| plugin.changes(*hook, kind))))
        .collect()
}

/// Returns true if objects of the kind do harm when controllers of both sides have them: hosts, and pools, which assign
/// addresses.
fn acts_on_both_sides(kind: &GroupKind) -> bool {
    is_dangerous(kind) || is_pool(kind)
}

/// Calls every plugin for every object that the plugin wants to see and is allowed to see.
pub(crate) async fn collect_relations(
    source_objects: &SourceObjects,
    scope: &Scope,
    plugins: &[Arc<dyn Hooks>],
) -> Result<Relations, Failure> {
    let mut relations = Relations::default();
    for plugin in plugins {
        let description = plugin.describe();
        let name = &description.name;
        relations.reaches.insert(name.clone(), description.reach.clone());
        for object in source_objects.inventory.objects() {
            if !description.can_see(&object.kind.group_kind) || !is_shown(object, scope, &description.reach) {
                continue;
            }
            let refused = |hook, error| Failure::Hook {
                plugin: name.clone(),
                hook,
                object: Some(Box::new(object.key())),
                error,
            };
            // Some hooks are called only after something was changed.
            if let (Some(hook), Err(error)) = (description.hooks.first(), plugin.check_version(object)) {
                return Err(refused(*hook, error));
            }
            if !description.has_hook_for(Hook::Relate, &object.kind.group_kind) {
                continue;
            }
            let said = plugin.relate(object).await.map_err(|error| refused(Hook::Relate, error))?;
            let uid = || object.meta.uid.clone();
            for relation in said {
                let reason = |reason| Said { plugin: name.clone(), reason };
                match relation {
                    Relation::Link(to) => {
                        relations.links.push(Link { object: uid(), to, plugin: name.clone() })
                    }
                    Relation::Need(what) => {
                        relations.needs.push(Need { object: uid(), what, plugin: name.clone() })
                    }
                    Relation::Share(what) if acts_on_both_sides(&what.group_kind) => {
                        let message = format!("both sides would act on {what} if it were shared");
                        let error = HookError { code: "not-shareable".to_owned(), message };
                        return Err(refused(Hook::Relate, error));
                    }
                    Relation::Share(what) => {
                        if let Some(shared) = source_objects.inventory.get_by_key(&what) {
                            let why = format!("{} uses it, and others may", object.key());
                            relations.keeps.entry(shared.meta.uid.clone()).or_insert_with(|| reason(why));
                        }
                        relations.needs.push(Need { object: uid(), what, plugin: name.clone() })
                    }
                    // The first plugin that wants it counts: the operator chooses their order.
                    Relation::Leave(why) => {
                        relations.leaves.entry(uid()).or_insert_with(|| reason(why));
                    }
                    Relation::Keep(why) => drop(relations.keeps.entry(uid()).or_insert_with(|| reason(why))),
                }
            }
        }
    }
    Ok(relations)
}

/// Returns the accepted risks without which the planner would refuse. Risks of the later checks are not among them.
pub(crate) fn find_needed_risks(
    source_objects: &SourceObjects,
    scope: &Scope,
    relations: &Relations,
) -> AcceptedRisks {
    if scope.accept.is_empty() {
        return AcceptedRisks::default();
    }
    let strict = Scope { accept: AcceptedRisks::default(), ..scope.clone() };
    let plan = make_plan(&source_objects.inventory, &strict, relations, &source_objects.elsewhere);
    risks_to_accept(&plan.refusals)
}

/// Makes the plan. Also returns the relations that plugins gave.
pub(crate) async fn plan_with_plugins(
    source_objects: &SourceObjects,
    scope: &Scope,
    plugins: &[Arc<dyn Hooks>],
) -> Result<(Plan, Relations), Failure> {
    let relations = collect_relations(source_objects, scope, plugins).await?;
    Ok((make_plan(&source_objects.inventory, scope, &relations, &source_objects.elsewhere), relations))
}
