//! Builds the tree of a Cluster.

use std::collections::BTreeMap;

use serde::Serialize;

use super::body::Body;
use super::columns::Columns;
use super::filter::Filter;
use super::machines::{self, MachineRow, group_machines};
use super::members::{Members, is_controlled_by, is_of_control_plane};
use super::node::{NamedObject, Node, Problem, Subject, TEMPLATES};
use super::references::{
    BOOTSTRAP, CONTROL_PLANE, CONTROL_PLANE_MACHINES, INFRASTRUCTURE, POOL_BOOTSTRAP, POOL_INFRASTRUCTURE,
    parse_reference,
};
use super::resource_sets::applied_condition;
use crate::discovery::implicit_links::is_cluster;
use crate::objects::names::GROUP_CLUSTER;
use crate::{GroupKind, Key, Object};

/// Options for the content of the tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// Filters for objects whose conditions are shown one by one.
    pub conditions: Vec<Filter>,
    /// Whether MachineSets between deployments and Machines are shown.
    pub machine_sets: bool,
    /// Whether ClusterResourceSets that are bound to the Cluster are shown.
    pub resource_sets: bool,
    /// Whether templates of control planes and deployments are shown.
    pub templates: bool,
    /// Whether the parts of a Machine are shown even if they repeat its state.
    pub echo: bool,
    /// Whether Machines in the same state share a row.
    pub grouping: bool,
}

/// The objects that were read for a Cluster.
#[derive(Clone, Debug)]
pub struct Described {
    /// Key of the Cluster.
    pub cluster: Key,
    /// The Cluster, its machines, and the objects that they refer to.
    pub objects: Vec<Object>,
    /// Kinds of referenced objects that could not be read.
    pub unread: BTreeMap<GroupKind, Problem>,
}

/// A Cluster with all its objects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tree {
    /// Row of the Cluster.
    pub root: Node,
    /// Filters that match nothing in the tree, as the user typed them.
    #[serde(skip)]
    pub unmatched: Vec<String>,
}

/// Builds the tree of a Cluster.
pub fn build_tree(described: &Described, view: &View) -> Tree {
    let Described { cluster, objects, unread } = described;
    // Machines and the objects that make them are found as members: nothing refers to them by name.
    let referenced = objects.iter().filter(|object| {
        object.kind.group_kind.group != GROUP_CLUSTER || is_cluster(&object.kind.group_kind)
    });
    let bodies = referenced.map(|object| (object.key(), Body::new(object))).collect();
    let members = Members::from_objects(objects, cluster);
    let root = Builder { bodies, unread, members: &members, view }.root_node(cluster);
    let unmatched =
        view.conditions.iter().filter(|filter| !filter.is_all() && !contains_match(filter, &root));
    let unmatched = unmatched.map(|filter| filter.as_typed().to_owned()).collect();
    Tree { root, unmatched }
}

/// Returns true if a filter matches an object that has a row.
fn contains_match(filter: &Filter, node: &Node) -> bool {
    let own = matches!(&node.what, Subject::Object(named) if filter.matches_object(&named.key));
    own || node.children.iter().any(|child| contains_match(filter, child))
}

/// Returns status and reason of an object's ready condition.
fn ready_state<'b>(body: &'b Body<'_>) -> Option<(&'b str, &'b str)> {
    body.condition("Ready").map(|condition| (condition.status.as_str(), condition.reason.as_str()))
}

struct Builder<'d, 'a> {
    bodies: BTreeMap<Key, Body<'a>>,
    unread: &'a BTreeMap<GroupKind, Problem>,
    members: &'d Members<'a>,
    view: &'d View,
}

impl Builder<'_, '_> {
    fn root_node(&self, cluster: &Key) -> Node {
        let root = self.referenced_node(cluster.clone(), None);
        let Some(body) = &self.members.cluster else { return root };
        let infrastructure = parse_reference(body, INFRASTRUCTURE)
            .map(|key| self.referenced_node(key, Some("ClusterInfrastructure")));
        let children = infrastructure.into_iter().chain(self.resource_sets_node());
        root.with_children(children.chain(self.control_plane_node(body)).chain(self.workers_node()).collect())
    }

