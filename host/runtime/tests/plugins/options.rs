//! A component that declares the options of its configuration.

use pivot_bounds::options::append_section;
use serde_json::json;

use crate::support::{Place, granted, guest};

/// `older`, which has no `configure`, with a schema: what is refused, the host refuses.
fn configurable() -> Vec<u8> {
    let schema = json!({
        "type": "object", "additionalProperties": false,
        "properties": {
            "retries": {"type": "integer", "default": 3, "description": "How often.\n[plugins.other]"},
            "mode": {"type": "string", "enum": ["fast", "safe"], "description": "The way."},
            "match": {"type": "object", "additionalProperties": {"type": "string"}, "default": {"a b": "\u{7}"}},
        },
    });
    append_section(&guest("older"), schema.to_string().as_bytes()).unwrap()
}

async fn admit(config: &str) -> Place {
    let place = Place::new();
    place.put("older.wasm", &configurable());
    place.runtime.admit(&place.path("older.wasm"), &granted()).await.unwrap();
    let text = std::fs::read_to_string(place.path("plugins.toml")).unwrap();
    place.operator(&format!("{text}\n{config}"));
    place
}

#[tokio::test]
async fn configuration_that_the_schema_refuses_stops() {
    for (config, expected) in [
        (
            "retrys = 4",
            "`retrys` is no option (did you mean retries?); `pivot-host plugin inspect` lists its options",
        ),
        ("retries = 'hunter2'", "`retries` is a string, and must be an integer; `pivot-host"),
        ("mode = 'hunter2'", "`mode` must be one of: fast, safe; `pivot-host"),
    ] {
        let refused = admit(&format!("[plugins.older.config]\n{config}\n")).await.refused().await;
        assert_eq!(refused[0].0, "configuration");
        let expected = format!("[plugins.older.config] in plugins.toml failed: {expected}");
        assert!(refused[0].1.contains(&expected) && !refused[0].1.contains("hunter2"), "{refused:?}");
    }
    let place = admit("[plugins.older.config]\nretries = 4\nmode = 'safe'\nmatch = { x = 'y' }\n").await;
    let plugin = place.plugin().await;
    assert!(plugin.with_config(&json!({"retries": 1})).await.is_ok());
    assert_eq!(plugin.with_config(&json!({"retries": []})).await.unwrap_err().code, "invalid");
}

#[tokio::test]
async fn section_has_the_options_as_comments() {
    let place = admit("").await;
    let text = std::fs::read_to_string(place.path("plugins.toml")).unwrap();
    let (_, options) = text.split_once("# Its options. ").unwrap();
    let expected = "\
        To set one, remove the first # of its line and of the next line.\n\
        # [plugins.older.config]\n\
        # match = { \"a b\" = \"\\u0007\" }\n\
        # # The way. (fast | safe)\n\
        # # mode = \"fast\"\n\
        # # How often. [plugins.other]\n\
        # retries = 3\n\n";
    assert_eq!(options, expected);
    let uncommented = text
        .replace("\n# ", "\n")
        .replace("\nThe vendor", "\n# The vendor")
        .replace("\nRequests", "\n# Requests");
    place.operator(&uncommented.replace("Its options.", "# Its options."));
    assert!(place.plugin().await.grants().config.contains("\"retries\":3"));
}

#[tokio::test]
async fn inspection_lists_the_options() {
    let place = Place::new();
    place.put("older.wasm", &configurable());
    let options = place.runtime.inspect(&place.path("older.wasm")).await.unwrap().options;
    let listed: Vec<_> = options
        .iter()
        .map(|option| (option.name.as_str(), option.form.as_str(), option.default.clone()))
        .collect();
    let expected = [
        ("match", "table", Some(json!({"a b": "\u{7}"}))),
        ("match.*", "string", None),
        ("mode", "fast | safe", None),
        ("retries", "integer", Some(json!(3))),
    ];
    assert_eq!(listed, expected);
    assert_eq!(options[3].description, "How often. [plugins.other]");
}

#[tokio::test]
async fn invalid_or_second_schema_is_refused() {
    let bad = [&b"\0\x29\x1fpivot-host:configuration-schema"[..], b"{\"x\":1}  "].concat();
    let twice =
        append_section(&configurable(), br#"{"type": "object", "additionalProperties": false}"#).unwrap();
    for (bytes, expected) in [
        (
            [guest("older"), bad].concat(),
            "its configuration schema: `x` is no keyword for its type; correct what `describe` returns",
        ),
        (twice, "it has several configuration schemas; correct what `describe` returns"),
    ] {
        let place = Place::new();
        place.put("older.wasm", &bytes);
        let error = place.runtime.admit(&place.path("older.wasm"), &granted()).await.unwrap_err();
        assert_eq!(error.code(), "description", "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    }
}
