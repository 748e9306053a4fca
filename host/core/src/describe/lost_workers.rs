//! Decides which Machines of a restored Cluster can be dropped: workers that were deleted after the backup.
//!
//! Dropped copies are removed while their Cluster is paused, so that no controller deletes a machine in a cloud or a rack. Then their
//! owners want the number of Machines that are left, so that no controller creates one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::body::Body;
use super::members::{Members, is_controlled_by, is_of_control_plane};
use super::node_differences::{ComparedCluster, NodeDifferences, REPLICAS, count_text};
use crate::Key;
use crate::messages::refusal::some_of;

/// Number of names of Machines that a description lists.
const MAX_NAMES: usize = 20;

/// Machines of a Cluster that can be dropped, and the replicas that their owners want afterwards.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LostWorkers {
    /// Machines without a node.
    pub machines: BTreeSet<Key>,
    /// Number of replicas of each MachineSet and MachineDeployment that wants another number.
    pub replicas: BTreeMap<Key, usize>,
}

/// Describes the change, for a user who decides about it.
impl fmt::Display for LostWorkers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let machines: Vec<&Key> = self.machines.iter().collect();
        let wants = |(owner, count): (&Key, &usize)| {
            format!("{owner} wants {}", count_text(i64::try_from(*count).unwrap_or(i64::MAX)))
        };
        let wants: Vec<String> = self.replicas.iter().map(wants).collect();
        match machines.is_empty() {
            true => write!(f, "can be corrected so that {}", some_of(&wants, MAX_NAMES)),
            false => {
                write!(f, "can be dropped: {}", some_of(&machines, MAX_NAMES))?;
                if wants.is_empty() {
                    return Ok(());
                }
                write!(f, ", so that {}", some_of(&wants, MAX_NAMES))
            }
        }
    }
}

impl ComparedCluster<'_> {
    /// Finds the Machines that can be dropped, if they and the replicas of their owners are the only differences.
    ///
    /// # Errors
    ///
    /// Returns the reason why only the owner of the Cluster can correct it.
    pub fn find_lost_workers(&self, differences: &NodeDifferences) -> Result<LostWorkers, String> {
        let members = Members::from_objects(self.objects, self.cluster);
        if members.cluster.as_ref().is_none_or(|cluster| cluster.field("/spec/topology").is_some()) {
            return Err(format!("the topology of {} creates its Machines", self.cluster));
        }
        if differences.has_unknown_control_plane() || !differences.unknown_workers.is_empty() {
            return Err("nodes without a Machine may come from a rollout".to_owned());
        }
        if let Some(machine) = differences.unprovisioned.first() {
            return Err(format!("{machine} has no provider ID yet"));
        }
        let is_lost = |machine: &Body<'_>| differences.lost.contains(&machine.object.key());
        if !differences.lost.is_empty() && members.machines.iter().all(is_lost) {
            return Err("no node has the provider ID of one of its Machines, as if it were another cluster"
                .to_owned());
        }
        let mut deployments: BTreeMap<Key, &Body<'_>> = BTreeMap::new();
        for key in &differences.lost {
            let machine = members.machines.iter().find(|machine| machine.object.key() == *key);
            if machine.is_some_and(is_of_control_plane) {
                return Err(format!("{key} belongs to the control plane"));
            }
            let deployment = machine.and_then(|machine| find_deployment(&members, machine));
            let deployment = deployment.ok_or_else(|| format!("{key} belongs to no MachineDeployment"))?;
            deployments.insert(deployment.object.key(), deployment);
        }
        for difference in &differences.replicas {
            let is_owner = |owner: &&Body<'_>| difference.key.as_ref() == Some(&owner.object.key());
            let of_set = members.sets.iter().find(is_owner).and_then(|set| deployment_of_set(&members, set));
            let deployment = members.deployments.iter().find(is_owner).or(of_set);
            let deployment =
                deployment.ok_or_else(|| format!("{} wants another number of replicas", difference.owner))?;
            deployments.insert(deployment.object.key(), deployment);
        }
        let machines: BTreeSet<Key> = differences.lost.iter().cloned().collect();
        let mut replicas = BTreeMap::new();
        for (key, deployment) in deployments {
            let mut in_service = 0;
            let mut left_of_all = 0;
            for set in members.sets_of(deployment) {
                let of_set = || members.machines_of(set).map(|machine| machine.object.key());
                in_service += usize::from(of_set().next().is_some() || set.number(REPLICAS) > Some(0));
                let left = of_set().filter(|machine| !machines.contains(machine)).count();
                left_of_all += left;
                correct_replicas(&mut replicas, set, left);
            }
            if in_service > 1 {
                return Err(format!("{key} has several MachineSets: a rollout may be under way"));
            }
            correct_replicas(&mut replicas, deployment, left_of_all);
        }
        Ok(LostWorkers { machines, replicas })
    }
}

/// Notes the number of replicas of an owner of Machines, if it wants another number.
fn correct_replicas(replicas: &mut BTreeMap<Key, usize>, owner: &Body<'_>, left: usize) {
    let wanted = owner.number(REPLICAS).and_then(|wanted| usize::try_from(wanted).ok());
    if wanted != Some(left) {
        replicas.insert(owner.object.key(), left);
    }
}

/// Returns the MachineDeployment whose MachineSet controls a Machine.
fn find_deployment<'m, 'a>(members: &'m Members<'a>, machine: &Body<'_>) -> Option<&'m Body<'a>> {
    let set = members.sets.iter().find(|set| is_controlled_by(machine, set))?;
    deployment_of_set(members, set)
}

fn deployment_of_set<'m, 'a>(members: &'m Members<'a>, set: &Body<'_>) -> Option<&'m Body<'a>> {
    members.deployments.iter().find(|deployment| is_controlled_by(set, deployment))
}
