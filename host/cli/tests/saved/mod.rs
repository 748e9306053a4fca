//! Saved plans, as the program writes, shows, compares and carries them out.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::example::{code, err, host, json, of_example, out, paused};
use crate::schemas;

/// A directory, and names in it.
struct Desk(TempDir);

impl Desk {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn at(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    /// Saves a plan of the example's copy into a directory.
    fn save(&self, name: &str, flags: &[&str]) -> Value {
        let (file, copy) = (self.at(name), self.at("copy"));
        let saved = of_example("plan", &[&["--to-directory", &copy, "--out", &file][..], flags].concat());
        assert_eq!(code(&saved), 0, "{}", err(&saved));
        let plan: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        schemas::check(&plan);
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let said =
            format!("the plan is saved in {file}, with checksum {}\n", plan["checksum"].as_str().unwrap());
        assert!(err(&saved).contains(&said), "{}", err(&saved));
        plan
    }
}

// proves: T133
#[test]
fn plan_is_saved_compared_and_carried_out() {
    let desk = Desk::new();
    let plan = desk.save("plan.json", &["-n", "classy"]);
    let file = desk.at("plan.json");
    let shown = host(&["plan", "show", &file]);
    assert_eq!(code(&shown), 0, "{}", err(&shown));
    let text = out(&shown);
    assert!(text.contains(&format!("checksum {}", plan["checksum"].as_str().unwrap())), "{text}");
    let tree = out(&host(&["plan", "show", &file, "--tree"]));
    for step in plan["steps"].as_array().unwrap() {
        assert!(tree.contains(step["object"]["name"].as_str().unwrap()), "{step}");
    }
    // A plan and the file that it is saved in have the same trees.
    let copy = desk.at("copy");
    let planned = out(&of_example("plan", &["--to-directory", &copy, "-n", "classy", "--tree"]));
    let trees = |text: &str| -> Vec<String> {
        let lines = text.lines().skip_while(|line| !line.starts_with("Cluster classy/"));
        lines.take_while(|line| !line.starts_with("Stays ")).map(str::to_owned).collect()
    };
    assert!(trees(&tree).len() > 30, "{tree}");
    assert_eq!(trees(&tree), trees(&planned));
    assert_eq!(json(&host(&["plan", "show", &file, "-o", "json"])), plan);

    // Made again it is the same, but for when.
    desk.save("again.json", &["-n", "classy"]);
    let same = host(&["plan", "diff", &file, &desk.at("again.json"), "-o", "json"]);
    let document = json(&same);
    assert_eq!((code(&same), &document["differences"], &document["otherwise"]), (0, &json!([]), &json!([])));
    assert!(out(&host(&["plan", "diff", &file, &desk.at("again.json")])).starts_with("Same: "));
    let all = desk.save("all.json", &[]);
    let more = host(&["plan", "diff", &file, &desk.at("all.json"), "-o", "json"]);
    let document = json(&more);
    let count = |plan: &Value| plan["steps"].as_array().unwrap().len();
    assert_eq!(code(&more), 10);
    assert_eq!(document["differences"].as_array().unwrap().len(), count(&all) - count(&plan));
    assert_eq!(document["otherwise"], json!(["decisions", "warnings"]));
    assert_eq!(document["changes"][0]["removed"], json!(["namespace classy"]));
    let text = out(&host(&["plan", "diff", &file, &desk.at("all.json")]));
    assert!(
        text.contains("only in the newer") && text.contains("\n  - namespace classy\n  + all namespaces\n"),
        "{text}"
    );

    // Elsewhere, or readable by others or not: that is another plan.
    let elsewhere = of_example("move", &["--plan", &file, "--to-directory", &desk.at("other")]);
    assert_eq!(code(&elsewhere), 3);
    assert!(
        err(&elsewhere).contains("the plan was made for another target, directory "),
        "{}",
        err(&elsewhere)
    );
    let moved = of_example("move", &["--plan", &file, "--to-directory", &desk.at("copy")]);
    assert_eq!(code(&moved), 0, "{}", err(&moved));
}

#[test]
fn invalid_plans_are_distinguished_from_different_ones() {
    let desk = Desk::new();
    desk.save("plan.json", &["-n", "classy"]);
    let good = fs::read_to_string(desk.at("plan.json")).unwrap();
    for (name, content, why) in [
        (
            "edited.json",
            good.replace("\"handover\": false", "\"handover\": true").into_bytes(),
            "it was changed since",
        ),
        ("cut.json", good.as_bytes()[..good.len() / 2].to_vec(), "not all of one"),
        ("newer.json", good.replacen("\"format\": 2", "\"format\": 3", 1).into_bytes(), "in format 3"),
        (
            "older.json",
            good.replacen("\"format\": 2", "\"format\": 1", 1).into_bytes(),
            "make the plan again",
        ),
        ("binary.json", vec![0xff, 0xfe, 0], "it is not text"),
    ] {
        assert_ne!(content, good.as_bytes(), "{name}");
        fs::write(desk.at(name), content).unwrap();
        let (file, other) = (desk.at(name), desk.at("plan.json"));
        for (words, expected) in [
            (&["plan", "show", &file][..], 2),
            (&["plan", "diff", &other, &file], 2),
            (&["move", "--from-directory", ".", "--to-directory", &desk.at("copy"), "--plan", &file], 3),
        ] {
            let refused = host(words);
            assert_eq!(code(&refused), expected, "{words:?}: {}", err(&refused));
            assert!(err(&refused).contains(why), "{words:?}: {}", err(&refused));
        }
    }
    let missing = host(&["plan", "diff", &desk.at("plan.json"), &desk.at("missing.json")]);
    assert_eq!(code(&missing), 2);
    assert!(err(&missing).contains("can't be read"), "{}", err(&missing));
}

/// A pipeline that finds the file must not carry out yesterday's plan.
#[test]
fn plan_file_overwrites_no_input() {
    let desk = Desk::new();
    let file = desk.at("plan.json");
    fs::write(&file, "yesterday's").unwrap();
    let copy = desk.at("copy");
    let empty = ["--to-directory", &copy, "-n", "nowhere", "--out", &file];
    let refused = of_example("plan", &empty);
    assert_eq!(code(&refused), 7, "{}", err(&refused));
    assert!(err(&refused).contains("no plan is saved"), "{}", err(&refused));
    assert_eq!(fs::read_to_string(&file).unwrap(), "yesterday's");

    desk.save("plan.json", &["-n", "classy"]);
    let before = fs::read_to_string(&file).unwrap();
    let over = ["--to-directory", &copy, "--plan", &file, "--report", &file];
    let refused = of_example("move", &over);
    assert_eq!(code(&refused), 3);
    assert!(err(&refused).contains("this command reads it"), "{}", err(&refused));
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
}

#[test]
fn unusable_plan_says_so_when_saved() {
    let desk = Desk::new();
    let file = desk.at("plan.json");
    let alone = of_example("plan", &["--out", &file]);
    assert_eq!(code(&alone), 0, "{}", err(&alone));
    assert!(err(&alone).contains("; without a target it can be looked at"), "{}", err(&alone));
    let paused = paused();
    let from = paused.path().to_str().unwrap();
    let refused =
        host(&["plan", "--from-directory", from, "--to-directory", &desk.at("copy"), "--out", &file]);
    assert_eq!(code(&refused), 3);
    assert!(err(&refused).contains("; it has problems, and can be looked at"), "{}", err(&refused));
    let shown = out(&host(&["plan", "show", &file]));
    assert!(shown.contains("this plan can't be carried out"), "{shown}");
}
