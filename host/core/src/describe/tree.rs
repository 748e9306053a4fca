//! Puts a Cluster's objects into their places.

use std::collections::BTreeMap;

use serde::Serialize;

use super::body::Body;
use super::columns::Columns;
use super::conditions::Condition;
use super::filter::Filter;
use super::machines::{self, Shown, grouped};
use super::members::{Members, is_controlled_by, is_of_control_plane};
use super::node::{Named, Node, Problem, TEMPLATES, What};
use super::references::{
    BOOTSTRAP, CONTROL_PLANE, CONTROL_PLANE_MACHINES, INFRASTRUCTURE, POOL_BOOTSTRAP, POOL_INFRASTRUCTURE,
    reference,
};
use super::resource_sets::applied;
use crate::names::GROUP_CLUSTER;
use crate::soft::is_cluster;
use crate::{GroupKind, Key, Object};

/// How much is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// Whose conditions are shown one by one.
    pub conditions: Vec<Filter>,
    /// MachineSets between deployments and Machines.
    pub machine_sets: bool,
    /// Sets of resources that are bound to the Cluster.
    pub resource_sets: bool,
    /// Templates of control planes and deployments.
    pub templates: bool,
    /// What a Machine is made of, even if it says nothing that the Machine doesn't say.
    pub echo: bool,
    /// Machines that say the same in one row.
    pub grouping: bool,
}

/// What was read of a Cluster.
#[derive(Clone, Debug)]
pub struct Described {
    /// The Cluster.
    pub cluster: Key,
    /// It, its machines, and what they refer to.
    pub objects: Vec<Object>,
    /// Kinds that are referred to, and could not be read.
    pub unread: BTreeMap<GroupKind, Problem>,
}

/// A Cluster with all that belongs to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tree {
    /// The Cluster's row.
    pub root: Node,
    /// Filters that select nothing in the tree, as they were typed.
    #[serde(skip)]
    pub unmatched: Vec<String>,
}

/// The tree of a Cluster.
pub fn describe(described: &Described, view: &View) -> Tree {
    let Described { cluster, objects, unread } = described;
    // Machines and what makes them are found as members: nothing refers to them by name.
    let referred_to = |object: &&Object| {
        object.kind.group_kind.group != GROUP_CLUSTER || is_cluster(&object.kind.group_kind)
    };
    let bodies = objects.iter().filter(referred_to).map(|object| (object.key(), Body::of(object))).collect();
    let members = Members::of(objects, cluster);
    let root = Builder { bodies, unread, members: &members, view }.root(cluster);
    let unmatched = view.conditions.iter().filter(|filter| !filter.is_all() && !selects_any(filter, &root));
    let unmatched = unmatched.map(|filter| filter.typed().to_owned()).collect();
    Tree { root, unmatched }
}

/// Whether a filter selects anything that has a row.
fn selects_any(filter: &Filter, node: &Node) -> bool {
    let own = matches!(&node.what, What::Object(named) if filter.selects(&named.key));
    own || node.children.iter().any(|child| selects_any(filter, child))
}

struct Builder<'d, 'a> {
    bodies: BTreeMap<Key, Body<'a>>,
    unread: &'a BTreeMap<GroupKind, Problem>,
    members: &'d Members<'a>,
    view: &'d View,
}

impl Builder<'_, '_> {
    fn root(&self, cluster: &Key) -> Node {
        let root = self.referred_to(cluster.clone(), None);
        let Some(body) = &self.members.cluster else { return root };
        let infrastructure =
            reference(body, INFRASTRUCTURE).map(|key| self.referred_to(key, Some("ClusterInfrastructure")));
        let children = infrastructure.into_iter().chain(self.resource_sets());
        root.with(children.chain(self.control_plane(body)).chain(self.workers()).collect())
    }

