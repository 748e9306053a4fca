//! Refuses objects whose names or bodies a move can't work with.

use std::collections::BTreeMap;

use crate::discovery::inventory::Inventory;
use crate::messages::refusal::Refusal;
use crate::messages::remedy::Remedy;
use crate::messages::shell::Kubectl;
use crate::objects::pause::read_conditions;
use crate::plan::Plan;
use crate::request::validate::{
    abbreviate, find_definition_error, find_id_error, find_name_error, fold_case,
};
use crate::{Key, Object, ObjectError, Side};

/// Checks everything that moves: its names, and whether its body can be parsed.
pub fn refuse_unusable(inventory: &Inventory, plan: &Plan) -> Vec<Refusal> {
    let objects = plan.steps.iter().filter_map(|step| Some((&step.key, inventory.get(step.object)?)));
    objects.filter_map(|(key, object)| check_object(key, object)).collect()
}

fn check_object(key: &Key, object: &Object) -> Option<Refusal> {
    if object.is_too_deep() {
        return Some(Refusal::unreadable(key.clone(), &ObjectError::Deep(key.group_kind.clone())));
    }
    let namespace = key.namespace.as_deref().and_then(find_name_error);
    // The engine reads these to see whether it acknowledged its pause, and what to expect of its copy.
    if let Err(error) = read_conditions(object) {
        return Some(Refusal::unreadable(key.clone(), &error));
    }
    let odd = find_definition_error(&object.kind).or(namespace).or_else(|| find_name_error(&key.name));
    let odd = odd
        .or_else(|| find_id_error(&object.meta.uid.0))
        .or_else(|| find_id_error(&object.meta.resource_version))?;
    let message = format!("{} can't be moved: {odd}", abbreviate(&key.to_string()));
    let get = Kubectl::object(Side::Source, "get", key, &[]);
    let remedy = Remedy::kubectl("find out which API server or file it is from (", get, "), and exclude it");
    Some(Refusal::source("unusable-name", key.clone(), message, remedy))
}

/// Refuses kinds that differ only in case. Their files would collide on a case-insensitive file system.
pub fn refuse_same_file(plan: &Plan) -> Vec<Refusal> {
    let mut first: BTreeMap<(String, String), &Key> = BTreeMap::new();
    let mut refusals = Vec::new();
    let mut told = BTreeMap::new();
    for key in plan.steps.iter().map(|step| &step.key) {
        let other = *first.entry(fold_case(&key.group_kind)).or_insert(key);
        if other.group_kind != key.group_kind && told.insert(&key.group_kind, ()).is_none() {
            let (kind, same) = (&key.group_kind, &other.group_kind);
            let message = format!(
                "{kind} of {key} and {same} of {other} differ only in case: some file systems can't keep both"
            );
            let remedy = "move one of them without the other, or move to a cluster";
            refusals.push(Refusal::source("kinds-differ-in-case", key.clone(), message, remedy));
        }
    }
    refusals
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::Kind;
    use crate::objects::merge;
    use crate::testing::{Case, kind, objects};

    /// A Machine with a patched body and, optionally, a changed kind.
    fn refused(patch: &Value, change: impl FnOnce(&mut Kind)) -> Vec<String> {
        let mut objects = objects("Machine ns/m ! move");
        let machine = objects.remove(0);
        let mut kind = Kind::clone(&machine.kind);
        change(&mut kind);
        let mut body = machine.value().unwrap();
        merge::apply_patch(&mut body, patch);
        let mut case = Case::new("");
        case.inventory = Inventory::new(vec![Object::from_value(kind.into(), &body).unwrap()]);
        refuse_unusable(&case.inventory, &case.plan()).iter().map(|refusal| refusal.to_string()).collect()
    }

    /// Lines of the release list contain these.
    #[test]
    fn names_with_line_breaks_are_refused() {
        assert!(refused(&json!({}), |_| {}).is_empty());
        for (field, value) in [
            ("uid", "u 1 d - - -\no 0 kube-system victim v 1 d - - -"),
            ("uid", ""),
            ("resourceVersion", "1 k"),
            ("resourceVersion", ""),
            ("name", "m u 1 d - - -"),
            ("namespace", ".."),
        ] {
            let told = refused(&json!({"metadata": {field: value}}), |_| {});
            assert!(told.len() == 1 && told[0].contains("can't be moved"), "{field}: {told:?}");
            assert!(!told[0].contains('\n') && told[0].len() < 700, "{told:?}");
        }
        let changes: [fn(&mut Kind); 3] = [
            |kind| kind.plural = "../secrets".into(),
            |kind| kind.version = "v1\nk".into(),
            |kind| kind.group_kind.kind = "Ma chine".into(),
        ];
        for change in changes {
            assert_eq!(refused(&json!({}), change).len(), 1);
        }
    }

    #[test]
    fn deeply_nested_bodies_are_refused() {
        let nested = |levels: usize| {
            let text = format!("{}1{}", r#"{"a":["#.repeat(levels), "]}".repeat(levels));
            let mut body = objects("Machine ns/m ! move").remove(0).value().unwrap();
            body["spec"] = json!("HERE");
            let text = body.to_string().replace("\"HERE\"", &text);
            let object = Object::parse(kind("Machine"), text.into()).unwrap();
            let parsed = object.value().is_ok();
            let mut case = Case::new("");
            case.inventory = Inventory::new(vec![object]);
            (parsed, refuse_unusable(&case.inventory, &case.plan()).len())
        };
        assert_eq!(nested(50), (true, 0));
        for levels in [63, 64, 100, 100_000] {
            assert_eq!(nested(levels).1, 1, "{levels}");
        }
        assert!(!nested(64).0, "so it would be found out only when it is copied");
        // Brackets in strings don't count.
        assert!(refused(&json!({"spec": {"a": "[{\\\"".repeat(1_000)}}), |_| {}).is_empty());
    }

    #[test]
    fn kinds_differing_in_case_are_refused_once() {
        let of = |kind_name: &str, name: &str| {
            let machine = objects("Machine ns/m ! move").remove(0);
            let mut kind = Kind::clone(&machine.kind);
            kind.group_kind.kind = kind_name.into();
            let mut body = machine.value().unwrap();
            merge::apply_patch(
                &mut body,
                &json!({"metadata": {"name": name, "uid": format!("{kind_name}-{name}")}}),
            );
            Object::from_value(kind.into(), &body).unwrap()
        };
        let mut case = Case::new("");
        case.inventory = Inventory::new(vec![of("Machine", "a"), of("Machine", "b"), of("Other", "a")]);
        assert!(refuse_same_file(&case.plan()).is_empty());
        case.inventory = Inventory::new(vec![of("Machine", "a"), of("MACHINE", "a"), of("MACHINE", "b")]);
        let told: Vec<String> =
            refuse_same_file(&case.plan()).iter().map(|refusal| refusal.message.clone()).collect();
        assert_eq!(told.len(), 1);
        assert!(told[0].contains("differ only in case"), "{told:?}");
    }
}
