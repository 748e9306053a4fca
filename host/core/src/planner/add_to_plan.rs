//! Adds objects from the user's files to a plan.
//!
//! An added object is copied like an object that is copied and kept ([`crate::plan::Step::is_chosen_by_user`]), from a file instead of
//! from the source. A source object of the same name is a different object and stays. Added objects are created while everything
//! else is still paused, and a rollback deletes them. Objects that controllers of Cluster API or of a provider would act on at
//! once are therefore refused. Other controllers may add finalizers, which a rollback leaves to them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::discovery::dangerous_kinds::{is_dangerous, is_pool};
use crate::discovery::implicit_links::TEMPLATE;
use crate::discovery::inventory::Inventory;
use crate::messages::refusal::Refusal;
use crate::messages::remedy::Remedy;
use crate::objects::names::GROUP_CLUSTER;
use crate::plan::{Fate, Plan, Step, Why};
use crate::request::manifest_object::Addition;
use crate::request::scope::Scope;
use crate::{GroupKind, Key, Kind, Object};

/// Appends the objects to a plan, and adds them to the inventory that the plan was made from. `served` lists the target's kinds.
pub fn add_to_plan(
    plan: &mut Plan,
    inventory: Inventory,
    additions: &[Addition],
    scope: &Scope,
    served: &BTreeMap<GroupKind, Arc<Kind>>,
) -> Inventory {
    // If nothing moves, only that is reported.
    if additions.is_empty() || plan.is_empty() {
        return inventory;
    }
    let taken: BTreeSet<Key> = plan.steps.iter().map(|step| step.key.clone()).collect();
    let mut objects = Vec::new();
    for addition in additions {
        match build_object(addition, (&inventory, scope), served, &taken) {
            Ok(object) => {
                plan.steps.push(build_step(&object, addition));
                objects.push(object);
            }
            Err(refusal) => plan.refusals.push(*refusal),
        }
    }
    let inventory = inventory.with_added(objects);
    for step in &mut plan.steps {
        if let Some(object) = inventory.index_of_key(&step.key) {
            step.object = object;
        }
    }
    inventory
}

fn build_step(object: &Object, addition: &Addition) -> Step {
    Step {
        // Set once all objects are in the inventory.
        object: 0,
        key: object.key(),
        uid: object.meta.uid.clone(),
        after: Vec::new(),
        dropped_owners: Vec::new(),
        fate: Fate::FromManifest,
        why: Why::FromManifest { file: addition.file.clone() },
        cluster: None,
        in_target: None,
        changes: Vec::new(),
        content: None,
    }
}

/// Returns the object under the names that namespaces have in the source, or the refusal to add it.
fn build_object(
    addition: &Addition,
    (inventory, scope): (&Inventory, &Scope),
    served: &BTreeMap<GroupKind, Arc<Kind>>,
    taken: &BTreeSet<Key>,
) -> Result<Object, Box<Refusal>> {
    let kind = find_kind(addition, served)?;
    let mut body = addition.body.clone();
    // A manifest has none of these fields, because no server has set them.
    if let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("uid".to_owned(), json!(addition.added.uid));
        metadata.insert("resourceVersion".to_owned(), json!("0"));
    }
    let object = Object::from_value(kind, &body).map_err(|error| {
        refuse(addition, "manifest-unreadable", error.to_string(), correction_advice(addition))
    })?;
    if is_acted_on(&object) {
        return Err(refuse(
            addition,
            "manifest-active",
            "controllers of the target would act on it before the move is committed, and tear down what it stands for if the \
             move is rolled back"
                .to_owned(),
            "create it in the target once the move is done".to_owned(),
        ));
    }
    if addition.added.object.group_kind.is_definition() {
        return Err(refuse(
            addition,
            "manifest-definition",
            "a rollback would delete it with all objects of its kind".to_owned(),
            "create it in the target before the move".to_owned(),
        ));
    }
    let object = scope.namespace_map.out_of_target().rename_object(object);
    let key = object.key();
    if taken.contains(&key) {
        let refusal = refuse(
            addition,
            "manifest-moves",
            "the move copies the source's object of that name".to_owned(),
            file_advice(addition, "remove it from"),
        );
        let parts = inventory.parts_covering(&scope.also_copy, [&key]);
        return Err(match parts.is_empty() {
            true => refusal,
            false => Box::new(refusal.with_remedy(Remedy::LeaveOutCarry { parts })),
        });
    }
    Ok(object)
}

/// Returns the kind as the target serves it, in the version that the file is written in.
fn find_kind(
    addition: &Addition,
    served: &BTreeMap<GroupKind, Arc<Kind>>,
) -> Result<Arc<Kind>, Box<Refusal>> {
    let Addition { added, version, .. } = addition;
    let name = &added.object.group_kind;
    let Some(kind) = served.get(name) else {
        let why = format!("the target does not serve {name}");
        let install = "install what defines it there (a directory has the kinds of the source)".to_owned();
        return Err(refuse(addition, "manifest-kind-missing", why, install));
    };
    if !(kind.served.is_empty() || kind.served.contains(version)) {
        let versions = kind.served.join(", ");
        let why = format!("the target serves {name} as {versions}, and not as {version}");
        return Err(refuse(addition, "manifest-kind-missing", why, correction_advice(addition)));
    }
    let why = match (kind.namespaced, &added.object.namespace) {
        (true, None) => "it has no namespace".to_owned(),
        (false, Some(_)) => format!("it has a namespace, and {name} is cluster-scoped"),
        _ => return Ok(Arc::new(Kind { version: version.clone(), ..Kind::clone(kind) })),
    };
    Err(refuse(addition, "manifest-namespace", why, correction_advice(addition)))
}

/// Returns the refusal to add an object, with the file that contains it.
fn refuse(addition: &Addition, code: &'static str, why: String, remedy: String) -> Box<Refusal> {
    let own = &addition.added.object;
    let message = format!("{own} ({}) can't be added: {why}", addition.origin());
    Box::new(Refusal { object: Some(own.clone()), ..Refusal::target(code, message, remedy) })
}

fn correction_advice(addition: &Addition) -> String {
    file_advice(addition, "correct that in")
}

/// Returns the advice to do something with a file. A move that has begun continues only with the files that it was started with.
fn file_advice(addition: &Addition, what: &str) -> String {
    format!("{what} {}; if the move has begun already, roll it back first", addition.file)
}

/// Returns true if controllers of Cluster API or of a provider act on an object. In their groups, only templates are safe.
fn is_acted_on(object: &Object) -> bool {
    let kind = &object.kind.group_kind;
    let of_cluster_api = kind.group.ends_with(GROUP_CLUSTER) || is_pool(kind) || is_dangerous(kind);
    (object.kind.labels.discover || of_cluster_api) && !kind.kind.ends_with(TEMPLATE)
}