    /// An object that another one refers to, without what is below it.
    fn referred_to(&self, key: Key, role: Option<&'static str>) -> Node {
        match self.bodies.get(&key) {
            Some(body) => self.object(body, role),
            None => {
                let problem = self.unread.get(&key.group_kind).cloned().unwrap_or_else(Problem::missing);
                let problem = Some(problem);
                Node::new(What::Object(Named { key, role, version: None, deleting: false, problem }))
            }
        }
    }

    fn object(&self, body: &Body<'_>, role: Option<&'static str>) -> Node {
        let is_control_plane = role == Some("ControlPlane");
        let kind = &body.object.kind.group_kind;
        let version = match kind.kind.as_str() {
            _ if is_control_plane => body.text("/spec/version"),
            _ if role.is_some() => None,
            "Cluster" => body.text("/spec/topology/version"),
            "Machine" => body.text("/spec/version"),
            _ => body.text("/spec/template/spec/version"),
        };
        let named = Named {
            key: body.object.key(),
            role,
            version: version.map(str::to_owned),
            deleting: body.object.meta.deleting(),
            problem: None,
        };
        let filter = self.view.conditions.iter().find(|filter| filter.selects(&named.key));
        let columns = Columns::of(body, is_control_plane);
        Node::new(What::Object(named)).saying(columns, filter.map(|filter| filter.shown(body.conditions())))
    }

