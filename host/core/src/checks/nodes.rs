//! Checks whether a node of the target can run the controllers that the moved objects need.

use serde::Deserialize;

use crate::Object;

/// Keys of the taints that the Deployments of providers tolerate if their effect is NoSchedule.
const CONTROL_PLANE: [&str; 2] = ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"];

/// Returns true if the node is ready and accepts a Pod of a provider.
pub fn can_run_controllers(node: &Object) -> bool {
    #[derive(Deserialize)]
    struct View {
        #[serde(default)]
        spec: Spec,
        #[serde(default)]
        status: Status,
    }
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Spec {
        unschedulable: bool,
        taints: Vec<Taint>,
    }
    #[derive(Deserialize)]
    struct Taint {
        key: String,
        effect: String,
    }
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Status {
        conditions: Vec<Condition>,
    }
    #[derive(Deserialize)]
    struct Condition {
        #[serde(rename = "type")]
        kind: String,
        status: String,
    }
    impl Taint {
        fn is_tolerated(&self) -> bool {
            match self.effect.as_str() {
                "NoSchedule" => CONTROL_PLANE.contains(&self.key.as_str()),
                effect => effect != "NoExecute",
            }
        }
    }
    node.view::<View>().is_ok_and(|View { spec, status }| {
        !spec.unschedulable
            && spec.taints.iter().all(Taint::is_tolerated)
            && status.conditions.iter().any(|c| c.kind == "Ready" && c.status == "True")
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::kind;

    #[test]
    fn untolerated_taints_exclude_a_node() {
        let ready =
            || json!([{"type": "DiskPressure", "status": "False"}, {"type": "Ready", "status": "True"}]);
        let tainted = |key: &str, effect: &str| json!({"taints": [{"key": key, "effect": effect}]});
        let [control_plane, master] = CONTROL_PLANE;
        let both = json!({"taints": [
            {"key": control_plane, "effect": "NoSchedule"}, {"key": "gpu", "value": "a", "effect": "NoExecute"},
        ]});
        for (spec, conditions, expected) in [
            (json!({}), ready(), true),
            (json!({}), json!([{"type": "Ready", "status": "Unknown"}]), false),
            (json!({}), json!([]), false),
            (json!({"unschedulable": true}), ready(), false),
            (tainted("gpu", "PreferNoSchedule"), ready(), true),
            (tainted("gpu", "NoSchedule"), ready(), false),
            (tainted("gpu", "NoExecute"), ready(), false),
            (tainted(control_plane, "NoSchedule"), ready(), true),
            (tainted(master, "NoSchedule"), ready(), true),
            (tainted(control_plane, "NoExecute"), ready(), false),
            (both, ready(), false),
        ] {
            let body: Value =
                json!({"metadata": {"name": "n"}, "spec": spec, "status": {"conditions": conditions}});
            let node = Object::from_value(kind("Node"), &body).unwrap();
            assert_eq!(can_run_controllers(&node), expected, "{body}");
        }
    }
}
