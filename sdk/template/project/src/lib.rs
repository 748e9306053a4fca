//! Leaves ConfigMaps with a certain label in the source: those that describe the management cluster itself.

use pivot_sdk::prelude::*;
use serde::Deserialize;

const CONFIG_MAP: Kind = Kind::core("ConfigMap");

/// The configuration: the fields of `[plugins.{{name}}.config]`.
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Stays {
    /// The label of ConfigMaps that stay.
    label: String,
}

impl Default for Stays {
    fn default() -> Self {
        Self { label: "example.com/stays".to_owned() }
    }
}

impl Plugin for Stays {
    fn about() -> About {
        pivot_sdk::about!().sees(CONFIG_MAP)
    }

    fn configure() -> Result<Self> {
        config::get()
    }

    fn relate(&self, object: &Object) -> Result<Vec<Relation>> {
        match object.label(&self.label) {
            Some(_) => Ok(vec![Relation::leave(format!("it is labelled {}", self.label))]),
            None => Ok(vec![]),
        }
    }
}

pivot_sdk::export!(Stays, hooks = [relate]);

#[cfg(test)]
mod tests {
    use pivot_sdk::test::Harness;
    use serde_json::{Value, json};

    use super::*;

    fn config_map(labels: Value) -> Value {
        let meta = json!({"name": "site", "namespace": "default", "labels": labels});
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta})
    }

    #[test]
    fn labelled_objects_stay() {
        let mut host = Harness::<Stays>::new();
        let labelled = host.relate(config_map(json!({"example.com/stays": "true"}))).unwrap();
        assert_eq!(labelled, [Relation::leave("it is labelled example.com/stays")]);
        assert_eq!(host.relate(config_map(json!({}))).unwrap(), []);
    }

    #[test]
    fn operator_can_choose_the_label() {
        let mut host = Harness::<Stays>::new();
        host.set_config(json!({"label": "site/here"}));
        assert_eq!(host.relate(config_map(json!({"site/here": ""}))).unwrap().len(), 1);
        let error = host.set_config(json!({"lable": "x"})).relate(config_map(json!({}))).unwrap_err();
        assert!(error.message.contains("unknown field `lable`"), "{error}");
    }
}
