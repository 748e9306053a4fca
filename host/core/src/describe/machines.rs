//! Rows of Machines. Machines in the same state share a row, so that differences are visible.

use std::collections::BTreeMap;

use super::body::Body;
use super::columns::Columns;
use super::conditions::Condition;

/// Common state of the Machines of a row: status and reason of the conditions that count them.
type MachineState = [Option<(String, String)>; 3];

/// Conditions that count a Machine.
const COUNTED_CONDITIONS: [&str; 3] = ["Available", "Ready", "UpToDate"];

/// The Machines of one row.
pub(super) enum MachineRow<'m, 'a> {
    One(&'m Body<'a>),
    Several(Vec<&'m Body<'a>>),
}

/// Groups Machines in the same state.
pub(super) fn group_machines<'m, 'a>(machines: &[&'m Body<'a>]) -> Vec<MachineRow<'m, 'a>> {
    let mut groups: BTreeMap<MachineState, Vec<&'m Body<'a>>> = BTreeMap::new();
    for machine in machines {
        groups.entry(machine_state(machine)).or_default().push(machine);
    }
    let shown = groups.into_values().map(|group| match group.as_slice() {
        [one] => MachineRow::One(one),
        _ => MachineRow::Several(group),
    });
    shown.collect()
}

fn machine_state(machine: &Body<'_>) -> MachineState {
    COUNTED_CONDITIONS.map(|kind| machine.condition(kind).map(|one| (one.status.clone(), one.reason.clone())))
}

/// Returns the names of Machines, in order.
pub(super) fn sorted_names(machines: &[&Body<'_>]) -> Vec<String> {
    let mut names: Vec<String> = machines.iter().map(|machine| machine.object.meta.name.clone()).collect();
    names.sort();
    names
}

/// Returns the sums of the Machines' columns.
pub(super) fn sum_columns(machines: &[&Body<'_>]) -> Columns {
    let count = |of: fn(&Columns) -> Option<i64>| {
        let counted = machines.iter().map(|machine| of(&Columns::from_body(machine, false)));
        counted.reduce(|one, other| Some(one?.saturating_add(other?))).flatten()
    };
    Columns {
        // The name of the row contains their number.
        replicas: None,
        available: count(|one| one.available),
        ready: count(|one| one.ready),
        up_to_date: count(|one| one.up_to_date),
        condition: common_ready_condition(machines),
    }
}

/// Returns the common condition since its first transition. Messages differ and are omitted.
fn common_ready_condition(machines: &[&Body<'_>]) -> Option<Condition> {
    let all = || machines.iter().filter_map(|machine| machine.condition("Ready"));
    let last_transition_time = all().filter_map(|condition| condition.last_transition_time.clone()).min();
    Some(Condition { message: String::new(), last_transition_time, ..all().next()?.clone() })
}