    /// Returns the row of a referenced object, without the rows below it.
    fn referenced_node(&self, key: Key, role: Option<&'static str>) -> Node {
        match self.bodies.get(&key) {
            Some(body) => self.object_node(body, role),
            None => {
                let problem = self.unread.get(&key.group_kind).cloned().unwrap_or_else(Problem::not_found);
                let problem = Some(problem);
                Node::new(Subject::Object(NamedObject { key, role, version: None, deleting: false, problem }))
            }
        }
    }

    fn object_node(&self, body: &Body<'_>, role: Option<&'static str>) -> Node {
        let is_control_plane = role == Some("ControlPlane");
        let kind = &body.object.kind.group_kind;
        let version = match kind.kind.as_str() {
            _ if is_control_plane => body.text("/spec/version"),
            _ if role.is_some() => None,
            "Cluster" => body.text("/spec/topology/version"),
            "Machine" => body.text("/spec/version"),
            _ => body.text("/spec/template/spec/version"),
        };
        let named = NamedObject {
            key: body.object.key(),
            role,
            version: version.map(str::to_owned),
            deleting: body.object.meta.is_being_deleted(),
            problem: None,
        };
        let filter = self.view.conditions.iter().find(|filter| filter.matches_object(&named.key));
        let columns = Columns::from_body(body, is_control_plane);
        Node::new(Subject::Object(named))
            .with_columns(columns, filter.map(|filter| filter.select_conditions(body.conditions())))
    }

