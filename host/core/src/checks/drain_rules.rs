//! MachineDrainRules, which no object owns: they stay, and without them Machines are drained in another way.

use std::collections::BTreeSet;

use crate::Key;
use crate::messages::refusal::some_of;
use crate::objects::kind::is_drain_rule;
use crate::objects::names::GROUP_CLUSTER;
use crate::plan::{Plan, StayReason};

/// Most rules that the warning names.
const MAX_LISTED_NAMES: usize = 5;

/// Returns the rules that stay in namespaces from which Machines move, except for rules that a user or a plugin leaves.
pub fn find_staying_rules(plan: &Plan) -> BTreeSet<&Key> {
    let moved = plan.steps.iter().filter(|step| step.treatment().can_be_paused());
    let machines = moved.filter(|step| step.key.group_kind.is(GROUP_CLUSTER, "Machine"));
    let namespaces: BTreeSet<&Option<String>> = machines.map(|step| &step.key.namespace).collect();
    let stays = plan.stays.iter().filter(|stay| {
        let is_left = matches!(stay.reason, StayReason::Excluded | StayReason::Left { .. });
        is_drain_rule(&stay.key.group_kind) && namespaces.contains(&stay.key.namespace) && !is_left
    });
    stays.map(|stay| &stay.key).collect()
}

/// Describes rules that the target doesn't have.
pub fn describe_missing_rules(rules: &BTreeSet<&Key>) -> String {
    let name = |key: &&Key| format!("{}/{}", key.namespace.as_deref().unwrap_or_default(), key.name);
    let names: Vec<String> = rules.iter().map(name).collect();
    format!(
        "MachineDrainRules that stay ({}: {}) aren't in the target, which drains Machines without them",
        names.len(),
        some_of(&names, MAX_LISTED_NAMES)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Case;

    #[test]
    fn rules_next_to_moved_machines_stay() {
        let case = Case::new(
            "Cluster ns/c
            Machine ns/m < Cluster ns/c
            MachineDrainRule ns/a
            MachineDrainRule ns/b
            MachineDrainRule ns/excluded
            MachineDrainRule ns/left
            MachineDrainRule ns/labelled ! move
            Cluster other/c
            MachineDrainRule other/d",
        );
        let plan = case.exclude(&["MachineDrainRule ns/excluded"]).leave("MachineDrainRule ns/left").plan();
        let text = "MachineDrainRules that stay (2: ns/a and ns/b) aren't in the target, which drains Machines without them";
        assert_eq!(describe_missing_rules(&find_staying_rules(&plan)), text);
        let case =
            Case::new("Cluster ns/c\nMachine ns/m < Cluster ns/c\nMachineDrainRule ns/a\nCluster ns/d");
        let rules = find_staying_rules(&case.clusters(&["ns/c"]).plan()).len();
        assert_eq!(rules, 1);
    }
}
