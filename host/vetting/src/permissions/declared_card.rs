//! The card of a declaration, which is compared with the cards that people signed.

use pivot_core::messages::safe_text::escape_line;
use pivot_core::plugins::hooks::Hook;
use pivot_core::plugins::reach::Reach;
use serde_json::{Map, Value, json};

use crate::permissions::{Change, Declaration, Read, Versions};
use crate::signatures::card::Card;

/// The most characters of a text on a card that the description doesn't bound.
const TEXT: usize = 1_000;

/// Builds the card of a plugin that was built for a contract. The error names the wrong field and the reason.
pub fn build_card(
    declaration: &Declaration,
    hooks: &[Hook],
    imports: &[String],
    contract: &str,
) -> Result<Card, String> {
    let Declaration {
        name,
        version,
        summary,
        kinds,
        versions,
        reach,
        changes,
        reads,
        probes,
        secret_data,
        codes,
        extra,
    } = declaration;
    let versions = versions
        .iter()
        .map(|Versions { kind, versions }| json!({"kind": kind.to_string(), "versions": versions}));
    let reach = reach.iter().map(|Reach { kind, namespace, delete }| json!({"side": "source", "kind": kind.to_string(), "namespace": namespace, "delete": delete}));
    let changes = changes.iter().map(|Change { hook, kind, side }| json!({"hook": hook.to_string(), "kind": kind.to_string(), "side": side.to_string()}));
    let reads = reads.iter().map(|Read { kind, side, namespace }| json!({"side": side.to_string(), "kind": kind.to_string(), "namespace": namespace}));
    let extra = extra
        .iter()
        .map(|(key, value)| json!({"key": escape_line(key, TEXT), "value": escape_line(value, TEXT)}));
    let text = |items: Vec<String>| Value::from(items);
    let fields = [
        ("name", json!(name)),
        ("version", json!(version)),
        ("summary", json!(summary)),
        ("contract", json!(contract)),
        ("hooks", text(hooks.iter().map(ToString::to_string).collect())),
        ("imports", text(imports.to_vec())),
        ("kinds", text(kinds.iter().map(ToString::to_string).collect())),
        ("versions", versions.collect()),
        ("reach", reach.collect()),
        ("changes", changes.collect()),
        ("reads", reads.collect()),
        ("probes", text(probes.iter().map(ToString::to_string).collect())),
        ("secretData", json!(secret_data)),
        ("codes", text(codes.iter().map(|code| escape_line(code, TEXT).to_string()).collect())),
        ("extra", extra.collect()),
    ];
    let fields: Map<String, Value> =
        fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    Card::new(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn card_lists_declared_codes() {
        let declaration = |value: &str| Declaration {
            name: "hosts".to_owned(),
            version: "0.1.0".to_owned(),
            summary: String::new(),
            kinds: vec![],
            versions: vec![],
            reach: vec![],
            changes: vec![],
            reads: vec![],
            probes: vec![],
            secret_data: true,
            codes: vec![value.to_owned()],
            extra: vec![],
        };
        let of = |value| build_card(&declaration(value), &[], &[], "pivot:provider@0.1").unwrap();
        assert_eq!(of("stale").fields()["codes"], json!(["stale"]));
        assert_eq!(of("stale").differing_fields(&of("other")), ["codes"]);
        // What nobody can see is shown, and no reason to have no card.
        assert_eq!(of("a\n").fields()["codes"][0], "a\\n");
    }
}