    /// Returns the row that Machines share. Machines whose conditions the user asked for never share one.
    fn group_node(machines: &[&Body<'_>]) -> Node {
        let columns = machines::sum_columns(machines);
        Node::new(Subject::Machines(machines::sorted_names(machines))).with_columns(columns, None)
    }

    fn resource_sets_node(&self) -> Option<Node> {
        if !(self.view.resource_sets && self.members.is_bound()) {
            return None;
        }
        let sets = self.members.resource_sets().map(|(key, bound)| {
            // The binding covers this Cluster. The set's own conditions cover all Clusters and can't replace it.
            let columns = Columns { condition: applied_condition(bound), ..Columns::default() };
            Node { columns, ..self.referenced_node(key, Some("ClusterResourceSet")) }
        });
        Some(Node::new(Subject::Heading("ClusterResourceSets")).with_children(sets.collect()))
    }

    /// Returns the control plane with its Machines. Machines of a control plane that no Cluster refers to have a row too.
    fn control_plane_node(&self, cluster: &Body<'_>) -> Option<Node> {
        let own: Vec<&Body<'_>> =
            self.members.machines.iter().filter(|machine| is_of_control_plane(machine)).collect();
        let machines = self.machine_nodes(&own);
        let Some(key) = parse_reference(cluster, CONTROL_PLANE) else {
            return (!own.is_empty())
                .then(|| Node::new(Subject::Heading("ControlPlane")).with_children(machines));
        };
        let templates = self.bodies.get(&key).and_then(|body| {
            let template = CONTROL_PLANE_MACHINES.iter().find_map(|path| parse_reference(body, path))?;
            self.templates_node([(Some(template), "MachineInfrastructureTemplate")])
        });
        let children = machines.into_iter().chain(templates).collect();
        Some(self.referenced_node(key, Some("ControlPlane")).with_children(children))
    }

    /// Returns all objects that make workers, and the workers that no object makes.
    fn workers_node(&self) -> Option<Node> {
        let Members { deployments, pools, sets, machines, .. } = self.members;
        let of_no_deployment =
            |set: &&Body<'_>| !deployments.iter().any(|deployment| is_controlled_by(set, deployment));
        let mut children: Vec<Node> =
            deployments.iter().map(|deployment| self.deployment_node(deployment)).collect();
        children.extend(pools.iter().map(|pool| self.pool_node(pool)));
        children.extend(sets.iter().filter(of_no_deployment).map(|set| self.machine_set_node(set)));
        let left: Vec<&Body<'_>> = machines
            .iter()
            .filter(|machine| !is_of_control_plane(machine))
            .filter(|machine| !pools.iter().chain(sets).any(|maker| is_controlled_by(machine, maker)))
            .collect();
        if !left.is_empty() {
            let left = left.into_iter().map(|machine| self.machine_node(machine)).collect();
            children.push(Node::new(Subject::Heading("Other")).with_children(left));
        }
        (!children.is_empty()).then(|| Node::new(Subject::Heading("Workers")).with_children(children))
    }

    fn deployment_node(&self, deployment: &Body<'_>) -> Node {
        let sets: Vec<&Body<'_>> =
            self.members.sets.iter().filter(|set| is_controlled_by(set, deployment)).collect();
        let mut children: Vec<Node> = if self.view.machine_sets {
            sets.into_iter().map(|set| self.machine_set_node(set)).collect()
        } else {
            let made: Vec<&Body<'_>> = sets.into_iter().flat_map(|set| self.find_machines_of(set)).collect();
            self.machine_nodes(&made)
        };
        children.extend(self.templates_node([
            (parse_reference(deployment, POOL_BOOTSTRAP), "BootstrapConfigTemplate"),
            (parse_reference(deployment, POOL_INFRASTRUCTURE), "MachineInfrastructureTemplate"),
        ]));
        self.object_node(deployment, None).with_children(children)
    }

    fn machine_set_node(&self, set: &Body<'_>) -> Node {
        self.object_node(set, None).with_children(self.machine_nodes(&self.find_machines_of(set)))
    }

    fn pool_node(&self, pool: &Body<'_>) -> Node {
        let node = self.object_node(pool, None);
        let mut children = self.machine_nodes(&self.find_machines_of(pool));
        children.extend(self.part_nodes(
            pool,
            [(POOL_BOOTSTRAP, "BootstrapConfig"), (POOL_INFRASTRUCTURE, "MachinePoolInfrastructure")],
        ));
        node.with_children(children)
    }

    fn machine_node(&self, machine: &Body<'_>) -> Node {
        let parts = [(INFRASTRUCTURE, "MachineInfrastructure"), (BOOTSTRAP, "BootstrapConfig")];
        self.object_node(machine, None).with_children(self.part_nodes(machine, parts).collect())
    }

    fn find_machines_of(&self, maker: &Body<'_>) -> Vec<&Body<'_>> {
        // Machines of the control plane are in its row.
        let own = self.members.machines.iter().filter(|machine| !is_of_control_plane(machine));
        own.filter(|machine| is_controlled_by(machine, maker)).collect()
    }

    fn machine_nodes(&self, machines: &[&Body<'_>]) -> Vec<Node> {
        if !self.view.grouping {
            return machines.iter().map(|machine| self.machine_node(machine)).collect();
        }
        let shown = group_machines(machines).into_iter().map(|shown| match shown {
            MachineRow::One(machine) => self.machine_node(machine),
            MachineRow::Several(machines) => Self::group_node(&machines),
        });
        shown.collect()
    }

    /// Returns the parts of a Machine or a pool. Parts that repeat the state of the whole are omitted unless the view shows them.
    fn part_nodes<'p>(
        &'p self,
        whole: &'p Body<'_>,
        parts: [(&'static str, &'static str); 2],
    ) -> impl Iterator<Item = Node> + 'p {
        parts.into_iter().filter_map(move |(path, role)| {
            let key = parse_reference(whole, path)?;
            let body = self.bodies.get(&key);
            let is_echo =
                body.is_some_and(|body| body.is_true("Ready") || ready_state(body) == ready_state(whole));
            (self.view.echo || !is_echo).then(|| self.referenced_node(key, Some(role)))
        })
    }

    /// Returns the templates, of which only the names are shown.
    fn templates_node<const N: usize>(&self, templates: [(Option<Key>, &'static str); N]) -> Option<Node> {
        let keys = templates.into_iter().filter_map(|(key, role)| Some((key?, Some(role))));
        let children: Vec<Node> = keys
            .map(|(key, role)| NamedObject { key, role, version: None, deleting: false, problem: None })
            .map(|named| Node::new(Subject::Object(named)))
            .collect();
        (self.view.templates && !children.is_empty())
            .then(|| Node::new(Subject::Heading(TEMPLATES)).with_children(children))
    }
}
