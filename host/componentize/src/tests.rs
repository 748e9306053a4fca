//! Modules as compilers make them, written as text.

use super::*;

/// A plugin without hooks: its description is in memory without content, which makes it empty.
fn module(more: &str) -> Vec<u8> {
    let text = format!(
        r#"(module
            {more}
            (memory (export "memory") 1)
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 512))
            (func (export "pivot:provider/describe@0.1.0#plugin") (result i32) (i32.const 256)))"#
    );
    wat::parse_str(text).unwrap()
}

const EXIT: &str = r#"(import "wasi_snapshot_preview1" "proc_exit" (func (param i32)))"#;
const PRINT: &str =
    r#"(import "wasi_snapshot_preview1" "fd_write" (func (param i32 i32 i32 i32) (result i32)))"#;
const ASK: &str = r#"(import "pivot:provider/config@0.1.0" "get" (func (param i32)))"#;

/// The names that a component imports and exports.
fn names(component: &[u8]) -> (Vec<String>, Vec<String>) {
    let (mut imports, mut exports, mut depth) = (vec![], vec![], 0);
    for payload in Parser::new(0).parse_all(component) {
        match payload.unwrap() {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth -= 1,
            Payload::ComponentImportSection(all) if depth == 0 => {
                imports.extend(all.into_iter().map(|import| import.unwrap().name.name.to_owned()));
            }
            Payload::ComponentExportSection(all) if depth == 0 => {
                exports.extend(all.into_iter().map(|export| export.unwrap().name.name.to_owned()));
            }
            _ => {}
        }
    }
    (imports, exports)
}

fn made(more: &str) -> (Vec<String>, Vec<String>) {
    names(&componentize(&module(more), None).unwrap())
}

fn error(bytes: &[u8]) -> String {
    componentize(bytes, None).unwrap_err().to_string()
}

#[test]
fn components_import_only_what_is_called() {
    let describe = vec!["pivot:provider/describe@0.1.0".to_owned()];
    assert_eq!(made("").1, describe);
    for (more, imports) in [
        ("", &["pivot:provider/types@0.1.0"][..]),
        (EXIT, &["pivot:provider/log@0.1.0", "pivot:provider/types@0.1.0"]),
        (PRINT, &["pivot:provider/log@0.1.0", "pivot:provider/types@0.1.0"]),
        (ASK, &["pivot:provider/config@0.1.0", "pivot:provider/types@0.1.0"]),
    ] {
        let mut names = made(more).0;
        names.sort();
        assert_eq!(names, imports, "{more}");
    }
}

#[test]
fn exported_hooks_choose_the_world() {
    let hold =
        r#"(func (export "pivot:provider/hold@0.1.0#patch") (param i32 i32) (result i32) (i32.const 0))"#;
    let (_, exports) = made(&format!("{PRINT} {hold}"));
    assert_eq!(exports, ["pivot:provider/describe@0.1.0", "pivot:provider/hold@0.1.0"]);
}

#[test]
fn components_stay_as_they_are() {
    let component = componentize(&module(""), None).unwrap();
    assert_eq!(componentize(&component, None).unwrap(), component);
}

#[test]
fn world_in_the_module_is_kept() {
    let mut bytes = module("");
    embed_contract(&mut bytes, "first", "export pivot:provider/describe@0.1.0;").unwrap();
    assert!(componentize(&bytes, None).is_ok());
    embed_contract(&mut bytes, "second", "export pivot:provider/hold@0.1.0;").unwrap();
    assert!(error(&bytes).contains("does not fit its world: "), "{}", error(&bytes));
}

#[test]
fn world_of_a_file_is_used() {
    let wit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit");
    let with = |world| componentize(&module(""), Some(WorldSource { wit: &wit, world: Some(world) }));
    assert!(with("plugin").is_ok());
    assert!(matches!(with("provider"), Err(ComponentizeError::Mismatch(_))));
    assert!(matches!(with("elsewhere"), Err(ComponentizeError::World(_))));
}

#[test]
fn unsuitable_files_are_refused_with_reasons() {
    assert!(error(b"(module)").starts_with("it is not a valid WebAssembly module: "));
    assert!(
        error(b"\0asm\x01\0\0\0").starts_with("it exports nothing of the contract pivot:provider@0.1.0.")
    );
    let hook = r#"(func (export "pivot:provider/hlod@0.1.0#patch"))"#;
    assert_eq!(
        error(&module(hook)),
        "it exports pivot:provider/hlod@0.1.0, which the contract pivot:provider@0.1.0 does not have"
    );
    let foreign = error(&module(r#"(import "env" "open" (func))"#));
    assert!(foreign.starts_with("it does not fit its world: ") && foreign.contains("env"), "{foreign}");
}
