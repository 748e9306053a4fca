use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

use crate::shell::said;

use super::*;

/// A work tree with one crate, `host/core`, and one that uses it.
fn tree(files: &[(&str, &str)]) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    for folder in FOLDERS {
        fs::create_dir_all(root.path().join(folder)).unwrap();
    }
    write(&root, "host/core/Cargo.toml", "[package]\nname = \"pivot-core\"\n");
    write(&root, "host/cli/Cargo.toml", "[package]\nname = \"pivot-host\"\n");
    write(&root, "host/core/src/lib.rs", "");
    write(&root, "host/cli/src/main.rs", "");
    for page in PAGES {
        write(&root, page, "");
    }
    write(&root, "README.md", "# A short one\n");
    let own = files.iter().map(|(file, _)| *file).filter(|file| !PAGES.contains(file));
    let pages: Vec<&str> =
        PAGES.into_iter().chain(own).filter_map(|file| file.strip_prefix("docs/")).collect();
    write(&root, "docs/SUMMARY.md", &summary_of(&pages));
    write(&root, WEAKNESSES, &rows(|number| format!("| W{number} | a | b | no test: it can't fail |")));
    for (file, text) in files {
        write(&root, file, text);
    }
    git(&root, &["init", "--quiet"]);
    git(&root, &["add", "--all"]);
    root
}

fn git(root: &TempDir, arguments: &[&str]) {
    said(Command::new("git").args(arguments).current_dir(root.path())).unwrap();
}

