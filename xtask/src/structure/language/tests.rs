use std::fs;
use std::process::Command;

use super::rules::{Part, RULES};
use super::text::{of_page, of_rust};
use super::{ACCEPTED, Accepted, Earlier, RULES_FILE, find_raised, lower, parse, violations};
use crate::shell::said;

/// Names of the rules that reject a part, with the words that they reject.
fn rejected(part: Part, words: &[String]) -> Vec<(&'static str, String)> {
    let judges = RULES.iter().filter(|rule| rule.parts.contains(&part));
    judges.flat_map(|rule| rule.find(words).into_iter().map(|found| (rule.name, found))).collect()
}

fn rejected_on_page(page: &str) -> Vec<(&'static str, String)> {
    of_page(page).iter().flat_map(|part| rejected(part.part, &part.words)).collect()
}

fn rejected_in_code(code: &str) -> Vec<(&'static str, String, usize)> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("code.rs");
    fs::write(&file, code).unwrap();
    let parts = of_rust(&file, false).unwrap();
    let found = |part: &super::text::Words| -> Vec<_> {
        let rejected = rejected(part.part, &part.words);
        rejected.into_iter().map(|(rule, words)| (rule, words, part.line)).collect()
    };
    parts.iter().flat_map(found).collect()
}

/// Names of the rules that reject some code, or a page if it begins as a paragraph does.
fn rules_against(text: &str) -> Vec<&'static str> {
    match text.strip_prefix("page: ") {
        Some(page) => rejected_on_page(page).into_iter().map(|(rule, _)| rule).collect(),
        None => rejected_in_code(text).into_iter().map(|(rule, ..)| rule).collect(),
    }
}

/// For each rule, a text that it rejects and a similar one that no rule rejects.
const EXAMPLES: &[(&str, &str, &str)] = &[
    ("pronoun-start", "/// What it has.\nstruct Lease;", "/// A lease held by this run.\nstruct Lease;"),
    ("passive", "page: The user is told.", "page: pivot-host tells the user."),
    ("passive-shown", "page: Ten objects are shown.", "page: The plan shows ten objects."),
    (
        "clause-subject",
        r#"fn f() { g("Stopped.\nwhat stays is {n} objects") }"#,
        r#"fn f() { g("what", "{what} is left", "see what stays") }"#,
    ),
    (
        "clause-subject",
        "page: Set it. What stays is listed.",
        "page: | what | **Who.** Users. | what it does |",
    ),
    (
        "clause-subject-in-comment",
        "// A file. What is in it counts.\nfn f() {}",
        "// A file. What now? It counts what is in it.\nfn f() {}",
    ),
    (
        "fronted-genitive",
        "page: Of Secrets it has the names.",
        "page: For Secrets it has the names: of two. Of the pod.",
    ),
    ("said-flag", "page: To allow it, say `--accept`.", "page: The log says `moved`. Set `--accept`."),
    ("bare-pointer", "page: The lease and that of the run.", "page: The lease and the lease of the run."),
    ("nobody", "page: Nobody reads it.", "page: No controller reads it, see `nobody`."),
    ("has-to-be", "page: It has to be there.", "page: It must be there, and has to do with it."),
    ("old-words", "page: All but for one.", "page: All but one, for now."),
    ("terms", "page: Un-pause it.", "page: Unpause it."),
    ("beside", "page: The key lies beside the file.", "page: The key lies next to the file, besides."),
    ("not-allowed", "page: They may not read it.", "page: They must not read it."),
    ("preposition-name", "fn of() {}", "impl From<A> for B { fn from() {} }\nfn find_of() {}"),
    ("participle-name", "fn named() {}", "fn need() {}\nfn find_named() {}"),
    (
        "preposition-closure",
        "fn f() { let of = async move |x| x; }",
        "fn f() { let of = 1; let add = |x| x; }",
    ),
    ("participle-closure", "fn f() { let mut named = |x| x; }", "fn f() { let named = a | b; }"),
    ("preposition-item", "mod from {}", "mod from_directory {}\nconst fn f() {}"),
    ("participle-item", "const SHOWN: usize = 1;", "const MAX_SHOWN: usize = 1;\nstruct PlanSigned;"),
    ("participle-item", "struct Signed;", "#[cfg(test)]\nmod tests { struct Signed; }"),
];