    /// Machines that share a row. Whose conditions are wanted one by one has no such row.
    fn several(machines: &[&Body<'_>]) -> Node {
        let columns = machines::columns(machines);
        Node::new(What::Machines(machines::names(machines))).saying(columns, None)
    }

    fn resource_sets(&self) -> Option<Node> {
        if !(self.view.resource_sets && self.members.is_bound()) {
            return None;
        }
        let set = |(key, bound)| {
            // That is about this Cluster: the set's own conditions are about all Clusters, and don't stand in for it.
            let columns = Columns { condition: applied(bound), ..Columns::default() };
            Node { columns, ..self.referred_to(key, Some("ClusterResourceSet")) }
        };
        let sets = self.members.resource_sets().map(set).collect();
        Some(Node::new(What::Heading("ClusterResourceSets")).with(sets))
    }

    /// The control plane with its Machines. Machines of one that no Cluster refers to still have a place.
    fn control_plane(&self, cluster: &Body<'_>) -> Option<Node> {
        let own: Vec<&Body<'_>> =
            self.members.machines.iter().filter(|machine| is_of_control_plane(machine)).collect();
        let machines = self.machines(&own);
        let Some(key) = reference(cluster, CONTROL_PLANE) else {
            return (!own.is_empty()).then(|| Node::new(What::Heading("ControlPlane")).with(machines));
        };
        let templates = self.bodies.get(&key).and_then(|body| {
            let template = CONTROL_PLANE_MACHINES.iter().find_map(|path| reference(body, path))?;
            self.templates([(Some(template), "MachineInfrastructureTemplate")])
        });
        let children = machines.into_iter().chain(templates).collect();
        Some(self.referred_to(key, Some("ControlPlane")).with(children))
    }

    /// Everything that makes Machines which are not of the control plane, and those that nothing makes.
    fn workers(&self) -> Option<Node> {
        let Members { deployments, pools, sets, machines, .. } = self.members;
        let of_no_deployment =
            |set: &&Body<'_>| !deployments.iter().any(|deployment| is_controlled_by(set, deployment));
        let mut children: Vec<Node> =
            deployments.iter().map(|deployment| self.deployment(deployment)).collect();
        children.extend(pools.iter().map(|pool| self.pool(pool)));
        children.extend(sets.iter().filter(of_no_deployment).map(|set| self.set(set)));
        let left: Vec<&Body<'_>> = machines
            .iter()
            .filter(|machine| !is_of_control_plane(machine))
            .filter(|machine| !pools.iter().chain(sets).any(|maker| is_controlled_by(machine, maker)))
            .collect();
        if !left.is_empty() {
            let left = left.into_iter().map(|machine| self.machine(machine)).collect();
            children.push(Node::new(What::Heading("Other")).with(left));
        }
        (!children.is_empty()).then(|| Node::new(What::Heading("Workers")).with(children))
    }

    fn deployment(&self, deployment: &Body<'_>) -> Node {
        let sets: Vec<&Body<'_>> =
            self.members.sets.iter().filter(|set| is_controlled_by(set, deployment)).collect();
        let mut children: Vec<Node> = if self.view.machine_sets {
            sets.into_iter().map(|set| self.set(set)).collect()
        } else {
            let made: Vec<&Body<'_>> = sets.into_iter().flat_map(|set| self.made_by(set)).collect();
            self.machines(&made)
        };
        children.extend(self.templates([
            (reference(deployment, POOL_BOOTSTRAP), "BootstrapConfigTemplate"),
            (reference(deployment, POOL_INFRASTRUCTURE), "MachineInfrastructureTemplate"),
        ]));
        self.object(deployment, None).with(children)
    }

    fn set(&self, set: &Body<'_>) -> Node {
        self.object(set, None).with(self.machines(&self.made_by(set)))
    }

    fn pool(&self, pool: &Body<'_>) -> Node {
        let node = self.object(pool, None);
        let mut children = self.machines(&self.made_by(pool));
        children.extend(self.made_of(
            pool,
            [(POOL_BOOTSTRAP, "BootstrapConfig"), (POOL_INFRASTRUCTURE, "MachinePoolInfrastructure")],
        ));
        node.with(children)
    }

    fn machine(&self, machine: &Body<'_>) -> Node {
        let parts = [(INFRASTRUCTURE, "MachineInfrastructure"), (BOOTSTRAP, "BootstrapConfig")];
        self.object(machine, None).with(self.made_of(machine, parts).collect())
    }

    fn made_by(&self, maker: &Body<'_>) -> Vec<&Body<'_>> {
        // Those of the control plane have their place.
        let own = self.members.machines.iter().filter(|machine| !is_of_control_plane(machine));
        own.filter(|machine| is_controlled_by(machine, maker)).collect()
    }

    fn machines(&self, machines: &[&Body<'_>]) -> Vec<Node> {
        if !self.view.grouping {
            return machines.iter().map(|machine| self.machine(machine)).collect();
        }
        let shown = grouped(machines).into_iter().map(|shown| match shown {
            Shown::One(machine) => self.machine(machine),
            Shown::Several(machines) => Self::several(&machines),
        });
        shown.collect()
    }

    /// What a Machine or a pool is made of; what says no more than the whole is an echo of it.
    fn made_of<'p>(
        &'p self,
        whole: &'p Body<'_>,
        parts: [(&'static str, &'static str); 2],
    ) -> impl Iterator<Item = Node> + 'p {
        let state = |condition: Option<&Condition>| {
            condition.map(|condition| (condition.status.clone(), condition.reason.clone()))
        };
        let of_whole = state(whole.condition("Ready"));
        parts.into_iter().filter_map(move |(path, role)| {
            let key = reference(whole, path)?;
            let body = self.bodies.get(&key);
            let is_echo =
                body.is_some_and(|body| body.is_true("Ready") || state(body.condition("Ready")) == of_whole);
            (self.view.echo || !is_echo).then(|| self.referred_to(key, Some(role)))
        })
    }

    /// Templates, of which only the names are shown.
    fn templates<const N: usize>(&self, templates: [(Option<Key>, &'static str); N]) -> Option<Node> {
        let named = |(key, role): (Option<Key>, &'static str)| {
            let role = Some(role);
            let named = Named { key: key?, role, version: None, deleting: false, problem: None };
            Some(Node::new(What::Object(named)))
        };
        let children: Vec<Node> = templates.into_iter().filter_map(named).collect();
        (self.view.templates && !children.is_empty())
            .then(|| Node::new(What::Heading(TEMPLATES)).with(children))
    }
}
