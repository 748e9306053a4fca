use serde_json::{Value, json};

use super::{Schema, append_section};

fn hosts() -> Value {
    json!({
        "type": "object", "additionalProperties": false, "required": ["ports"],
        "properties": {
            "ports": {"type": "array", "items": {"type": "integer"}, "description": "Ports of the services."},
            "vantage": {"type": "string", "enum": ["here", "target"], "default": "here"},
            "share": {"type": "number", "default": 0.5},
            "rules": {"type": "array", "items": {
                "type": "object", "additionalProperties": false, "required": ["kind"],
                "properties": {"kind": {"type": "string"}, "merge": {"type": "object"}},
            }},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        },
    })
}

fn parse(schema: &Value) -> Result<Schema, String> {
    Schema::parse(schema.to_string().as_bytes())
}

#[test]
fn configuration_is_refused_by_path_and_type() {
    let schema = parse(&hosts()).unwrap();
    for (config, expected) in [
        (json!({"ports": [1], "share": 1, "rules": [{"kind": "x", "merge": {"a": [{}]}}]}), None),
        (json!({"ports": [], "labels": {"a b": "x"}, "vantage": "target", "share": 0.25}), None),
        (json!([]), Some("the configuration is a list, and must be a table")),
        (json!({}), Some("`ports` is missing")),
        (json!({"ports": "s3cret"}), Some("`ports` is a string, and must be a list")),
        (json!({"ports": [1, 1.0]}), Some("`ports[1]` is a floating-point number, and must be an integer")),
        (
            json!({"prots": []}),
            Some("`prots` is no option, not [\"labels\", \"ports\", \"rules\", \"share\", \"vantage\"]"),
        ),
        (json!({"ports": [], "vantage": "s3cret"}), Some("`vantage` must be one of: here, target")),
        (json!({"ports": [], "rules": [{"merge": {}}]}), Some("`rules[0].kind` is missing")),
        (json!({"ports": [], "labels": {"a": null}}), Some("`labels.a` is null, and must be a string")),
    ] {
        let checked = schema.check(&config, |_, known| format!(", not {known:?}"));
        assert_eq!(checked.err().as_deref(), expected, "{config}");
    }
}

#[test]
fn rows_have_all_options() {
    let schema = parse(&hosts()).unwrap();
    let rows: Vec<String> = schema
        .rows()
        .into_iter()
        .map(|row| format!("{} {}{}", row.name, row.schema.type_text(), if row.required { "!" } else { "" }))
        .collect();
    let expected = [
        "labels table",
        "labels.* string",
        "ports list of integer!",
        "rules list of table",
        "rules[].kind string!",
        "rules[].merge table",
        "rules[].merge.* any value",
        "share number",
        "vantage here | target",
    ];
    assert_eq!(rows, expected);
}

#[test]
fn unknown_keywords_and_forms_are_refused() {
    let with = |pointer: &str, value: Value| {
        let mut schema = hosts();
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        schema.pointer_mut(parent).unwrap()[key] = value;
        parse(&schema).unwrap_err()
    };
    for (pointer, value, expected) in [
        (
            "/additionalProperties",
            json!(true),
            "its type must be object, with \"additionalProperties\": false",
        ),
        ("/properties/share/minimum", json!(1), "share: `minimum` is no keyword for its type"),
        ("/properties/share/type", json!(["number", "null"]), "share: its type must be object, array"),
        (
            "/properties/share/default",
            json!("half"),
            "share: its default doesn't fit: the configuration is a string",
        ),
        ("/properties/vantage/enum", json!([]), "vantage: its enum must be a list with values"),
        ("/properties/vantage/enum", json!(["here", 1]), "vantage: its enum has a value of another type"),
        ("/properties/ports/items", json!(7), "ports[]: a schema must be an object"),
        ("/properties/rules/items/required", json!(["name"]), "rules[]: its required names an option that"),
        ("/properties/rules/items/properties/a b", json!({}), "rules[]: names of options have letters"),
        ("/properties/labels/description", json!(7), "labels: its description must be a string"),
    ] {
        let why = with(pointer, value);
        assert!(why.starts_with(expected), "{pointer}: {why}");
    }
    let deep = (0..20).fold(json!({"type": "string"}), |inner, _| json!({"type": "array", "items": inner}));
    assert!(with("/properties/deep", deep).ends_with("it is nested too deep"));
    assert!(Schema::parse(b"{").unwrap_err().starts_with("it is no JSON: "));
    assert!(Schema::parse(&[b' '; 70_000]).unwrap_err().starts_with("it has more than "));
}

#[test]
fn section_has_its_name_and_length() {
    let schema =
        json!({"type": "object", "additionalProperties": false, "description": "d".repeat(100)}).to_string();
    let whole = append_section(b"before", schema.as_bytes()).unwrap();
    let length = 1 + super::SECTION.len() + schema.len();
    let head = [0, (length & 0x7f) as u8 | 0x80, (length >> 7) as u8, 31];
    let expected = [&b"before"[..], &head, super::SECTION.as_bytes(), schema.as_bytes()].concat();
    assert_eq!(whole, expected);
    assert!(append_section(b"before", b"{}").is_err());
}