#[test]
fn rules_reject_their_examples_alone() {
    for (rule, rejected, accepted) in EXAMPLES {
        assert_eq!(rules_against(rejected), [*rule], "{rejected}");
        assert_eq!(rules_against(accepted), Vec::<&str>::new(), "{accepted}");
    }
}

#[test]
fn each_rule_has_an_example() {
    for rule in RULES.iter().filter(|rule| rule.name != "sentence-over-25") {
        assert!(EXAMPLES.iter().any(|(name, ..)| *name == rule.name), "{}", rule.name);
    }
}

#[test]
fn phrases_are_found_across_lines_and_not_in_code() {
    let page = "# Nobody\n\nA file\nneed\nnot exist.\n\n```\nnobody\n```\n\nSet `nobody` here.\n";
    assert_eq!(rejected_on_page(page), [("nobody", "nobody".into()), ("has-to-be", "need not".into())]);
}

#[test]
fn long_sentences_end_at_stops_and_cells() {
    let words = |count: usize| vec!["word"; count].join(" ");
    assert_eq!(rejected_on_page(&format!("{}. {}: {}.", words(25), words(25), words(25))), []);
    assert_eq!(rejected_on_page(&format!("| {} | {} |", words(20), words(20))), []);
    let long = "26 words: word word word word word word word word …".to_owned();
    assert_eq!(rejected_on_page(&words(26)), [("sentence-over-25", long)]);
}

#[test]
fn findings_have_their_lines() {
    let code = "/// A thing.\n/// More.\nfn run() {\n    let named = |x| x;\n    tell(\"nobody\");\n}\n\nmod taken {}\n";
    let expected = [
        ("nobody", "nobody".into(), 5),
        ("participle-closure", "named".into(), 4),
        ("participle-item", "taken".into(), 8),
    ];
    assert_eq!(rejected_in_code(code), expected);
}

/// The list and the rules of an earlier commit.
fn earlier(list: &str, rules: &[&str]) -> Earlier {
    let rules = rules.iter().map(|rule| format!("name: \"{rule}\",\n")).collect();
    Earlier { accepted: parse(list).unwrap(), rules }
}

#[test]
fn accepted_findings_only_become_fewer() {
    let list = |text: &str| -> Accepted { parse(text).unwrap() };
    let before = earlier("nobody\ta\t2\nnobody\tb\t1\n", &["nobody", "terms"]);
    assert_eq!(find_raised(&list("nobody\tb\t3\n"), &before), Vec::<String>::new());
    assert_eq!(find_raised(&list("nobody\ta\t1\nbeside\ta\t9\n"), &before), Vec::<String>::new());
    assert_eq!(
        find_raised(&list("nobody\ta\t4\nterms\ta\t1\n"), &before),
        [
            "xtask/language.txt accepts 4 findings of nobody, and accepted 3 before",
            "xtask/language.txt accepts 1 findings of terms, and accepted 0 before",
        ]
    );
}

#[test]
fn only_new_rules_add_to_the_list() {
    let root = tempfile::tempdir().unwrap();
    let write = |file: &str, text: &str| {
        let file = root.path().join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    };
    let git =
        |arguments: &[&str]| said(Command::new("git").args(arguments).current_dir(root.path())).unwrap();
    write("page.md", "Nobody reads it.\n\nIt lies beside the file.\n");
    write(ACCEPTED, "");
    write(RULES_FILE, "name: \"nobody\"");
    git(&["init", "--quiet"]);
    git(&["add", "--all"]);
    git(&["-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "--message", "One"]);

    lower(root.path(), &[]).unwrap();
    assert_eq!(fs::read_to_string(root.path().join(ACCEPTED)).unwrap(), "beside\tpage.md\t1\n");
    let listed = "page.md: 1 findings of nobody, of which xtask/language.txt accepts 0:\n  page.md:1: nobody";
    let found = violations(root.path(), &[]).unwrap();
    assert!(matches!(&found[..], [one] if one.starts_with(listed)), "{found:?}");

    write(ACCEPTED, "beside\tpage.md\t1\nnobody\tpage.md\t1\n");
    let raised = "xtask/language.txt accepts 1 findings of nobody, and accepted 0 before";
    assert_eq!(violations(root.path(), &[]).unwrap(), [raised]);
}
