//! The host's table of patches, run through the harness.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::Hook;
use crate::patch::apply_merge_patch;
use crate::prelude::*;
use crate::test::Harness;

const HOST: Kind = Kind::new("example.io", "Host");

/// Returns the patch in its configuration from every hook.
#[derive(Default, Deserialize)]
struct Hosts {
    /// As text: a configuration can't contain null.
    patch: String,
}

impl Hosts {
    fn patch(&self, object: &Object) -> Patch {
        let patch: Value = serde_json::from_str(&self.patch).unwrap();
        object.patch().edit_value(|object| apply_merge_patch(object, &patch))
    }
}

impl Plugin for Hosts {
    fn about() -> About {
        About::new("hosts", "0.1.0", "Patches.").holds(HOST).adapts(HOST).restores(HOST).settles(HOST)
    }

    fn configure() -> Result<Self> {
        config::get()
    }

    fn hold(&self, object: &Object) -> Result<Patch> {
        Ok(self.patch(object))
    }

    fn adapt(&self, object: &Object) -> Result<Patch> {
        Ok(self.patch(object))
    }

    fn restore(&self, _: &Object, created: &Object) -> Result<Restoration> {
        Ok(self.patch(created).into())
    }

    fn settle(&self, object: &Object) -> Result<Settlement> {
        let patch = self.patch(object);
        Ok(if patch.is_empty() { Settlement::Done } else { patch.into() })
    }
}

crate::export!(Hosts, hooks = [hold, adapt, restore, settle]);

/// An object that has what the patch removes.
fn host(patch: &Value) -> Object {
    let object = Object::from(json!({
        "apiVersion": "example.io/v1", "kind": "Host", "metadata": {"name": "a", "namespace": "n", "uid": "1"},
    }));
    let leaves = pivot_bounds::patch_leaves(patch);
    let gone = leaves.iter().filter(|(path, value)| value.is_null() && object.get(path).is_none());
    gone.fold(object.patch(), |patch, (path, _)| patch.set(path, "was")).patched_object()
}

#[test]
fn harness_and_host_reject_the_same_patches() {
    let cases: Vec<(String, Value, bool, String)> =
        serde_json::from_str(include_str!("../../../bounds/cases.json")).unwrap();
    for (hook, patch, allowed, about) in cases {
        let host = host(&patch);
        let mut harness = Harness::<Hosts>::new();
        harness.set_config(json!({"patch": patch.to_string()})).add_to_source(host.clone());
        let hooks = [Hook::Hold, Hook::Adapt, Hook::Restore, Hook::Settle];
        let hook = hooks.into_iter().find(|known| known.as_str() == hook).unwrap();
        let given = catch_unwind(AssertUnwindSafe(|| match hook {
            Hook::Hold => harness.hold(host),
            Hook::Adapt => harness.adapt(host),
            Hook::Restore => harness.restore(host.clone(), host),
            _ => harness.settle(host).map(|settlement| match settlement {
                Settlement::Patch(patch) => patch,
                other => panic!("{other:?}"),
            }),
        }));
        match given {
            Ok(given) => {
                assert_eq!(given.unwrap().to_value().as_ref(), Some(&patch), "{hook:?}: {about}");
                assert!(allowed, "{hook:?} may not touch {about}: {patch}");
            }
            Err(panic) => {
                let message = panic.downcast::<String>().unwrap();
                assert!(message.contains("its patch touches"), "{hook:?}: {about}: {message}");
                assert!(!allowed, "{hook:?} may touch {about}: {message}");
            }
        }
    }
}
