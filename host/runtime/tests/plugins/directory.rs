//! Files that are not plugins, and files outside the directory.

use pivot_runtime::LoadOptions;

use crate::support::{Place, granted, granting, grants, guest};

/// Refused with this code and one sentence by an inspection, an admission and a load; nothing is written.
async fn refused(bytes: &[u8], code: &str, words: &str) {
    let place = Place::new();
    place.put("it.wasm", bytes);
    let path = place.path("it.wasm");
    let error = place.runtime.inspect(&path).await.unwrap_err();
    assert_eq!(error.code(), code, "{error}");
    let said = error.to_string();
    assert!(said.starts_with("it.wasm") && said.contains(words), "{said}");
    assert_eq!(place.runtime.admit(&path, &granted()).await.unwrap_err().to_string(), said);
    let unlocked = LoadOptions { unlocked: true, ..LoadOptions::default() };
    let loading = place.runtime.load(place.dir.path(), unlocked).await.unwrap_err();
    assert_eq!(loading.iter().map(ToString::to_string).collect::<Vec<_>>(), [said]);
    assert_eq!(std::fs::read_dir(place.dir.path()).unwrap().count(), 1);
}

/// A component built for another version of the contract.
fn other_version() -> Vec<u8> {
    let mut bytes = guest("older");
    let (was, is) = (b"pivot:provider/describe@0.1.0", b"pivot:provider/describe@0.2.0");
    for at in 0..bytes.len() - was.len() {
        if bytes[at..].starts_with(was) {
            bytes[at..at + is.len()].copy_from_slice(is);
        }
    }
    bytes
}

#[tokio::test]
async fn unloadable_components_are_refused_everywhere() {
    refused(&guest("networked"), "foreign-imports", "imports interfaces that no plugin gets: wasi:sockets/")
        .await;
    refused(&other_version(), "mismatch", "it was built for version 0.2.0; build it with").await;
    refused(&guest("newer"), "mismatch", "which this pivot-host lacks: use a newer one").await;
    refused(&guest("mute"), "describe", "; `describe` only returns a description").await;
}

/// A load finds components by the end of their names.
#[tokio::test]
async fn admitted_file_has_a_components_name() {
    let place = Place::new();
    place.put("older", &guest("older"));
    assert!(place.runtime.inspect(&place.path("older")).await.is_ok());
    let error = place.runtime.admit(&place.path("older"), &granted()).await.unwrap_err();
    assert_eq!(error.code(), "file-name");
    assert!(!place.path("plugins.lock").exists());
}

#[tokio::test]
async fn other_files_are_refused_by_format() {
    refused(b"", "not-a-component", "is empty").await;
    refused(b"(component)", "not-a-component", "is text").await;
    refused(b"\0asm\x01\0\0\0", "not-a-component", "core module (`pivot-host plugin componentize` makes")
        .await;
    refused(b"\x7fELF\x02\x01\x01\0native", "not-a-component", "compiled native code").await;
}

// proves: T2
#[tokio::test]
async fn a_precompiled_component_is_refused() {
    let engine = wasmtime::Engine::default();
    let native = engine.precompile_component(&guest("older")).unwrap();
    refused(&native, "not-a-component", "compiled native code").await;
}

#[tokio::test]
async fn truncated_component_is_refused() {
    let (whole, place) = (guest("older"), Place::new());
    let ends = (9..whole.len()).step_by(whole.len() / 60).chain([whole.len() - 1]);
    for end in ends {
        place.put("it.wasm", &whole[..end]);
        let error = place.runtime.inspect(&place.path("it.wasm")).await.unwrap_err();
        let said = error.to_string();
        // Between two sections it ends as a component without the exports that were to follow.
        let whole = error.code() == "mismatch" && said.contains("does not export `describe`");
        let cut = error.code() == "malformed" && said.contains("is not a valid component");
        assert!(whole || cut, "after {end} bytes: {error}");
    }
}

/// How an inspection of a damaged component ends.
const ENDS: [&str; 5] = ["malformed", "foreign-imports", "mismatch", "description", "describe"];

/// The parser and the compiler get bytes that no tool wrote; whatever they report, they don't end the program.
// proves: T2
#[tokio::test]
async fn damaged_component_is_refused_or_sandboxed() {
    let whole = guest("older");
    let (place, mut ran) = (Place::new(), 0);
    for step in 0..40 {
        let mut bytes = whole.clone();
        let at = 8 + step * (whole.len() - 9) / 40;
        bytes[at] ^= 0x55;
        place.put("it.wasm", &bytes);
        match place.runtime.inspect(&place.path("it.wasm")).await {
            // It described itself, whatever the byte has changed in it.
            Ok(_) => ran += 1,
            Err(error) => assert!(ENDS.contains(&error.code()), "byte {at}: {}: {error}", error.code()),
        }
    }
    // Some bytes are names or data: were all refused, none would have reached the compiler.
    assert!((1..40).contains(&ran), "{ran}");
}

