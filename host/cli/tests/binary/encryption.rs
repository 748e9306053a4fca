//! Directories that are encrypted for a key.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::example::{code, err, host, json, of_example, out};
use crate::schemas;

/// The key that everybody knows.
const IDENTITY: &str = "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX";
const RECIPIENT: &str = "age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj";

#[test]
fn encrypted_directory_is_read_with_key() {
    let dir = TempDir::new().unwrap();
    let file = |name: &str, text: &str| {
        fs::write(dir.path().join(name), text).unwrap();
        dir.path().join(name).display().to_string()
    };
    let (key, to) = (file("key.txt", IDENTITY), file("to.txt", &format!("# ops\n{RECIPIENT}\n")));
    let copy = dir.path().join("copy").display().to_string();
    // Keys that can't be used are found out before anything is made, and not quoted.
    for verb in ["plan", "move"] {
        let swapped = of_example(verb, &["--to-directory", &copy, "--encrypt-to", &key]);
        assert_eq!(code(&swapped), 3, "{}", err(&swapped));
        assert!(err(&swapped).contains("key.txt: line 1 is a secret key"), "{}", err(&swapped));
        assert!(!err(&swapped).contains("GFPYY") && !Path::new(&copy).exists());
    }
    let moved = of_example("move", &["--to-directory", &copy, "--encrypt-to", &to]);
    assert_eq!(code(&moved), 0, "{}", err(&moved));
    for entry in fs::read_dir(&copy).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        assert!(name == "manifest.json" || name.ends_with(".json.age"), "{name}");
        let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
        assert!(name == "manifest.json" || !text.contains("apiVersion"), "{name}");
        assert!(!text.contains("\"data\"") && !text.contains("\"spec\""), "{name}");
    }
    schemas::check(&serde_json::from_slice(&fs::read(format!("{copy}/manifest.json")).unwrap()).unwrap());

    let closed = host(&["verify", &copy, "-o", "json"]);
    assert_eq!((code(&closed), &json(&closed)["kinds"]), (0, &Value::Null), "{}", err(&closed));
    let closed = host(&["verify", &copy]);
    assert!(out(&closed).contains("121 encrypted objects"), "{}", out(&closed));
    assert!(out(&closed).contains("needs an identity"), "{}", out(&closed));
    let open = host(&["verify", &copy, "--identity", &key, "-o", "json"]);
    assert_eq!((code(&open), &json(&open)["objects"]), (0, &121.into()), "{}", err(&open));
    assert!(json(&open)["kinds"].as_array().unwrap().len() > 10);
    // It is open to others, as a file of a key should not be.
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    let exposed = host(&["verify", &copy, "--identity", &key]);
    assert!(err(&exposed).contains("others can read the secret keys"), "{}", err(&exposed));
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    assert!(!err(&host(&["verify", &copy, "--identity", &key])).contains("others can read"));

    let without = host(&["plan", "--from-directory", &copy]);
    assert_eq!(code(&without), 3);
    assert!(
        err(&without).contains("is encrypted") && err(&without).contains("--identity"),
        "{}",
        err(&without)
    );
    let with = host(&["plan", "--from-directory", &copy, "--identity", &key, "-o", "json"]);
    assert_eq!(json(&with)["summary"]["objects"], 121, "{}", err(&with));
    // One that needs no key is not taken for one that does.
    let plain = of_example("plan", &["--identity", &key]);
    assert!(code(&plain) == 3 && err(&plain).contains("nothing in it is encrypted"), "{}", err(&plain));

    // From one into another, and for another key.
    let second = dir.path().join("second").display().to_string();
    let line = [
        "move",
        "--from-directory",
        &copy,
        "--identity",
        &key,
        "--to-directory",
        &second,
        "--encrypt-to",
        &to,
    ];
    assert_eq!(code(&host(&line)), 0);
    let again = host(&["verify", &second, "--identity", &key, "-o", "json"]);
    assert_eq!((code(&again), &json(&again)["objects"]), (0, &121.into()));
}

/// As a run that died leaves it. What goes on unencrypted would write in the clear what the first run would not.
// proves: T82
#[test]
fn encrypted_move_does_not_continue_unencrypted() {
    let dir = TempDir::new().unwrap();
    let copy = dir.path().join("copy");
    fs::create_dir(&copy).unwrap();
    fs::write(copy.join(".pivot-host.json"), r#"{"moveId": "m-1", "encryption": "age"}"#).unwrap();
    fs::write(copy.join("Secret_a_s.json.age"), "x").unwrap();
    let to = copy.display().to_string();
    let output = of_example("move", &["--to-directory", &to]);
    assert_eq!(code(&output), 3);
    assert!(err(&output).contains("started it encrypted"), "{}", err(&output));
    assert!(err(&output).contains("--encrypt-to"), "{}", err(&output));
    assert_eq!(fs::read_dir(&copy).unwrap().count(), 2);
}
