//! The schema of the configuration, compared with what the plugin itself accepts.

use pivot_bounds::options::{Form, OptionRow, Schema};
use serde_json::{Value, json};

use super::Harness;
use crate::{Exported, Hook};

impl<P: Exported> Harness<P> {
    /// Compares the plugin's schema with what [`Plugin::configure`](crate::Plugin::configure) accepts. Both must accept the examples, and
    /// each example with another allowed value for an option. Both must refuse an unknown option. Together, the examples must set every
    /// option.
    ///
    /// # Panics
    /// If the two differ, or an option is in no example.
    pub fn compare_schema(&mut self, examples: &[Value]) {
        let name = self.fake.about.name.clone();
        let Some(text) = P::SCHEMA else { panic!("{name}: export! names no schema") };
        let schema = Schema::parse(text).unwrap_or_else(|why| panic!("{name}: the schema is refused: {why}"));
        let default = json!({});
        for example in examples.iter().chain([&default]) {
            self.require_agreement(&schema, example, true);
        }
        for OptionRow { name: path, schema: option, required: _ } in schema.rows() {
            let set: Vec<(&Value, String)> = examples
                .iter()
                .flat_map(|example| find_pointers(example, &path).into_iter().map(move |at| (example, at)))
                .collect();
            if set.is_empty() {
                panic!("{name}: no example sets {path}");
            }
            for (example, at) in &set {
                let (at_choice, choices) = match &option.form {
                    Form::List(items) => (format!("{at}/0"), &items.choices),
                    _ => (at.clone(), &option.choices),
                };
                for choice in choices {
                    self.require_agreement(&schema, &replace(example, &at_choice, choice.clone()), true);
                }
                self.refuse_unknown_option(&schema, option, example, at);
            }
        }
        self.refuse_unknown_option(&schema, &schema, &default, "");
    }

    fn refuse_unknown_option(&mut self, schema: &Schema, option: &Schema, example: &Value, at: &str) {
        let is_closed = |form: &Form| matches!(form, Form::Table(table) if table.others.is_none());
        let at = match &option.form {
            Form::List(items) if is_closed(&items.form) => format!("{at}/0"),
            form if is_closed(form) => at.to_owned(),
            _ => return,
        };
        let Some(Value::Object(table)) = example.pointer(&at) else { return };
        let mut table = table.clone();
        table.insert("pivot-host-unknown-option".to_owned(), json!(true));
        self.require_agreement(schema, &replace(example, &at, Value::Object(table)), false);
    }

    /// Fails the test unless both the schema and the plugin accept a configuration, or both refuse it.
    fn require_agreement(&mut self, schema: &Schema, config: &Value, accepted: bool) {
        self.fake.config = config.clone();
        let configured = self.fake.answer_hook(Hook::Check, P::configure);
        self.fake.config = json!({});
        let plugin = configured.map(drop).map_err(|error| error.to_string());
        for (judge, judged) in
            [("the schema", schema.check(config, |_, _| String::new())), ("the plugin", plugin)]
        {
            if judged.is_ok() != accepted {
                panic!("{}: {judge} says {judged:?} to {config}", self.fake.about.name);
            }
        }
    }
}

/// Returns the JSON pointers of the values of an option, given its path: `patch[].kind`.
fn find_pointers(config: &Value, path: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    for step in path.replace("[]", ".[]").split('.') {
        let list_children = |at: String| -> Vec<String> {
            match config.pointer(&at) {
                Some(Value::Array(items)) if step == "[]" => {
                    (0..items.len()).map(|index| format!("{at}/{index}")).collect()
                }
                Some(Value::Object(fields)) => {
                    let keys = fields.keys().filter(|key| step == "*" || *key == step);
                    keys.map(|key| format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"))).collect()
                }
                _ => Vec::new(),
            }
        };
        found = found.into_iter().flat_map(list_children).collect();
    }
    found
}

fn replace(config: &Value, at: &str, value: Value) -> Value {
    let mut config = config.clone();
    if let Some(there) = config.pointer_mut(at) {
        *there = value;
    }
    config
}