fn write(root: &TempDir, file: &str, text: &str) {
    let file = root.path().join(file);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

/// A book that lists these pages.
fn summary_of(pages: &[&str]) -> String {
    pages.iter().map(|page| format!("- [A page]({page})\n")).collect()
}

/// A row for each weakness.
fn rows(row: impl Fn(usize) -> String) -> String {
    weaknesses::NUMBERS.map(|number| row(number) + "\n").collect()
}

/// The check's report; empty where it passes.
fn report(files: &[(&str, &str)]) -> String {
    let root = tree(files);
    let mut lines = Vec::new();
    let result = run(root.path(), &mut |line| lines.push(line.to_owned()));
    assert_eq!(result.is_err(), !lines.is_empty(), "{lines:?}");
    lines.join("\n")
}

/// The imports of a binary made of these files below `host/cli/src`, a line each.
fn imports(files: &[(&str, &str)]) -> Vec<String> {
    let files: Vec<(String, &str)> =
        files.iter().map(|(file, text)| (format!("host/cli/src/{file}"), *text)).collect();
    let root = tree(&files.iter().map(|(file, text)| (file.as_str(), *text)).collect::<Vec<_>>());
    let found = imports::of(root.path(), Path::new("host/cli")).unwrap();
    let short = |file: &Path| file.strip_prefix("host/cli/src").unwrap().display().to_string();
    let line = |((from, to), names): ((PathBuf, PathBuf), BTreeSet<String>)| {
        format!("{} -> {}: {}", short(&from), short(&to), names.into_iter().collect::<Vec<_>>().join(" "))
    };
    found.into_iter().map(line).collect()
}

#[test]
fn a_cycle_is_reported_file_by_file_with_what_is_imported() {
    let files = [
        ("host/cli/src/main.rs", "mod a; mod b; mod c; mod d; fn main() { a::go(); }"),
        ("host/cli/src/a.rs", "use crate::b::{Other, Thing}; pub(crate) fn go() {}"),
        ("host/cli/src/b.rs", "pub(crate) struct Thing; fn f() { crate::c::far(super::d::END) }"),
        ("host/cli/src/c.rs", "use super::a;\nfn f() { a::go() }"),
        ("host/cli/src/d.rs", "pub(crate) const END: u8 = 0;"),
    ];
    let expected = "import cycle in host/cli:
  host/cli/src/a.rs -> host/cli/src/b.rs: Other, Thing
  host/cli/src/b.rs -> host/cli/src/c.rs: far
  host/cli/src/c.rs -> host/cli/src/a.rs: go";
    assert_eq!(report(&files), expected);
}

#[test]
fn top_modules_of_places_import_in_no_cycle() {
    let files = [
        ("host/places/Cargo.toml", "[package]\nname = \"pivot-places\"\n"),
        ("host/places/src/lib.rs", "mod kube; mod place;"),
        ("host/places/src/kube.rs", "mod list; struct Kube;"),
        ("host/places/src/kube/list.rs", "use crate::place::Place;"),
        ("host/places/src/place.rs", "use crate::kube::Kube; struct Place;"),
    ];
    let expected = "import cycle of modules in host/places:
  host/places/src/kube -> host/places/src/place: Place
  host/places/src/place -> host/places/src/kube: Kube";
    assert_eq!(report(&files), expected);
    let mut one_way = files;
    one_way[4].1 = "struct Place;";
    assert_eq!(report(&one_way), "");
}

#[test]
fn core_imports_from_no_higher_layer() {
    let files = [
        ("host/core/src/lib.rs", "mod objects; mod plan;"),
        ("host/core/src/objects.rs", "mod kind;"),
        ("host/core/src/objects/kind.rs", "struct Kind;"),
        ("host/core/src/plan.rs", "use crate::objects::kind::Kind; struct Plan;"),
    ];
    assert_eq!(report(&files), "");
    let mut upward = files;
    upward[2].1 = "use crate::plan::Plan;";
    upward[3].1 = "struct Plan;";
    let expected = "import from a higher layer: host/core/src/objects/kind.rs -> host/core/src/plan.rs: Plan";
    assert_eq!(report(&upward), expected);
}

#[test]
fn engine_imports_from_no_higher_layer() {
    let files = [
        ("host/engine/Cargo.toml", "[package]\nname = \"pivot-engine\"\n"),
        ("host/engine/src/lib.rs", "mod act; mod base; mod drive; pub use drive::run;"),
        ("host/engine/src/act.rs", "mod copy;"),
        ("host/engine/src/act/copy.rs", "use crate::base::Job; fn copy() {}"),
        ("host/engine/src/base.rs", "struct Job;"),
        ("host/engine/src/drive.rs", "use crate::act::copy::copy; fn run() {}"),
    ];
    assert_eq!(report(&files), "");
    let mut upward = files;
    upward[3].1 = "fn copy() {} fn f() { crate::drive::run() }";
    upward[5].1 = "fn run() {}";
    let run = "import from a higher layer: host/engine/src/act/copy.rs -> host/engine/src/drive.rs: run";
    assert_eq!(report(&upward), run);
    upward[4].1 = "struct Job; fn f() { crate::act::copy::copy() }";
    let copy = "import from a higher layer: host/engine/src/base.rs -> host/engine/src/act/copy.rs: copy";
    assert_eq!(report(&upward), format!("{run}\n{copy}"));
    let more = [files[0], ("host/engine/src/lib.rs", "mod base; mod more;"), files[4]];
    let more = [more.as_slice(), &[("host/engine/src/more.rs", "use crate::base::Job;")]].concat();
    assert_eq!(report(&more), "host/engine/src/more is no layer");
}

#[test]
fn old_questions_become_fewer_and_never_more() {
    let asks = ("host/cli/src/main.rs", "fn a(record: &Record) -> bool { record.is_of_files() }\n");
    let found = report(&[asks]);
    assert!(found.starts_with("more than 0 lines ask"), "{found}");
    assert!(
        found.ends_with("host/cli/src/main.rs:1: fn a(record: &Record) -> bool { record.is_of_files() }")
    );
    assert_eq!(report(&[asks, ("xtask/old-questions.txt", "1\n")]), "");
    let fewer = report(&[("xtask/old-questions.txt", "1\n")]);
    assert_eq!(fewer, "xtask/old-questions.txt accepts 1 lines, and 0 are left: write that number");
    let root = tree(&[("xtask/old-questions.txt", "0\n")]);
    git(&root, &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--message", "a"]);
    write(&root, asks.0, asks.1);
    write(&root, "xtask/old-questions.txt", "1\n");
    let raised = old_questions::violations(root.path()).unwrap();
    assert_eq!(raised, ["xtask/old-questions.txt accepts 1 lines, and 0 before"]);
}

#[test]
fn modules_are_files_beside_their_folder() {
    let files = [
        ("host/cli/src/main.rs", "mod a;"),
        ("host/cli/src/a/mod.rs", ""),
        ("host/cli/tests/moves.rs", "mod shared;"),
        ("host/cli/tests/shared/mod.rs", ""),
    ];
    assert_eq!(report(&files), "host/cli/src/a/mod.rs: name it after its folder");
    assert_eq!(report(&[files[0], ("host/cli/src/a.rs", "")]), "");
}

#[test]
fn a_parent_that_calls_a_child_which_imports_from_it_is_a_cycle() {
    let parent = ("host/cli/src/main.rs", "mod child; struct Table; fn main() { child::go() }");
    let child = ("host/cli/src/child.rs", "use super::Table; pub(super) fn go() {}");
    assert!(report(&[parent, child]).contains("main.rs -> host/cli/src/child.rs: go"));
    // Declaring it is no import.
    assert_eq!(report(&[("host/cli/src/main.rs", "mod child; struct Table;"), child]), "");
}

#[test]
fn cycles_are_found_in_integration_tests_and_apart_from_each_other() {
    let cycle = |root: &str| {
        [
            (format!("{root}/main.rs"), "mod a; mod b;"),
            (format!("{root}/a.rs"), "use crate::b::B;"),
            (format!("{root}/b.rs"), "use super::a::A;"),
        ]
    };
    let files = [cycle("host/cli/src"), cycle("host/cli/tests/moves")].concat();
    let files: Vec<_> = files.iter().map(|(file, text)| (file.as_str(), *text)).collect();
    assert_eq!(report(&files).matches("import cycle in host/cli").count(), 2);
}

#[test]
fn test_code_may_use_its_parent() {
    let main = "mod a; fn main() {}
        #[cfg(test)] mod tests;
        #[cfg(all(test, unix))] #[path = \"more.rs\"] mod more;
        #[cfg(test)] mod inline { use crate::a::A; }
        #[cfg(test)] fn only_here() { a::go() }";
    let files = [
        ("main.rs", main),
        ("a.rs", "use crate::main; #[cfg(not(test))] fn f() { super::other() }"),
        ("tests.rs", "use super::*;"),
    ];
    assert_eq!(imports(&files), ["a.rs -> main.rs: main other"]);
}

#[test]
fn a_name_counts_where_it_is_defined() {
    let files = [
        ("main.rs", "mod a; mod user; pub(crate) use a::{Facade, deep::Item as Renamed};"),
        ("a/mod.rs", "pub(crate) mod deep; pub(crate) struct Facade;"),
        ("a/deep.rs", "pub(crate) struct Item;"),
        ("user.rs", "use crate::{Facade, Renamed}; use serde::Deserialize; use super::Renamed as Again;"),
    ];
    assert_eq!(imports(&files), ["user.rs -> a/deep.rs: Item", "user.rs -> a/mod.rs: Facade"]);
    // One that the file itself uses is an import of that file, too.
    let used = ("main.rs", "mod a; mod user; pub(crate) use a::Facade; fn main() { take(Facade) }");
    assert!(
        imports(&[used, files[1], files[2], ("user.rs", "")]).contains(&"main.rs -> a/mod.rs: Facade".into())
    );
}

#[test]
fn paths_are_seen_in_macros_attributes_and_inline_modules_and_not_in_text() {
    let main = r#"mod a; mod log;
        // crate::a::comment
        fn main() { println!("crate::a::text {}", crate::a::shown()); ::log::foreign(); x.a::<u8>(); }
        #[derive(Debug)] #[error("{}", a::attribute())] struct S;
        mod inline { fn f() { super::a::from_inline() } mod a { fn g() {} } fn h() { a::own() } }
        macro_rules! m { () => { $crate::a::in_macro() } }"#;
    let files = [("main.rs", main), ("a.rs", ""), ("log.rs", "")];
    assert_eq!(imports(&files), ["main.rs -> a.rs: attribute from_inline in_macro shown"]);
}

#[test]
fn globs_and_names_with_two_meanings_count() {
    let main = "mod a; mod b; mod host; use a::*; fn main() { host::ask() }";
    let host = "#[cfg(unix)] pub(crate) use crate::a::ask; #[cfg(not(unix))] pub(crate) use crate::b::ask;";
    let files = [("main.rs", main), ("host.rs", host), ("a.rs", ""), ("b.rs", "")];
    assert_eq!(imports(&files), ["main.rs -> a.rs: * ask", "main.rs -> b.rs: ask"]);
}

#[test]
fn a_module_without_a_file_is_an_error() {
    let root = tree(&[("host/cli/src/main.rs", "mod gone;")]);
    let error = run(root.path(), &mut |_| {}).unwrap_err().to_string();
    assert!(error.contains("no file for `mod gone;`"), "{error}");
}

#[test]
fn public_items_that_no_other_crate_uses_are_reported() {
    let core = "pub struct Table { pub seen: Part, pub unseen: u8, private: u8 }
pub struct Part;
pub struct Idle;
pub(crate) struct Inner;
pub enum Answer { Yes(Deep) }
pub struct Deep;
pub const LIMIT: usize = 1;
pub use std::mem as memory;
impl Table { pub const fn make() -> Answer { todo() } pub fn never(&self, idle: Idle) {} }
#[cfg(test)] mod tests { pub fn helper() {} }";
    let user = "fn main() { let made = pivot_core::Table::make(); let it = made.seen; }";
    let files = [("host/core/src/lib.rs", core), ("host/cli/src/main.rs", user)];
    let expected = "no other crate uses field unseen (host/core/src/lib.rs:1)
no other crate uses struct Idle (host/core/src/lib.rs:3)
no other crate uses const LIMIT (host/core/src/lib.rs:7)
no other crate uses use memory (host/core/src/lib.rs:8)
no other crate uses fn never (host/core/src/lib.rs:9)";
    assert_eq!(report(&files), expected);
}

#[test]
fn texts_of_the_libraries_that_name_a_flag_are_reported() {
    let core = r##"//! `--in-a-comment`, `pivot-host status`
mod inner;
#[cfg(test)] mod tests;
/// Or `--here`.
fn f() { format!("accept it: {}", ["--accept-loss", "a--b", "a -- b", "---"]); }
#[error("name one\n--move")] struct S;
#[cfg(test)] mod inline { const FLAG: &str = "--in-a-test"; }"##;
    let inner = "const WAY: &str = \"see `pivot-host status`\"; const MARK: &str = \"pivot-host.io/move\";";
    let files = [
        ("host/core/src/lib.rs", core),
        ("host/core/src/inner.rs", inner),
        ("host/core/src/tests.rs", "const FLAG: &str = \"--in-a-test\";"),
        ("host/cli/src/main.rs", "const FLAG: &str = \"--allowed\";"),
    ];
    let expected = r#"host/core/src/inner.rs:1 names a flag or a command: "see `pivot-host status`"
host/core/src/lib.rs:5 names a flag or a command: "--accept-loss"
host/core/src/lib.rs:6 names a flag or a command: "name one\n--move""#;
    assert_eq!(report(&files), expected);
}

#[test]
fn what_a_page_names_and_is_not_there_is_reported() {
    let page = "`a.rs` `cli/src/a.rs:go` `a.rs:Thing` `a.rs:LIMIT` `host/cli/`, and in a block
```
`gone_from_a_block.rs`
```
`gone.rs` `cli/gone/` `a.rs:lost` `src/lib.rs` `core: checked` `cli:
checked_too` `cli: go` `gone.rs:go`";
    let a = "pub(crate) struct Thing; impl Thing { const LIMIT: u8 = 1; }
        pub(crate) fn go() { let lost = 1; }
        #[cfg(test)] mod tests { #[test] fn checked() {} }";
    let files = [
        ("docs/maintainers.md", page),
        ("host/cli/src/main.rs", "mod a; fn main() {}"),
        ("host/cli/src/a.rs", a),
        ("host/cli/src/lib.rs", ""),
    ];
    let expected = "docs/maintainers.md names `gone.rs`: no such file or folder
docs/maintainers.md names `cli/gone/`: no such file or folder
docs/maintainers.md names `a.rs:lost`: host/cli/src/a.rs defines no lost
docs/maintainers.md names `src/lib.rs`: which one, host/cli/src/lib.rs or host/core/src/lib.rs?
docs/maintainers.md names `core: checked`: no test of that name below a folder core
docs/maintainers.md names `cli: checked_too`: no test of that name below a folder cli
docs/maintainers.md names `cli: go`: no test of that name below a folder cli
docs/maintainers.md names `gone.rs:go`: no such file or folder";
    assert_eq!(report(&files), expected);
}

#[test]
fn tests_that_a_page_names_by_hand_are_reported() {
    let page =
        "`cli: one_two` `src/main.rs:one_two` `one_two` `two`, but not <!--I1-->`cli: one_two`<!--/I1-->";
    let code = "fn main() {}\n#[cfg(test)] mod tests {\n    #[tokio::test(start_paused = true)] async fn two() {}\n    // proves: I1\n    #[test]\n    fn one_two() {}\n}\n";
    let files = [("ARCHITECTURE.md", page), ("docs/page.md", "`cli: two`"), ("host/cli/src/main.rs", code)];
    let instead = "name its file, or tag it with the number that it proves";
    let expected = [
        format!("ARCHITECTURE.md names the test `cli: one_two`: {instead}"),
        format!("ARCHITECTURE.md names the test `src/main.rs:one_two`: {instead}"),
        format!("ARCHITECTURE.md names the test `one_two`: {instead}"),
        format!("docs/page.md names the test `cli: two`: {instead}"),
    ];
    assert_eq!(report(&files), expected.join("\n"));
}

#[test]
fn what_only_looks_like_a_name_is_left_alone() {
    let page = "`pivot-host.io/move` `../shared/metal3` `.pivot-sdk` `xtask test unit` `cargo xtask test` `a | b` `Place`
        `~/.cache/pivot-host` `http://host/a` `w3_…` `phase: Paused, or later` `/status/state` `keeps_state`";
    assert_eq!(report(&[("ARCHITECTURE.md", page)]), "");
    assert_eq!(
        report(&[("ARCHITECTURE.md", "`one` `two")]),
        "ARCHITECTURE.md has a code span that doesn't end"
    );
}

#[test]
fn each_weakness_has_one_row_with_a_test_of_its_number() {
    let row = |number: usize| match number {
        1 => "| W1 | a | b | <!--W1-->`core: w1_a`, `core: w1_b`<!--/W1--> |".to_owned(),
        2 => "| W2 | a | b | <!--W2-->`core: w1_a`<!--/W2--> |".to_owned(),
        3 => "| W3 | a | b | c |".to_owned(),
        4 => "| W4 | a | b | no test: c |\n| W4 | again | b | no test: c |".to_owned(),
        5 => String::new(),
        _ => format!("| W{number} | a | b | no test: c |"),
    };
    let expected = format!(
        "{WEAKNESSES}: W2 names `core: w1_a`, which doesn't begin with w2_\n{WEAKNESSES}: W3 names no test\n\
         {WEAKNESSES}: W4 has 2 rows\n{WEAKNESSES}: W5 has 0 rows"
    );
    let files = [
        (WEAKNESSES, &rows(row)),
        ("host/core/src/lib.rs", &tagged("W1, W2", "w1_a")),
        ("host/core/tests/b.rs", &tagged("W1", "w1_b")),
    ];
    assert_eq!(report(&files.map(|(file, text)| (file, text.as_str()))), expected);
}

#[test]
fn files_that_git_does_not_track_are_ignored() {
    let page = ("docs/maintainers.md", "`core/src/lib.rs` `plugins.toml`");
    let root = tree(&[page, ("plugins/plugins.toml", "")]);
    let scratch =
        ["host/cli/tests/scratch.rs", "host/cli/tests/scratch/main.rs", "host/cli/src/bin/scratch.rs"];
    for file in scratch.into_iter().chain(["plugins/dist/plugins.toml", "host/other/src/lib.rs"]) {
        write(&root, file, "fn broken( {");
    }
    run(root.path(), &mut |line| panic!("{line}")).unwrap();
    scratch.into_iter().for_each(|file| fs::remove_file(root.path().join(file)).unwrap());
    git(&root, &["add", "--all"]);
    let error = run(root.path(), &mut |_| {}).unwrap_err();
    assert!(format!("{error:#}").contains("host/other/src/lib.rs"), "{error:#}");
}

#[test]
fn mutations_of_lines_that_are_gone_are_reported() {
    let list = "[[mutation]]
file = 'host/cli/src/main.rs'
line = 'if a {'
with = 'if b {'
test = '--lib'
[[mutation]]
file = 'host/cli/src/main.rs'
line = 'twice();'
with = ''
test = '--lib'
[[mutation]]
file = 'host/cli/src/main.rs'
line = 'same();'
with = 'same();'
test = '--lib'
[[mutation]]
file = 'host/cli/src/gone.rs'
line = 'x'
with = 'y'
test = '--lib'
";
    let main = "fn main() {\n    if a {\n        twice();\n        twice();\n    }\n    same();\n}\n";
    let expected = "host/cli/src/main.rs doesn't have the line of a mutation exactly once: `twice();`
host/cli/src/main.rs: a mutation leaves `same();` as it is
host/cli/src/gone.rs doesn't have the line of a mutation exactly once: `x`";
    assert_eq!(report(&[("tests/mutations/some.toml", list), ("host/cli/src/main.rs", main)]), expected);
}

#[test]
fn tests_that_a_manifest_hides_are_reported() {
    let code = "#[cfg(test)] mod tests { #[test] fn never_run() {} }";
    let hidden = "[package]\nname = \"pivot-core\"\n[lib]\ntest = false\n";
    let files = [
        ("host/core/Cargo.toml", hidden),
        ("host/core/src/lib.rs", code),
        ("host/core/tests/main.rs", "#[test] fn runs() {}"),
        ("host/cli/src/main.rs", code),
    ];
    let expected = "host/core/Cargo.toml: `test = false` keeps these tests from running: never_run";
    assert_eq!(report(&files), expected);
    assert_eq!(report(&[files[0], files[2], files[3]]), "");
}

/// A test with these numbers above it.
fn tagged(numbers: &str, test: &str) -> String {
    format!(
        "#[cfg(test)] mod tests {{\n    // proves: {numbers}\n    #[tokio::test(start_paused = true)]\n    async fn {test}() {{}}\n}}\n"
    )
}

#[test]
fn pages_list_the_tests_that_prove_their_rows() {
    let page = "| 1 | observer; <!--I1-->`core: gone`<!--/I1--> | <!-- a remark --> <!--I2-->x<!--/I2--> |\n";
    let root = tree(&[
        ("ARCHITECTURE.md", page),
        ("host/core/src/lib.rs", &tagged("I1", "one")),
        ("host/cli/src/main.rs", &tagged("I1", "two")),
    ]);
    let mut lines = Vec::new();
    run(root.path(), &mut |line| lines.push(line.to_owned())).unwrap_err();
    assert!(lines.concat().contains("ARCHITECTURE.md names other tests"), "{lines:?}");
    write_pages(root.path()).unwrap();
    let written = fs::read_to_string(root.path().join("ARCHITECTURE.md")).unwrap();
    assert_eq!(
        written,
        "| 1 | observer; <!--I1-->`cli: two`, `core: one`<!--/I1--> | <!-- a remark --> <!--I2-->*not tested*<!--/I2--> |\n"
    );
    run(root.path(), &mut |line| panic!("{line}")).unwrap();
}

#[test]
fn tags_that_prove_nothing_are_reported() {
    let above_function = tagged("I1", "one").replace("#[tokio::test(start_paused = true)]", "#[cfg(unix)]");
    let files = [
        ("ARCHITECTURE.md", "<!--I1-->*not tested*<!--/I1--> <!--I1-->*not tested*<!--/I1-->"),
        ("host/core/src/lib.rs", &above_function),
        ("host/cli/src/main.rs", &tagged("I9", "two")),
    ];
    let expected = "host/core/src/lib.rs:2: `// proves: I1` is not directly above a test
ARCHITECTURE.md has a second place for the tests of I1
no page has a place for the tests of I9: `cli: two`";
    assert_eq!(report(&files), expected);
}

#[test]
fn a_long_readme_is_a_violation() {
    let readme =
        |lines: usize, words: usize| format!("{}{}", "A word.\n".repeat(lines), "word. ".repeat(words));
    assert_eq!(report(&[("README.md", &readme(79, 442))]), "");
    assert_eq!(report(&[("README.md", &readme(80, 0))]), "");
    let long = report(&[("README.md", &readme(80, 441))]);
    let expected = [
        "README.md has 81 lines, and may have 80: move some to a page under docs/",
        "README.md has 601 words, and may have 600: move some to a page under docs/",
    ];
    assert_eq!(long, expected.join("\n"));
}

#[test]
fn book_lists_each_page_once() {
    let pages = PAGES.iter().filter_map(|page| page.strip_prefix("docs/")).chain(["a.md", "guides/b.md"]);
    let pages: Vec<&str> = pages.collect();
    let report_with = |pages: &[&str]| {
        let book = summary_of(pages);
        report(&[("docs/a.md", ""), ("docs/guides/b.md", ""), ("docs/SUMMARY.md", &book)])
    };
    assert_eq!(report_with(&pages), "");
    let twice: Vec<&str> = pages.iter().copied().chain(["a.md"]).collect();
    assert_eq!(report_with(&twice), "docs/SUMMARY.md lists docs/a.md 2 times");
    let other: Vec<&str> =
        pages.iter().copied().filter(|page| *page != "guides/b.md").chain(["c.md"]).collect();
    let expected =
        "docs/SUMMARY.md doesn't list docs/guides/b.md\ndocs/SUMMARY.md lists docs/c.md, which doesn't exist";
    assert_eq!(report_with(&other), expected);
}
