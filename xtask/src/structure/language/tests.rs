use super::rules::{Part, RULES};
use super::text::{of_page, of_rust};

/// Names of the rules that reject a part, with what they reject.
fn rejected(part: Part, words: &[String]) -> Vec<(&'static str, String)> {
    let rules = RULES.iter().filter(|rule| rule.parts.contains(&part));
    rules.flat_map(|rule| rule.find(words).into_iter().map(|found| (rule.name, found))).collect()
}

fn rejected_on_page(page: &str) -> Vec<(&'static str, String)> {
    of_page(page).iter().flat_map(|part| rejected(part.part, &part.words)).collect()
}

fn rejected_in_code(code: &str) -> Vec<(&'static str, String, usize)> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.rs");
    std::fs::write(&file, code).unwrap();
    let parts = of_rust(&file, false).unwrap();
    let in_part = |part: &super::text::Words| {
        let line = part.line;
        rejected(part.part, &part.words)
            .into_iter()
            .map(move |(rule, found)| (rule, found, line))
            .collect::<Vec<_>>()
    };
    parts.iter().flat_map(in_part).collect()
}

#[test]
fn phrases_are_found_across_lines_and_not_in_code() {
    let page = "# Nobody\n\nA file\nneed\nnot exist.\n\n```\nnobody\n```\n\nSet `nobody` here.\n";
    assert_eq!(rejected_on_page(page), [("nobody", "nobody".into()), ("has-to-be", "need not".into())]);
}

#[test]
fn long_sentences_end_at_stops_and_cells() {
    let words = |count: usize| vec!["word"; count].join(" ");
    assert_eq!(rejected_on_page(&format!("{}. {}.", words(35), words(35))), []);
    assert_eq!(rejected_on_page(&format!("| {} | {} |", words(20), words(20))), []);
    let long = "36 words: word word word word word word word word …".to_owned();
    assert_eq!(rejected_on_page(&words(36)), [("long-sentence", long)]);
}

#[test]
fn comments_begin_with_the_item() {
    let code = "/// What a thing is.\n/// More of it.\nstruct Thing;\n\n/// Whether it is.\nfn is_it() {}\n";
    assert_eq!(rejected_in_code(code), [("pronoun-start", "what".into(), 1)]);
}

#[test]
fn names_of_functions_are_verbs() {
    let code = "fn named() {}\nfn of() {}\nfn need() {}\nfn find_named() {}\nimpl From<A> for B { fn from() {} }\n\
                #[cfg(test)]\nmod tests { fn of() {} }\n";
    let expected = [("participle-name", "named".into(), 1), ("preposition-name", "of".into(), 2)];
    assert_eq!(rejected_in_code(code), expected);
}

#[test]
fn messages_are_prose() {
    let code = "fn f() { g(\"nobody is there\", r#\"it is told: {x}\"#); }\n";
    assert_eq!(
        rejected_in_code(code),
        [("passive", "is told".into(), 1), ("nobody", "nobody".into(), 1)]
            .into_iter()
            .rev()
            .collect::<Vec<_>>()
    );
}