#[tokio::test]
async fn a_huge_file_is_refused_unread() {
    let place = Place::new();
    let file = std::fs::File::create(place.path("it.wasm")).unwrap();
    file.set_len(1 << 30).unwrap();
    let refused = place.refused().await;
    assert_eq!(refused[0].0, "too-large");
    assert!(refused[0].1.contains("is 1073741824 bytes; a plugin has at most 67108864"), "{}", refused[0].1);
}

#[cfg(unix)]
// proves: T17
#[tokio::test]
async fn link_out_of_directory_is_refused() {
    let elsewhere = Place::new();
    elsewhere.put("steady.wasm", &guest("steady"));
    let place = Place::new();
    std::os::unix::fs::symlink(elsewhere.path("steady.wasm"), place.path("steady.wasm")).unwrap();
    let refused = place.refused().await;
    assert_eq!(refused[0].0, "not-inside", "{}", refused[0].1);
    assert!(refused[0].1.starts_with("steady.wasm"));
}

/// Volumes in a cluster are made of such links.
#[cfg(unix)]
#[tokio::test]
async fn link_inside_directory_is_a_file() {
    let place = Place::new();
    place.operator(&grants("steady"));
    std::fs::create_dir(place.path("..data")).unwrap();
    place.put("..data/steady.wasm", &guest("steady"));
    std::os::unix::fs::symlink("..data/steady.wasm", place.path("steady.wasm")).unwrap();
    place.runtime.admit(&place.path("steady.wasm"), &granted()).await.unwrap();
    assert_eq!(place.plugin().await.description().name, "steady");
}

#[cfg(unix)]
// proves: T17
#[tokio::test]
async fn pipes_and_devices_are_not_waited_for() {
    let place = Place::new();
    std::fs::create_dir(place.path("it.wasm")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(place.path("pipe.wasm")).status().unwrap();
    assert!(made.success());
    let codes: Vec<_> = place.refused().await.into_iter().map(|(code, _)| code).collect();
    assert_eq!(codes, ["not-inside", "not-inside"]);
}

#[tokio::test]
async fn a_missing_directory_is_an_error() {
    let place = Place::new();
    let gone = place.path("gone");
    let errors = place.runtime.load(&gone, LoadOptions::default()).await.unwrap_err();
    assert_eq!(errors[0].code(), "unreadable");
}

/// Names appear in messages and in commands to paste.
#[tokio::test]
async fn a_file_name_is_plain_text() {
    use std::os::unix::ffi::OsStrExt;
    for (name, shown) in [
        (&b"it\n\x1b[2J.wasm"[..], "it\\n\\u{1b}[2J.wasm"),
        (&b"it\xff.wasm"[..], "\"it\\xFF.wasm\""),
        // What follows is displayed from right to left, or not at all.
        ("it-\u{202e}wasm.wasm".as_bytes(), "it-\\u{202e}wasm.wasm"),
        ("it\u{200b}.wasm".as_bytes(), "it\\u{200b}.wasm"),
        ("it\u{2066}.wasm".as_bytes(), "it\\u{2066}.wasm"),
        ("\u{feff}it.wasm".as_bytes(), "\\u{feff}it.wasm"),
        ("it\u{61c}.wasm".as_bytes(), "it\\u{61c}.wasm"),
        ("it\u{ad}.wasm".as_bytes(), "it\\u{ad}.wasm"),
        ("it\u{34f}.wasm".as_bytes(), "it\\u{34f}.wasm"),
        ("it\u{115f}.wasm".as_bytes(), "it\\u{115f}.wasm"),
        ("it\u{180e}.wasm".as_bytes(), "it\\u{180e}.wasm"),
        ("it\u{3164}.wasm".as_bytes(), "it\\u{3164}.wasm"),
        ("it\u{fff9}.wasm".as_bytes(), "it\\u{fff9}.wasm"),
        ("it\u{e0041}.wasm".as_bytes(), "it\\u{e0041}.wasm"),
    ] {
        let place = Place::new();
        std::fs::write(place.dir.path().join(std::ffi::OsStr::from_bytes(name)), b"").unwrap();
        let errors = place.refused().await;
        assert_eq!(errors[0].0, "file-name");
        assert!(errors[0].1.contains(&format!("not plain text: {shown};")), "{}", errors[0].1);
        // Also if named individually.
        let path = place.dir.path().join(std::ffi::OsStr::from_bytes(name));
        assert_eq!(place.runtime.inspect(&path).await.unwrap_err().code(), "file-name");
        assert_eq!(place.runtime.admit(&path, &granting(false)).await.unwrap_err().code(), "file-name");
        assert!(!place.path("plugins.lock").exists());
    }
}
