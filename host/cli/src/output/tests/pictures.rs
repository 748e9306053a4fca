//! Plans as graphs and as a page: golden texts, names that try to be more than names, and what Graphviz makes of them.

use expect_test::{expect, expect_file};
use pivot_core::messages::remedy::Remedy;
use pivot_core::messages::risk::Risk;
use pivot_core::messages::shell::Kubectl;
use pivot_core::request::scope::{Namespaces, Scope};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::*;
use crate::args::Picture;

fn of(picture: Picture, plan: &Plan, sides: (&str, &str)) -> String {
    ended(picture, plan, sides, &Reported::default(), &[])
}

fn ended(
    picture: Picture,
    plan: &Plan,
    sides: (&str, &str),
    reported: &Reported,
    failed: &[String],
) -> String {
    let scope = &Scope::new(Namespaces::All);
    let now = "2026-08-21T03:00:00Z".to_owned();
    let (files, moves, next) = (false, &[], &[]);
    let command = Some("pivot-host move --to-kubeconfig b");
    let outlook = Outlook { has_failed: !failed.is_empty(), has_target: true, has_dry_run: false, command };
    let verdict = &judge_plan(plan, reported, outlook);
    let again = "pivot-host plan --to-kubeconfig b".to_owned();
    let page = PlanPage {
        plan,
        sides,
        scope,
        files,
        pause: describe_pause(true, true, false),
        verdict,
        moves,
        next,
        again,
        reported,
        failed,
        now,
    };
    draw_plan(picture, &page)
}

fn plan_with_problems() -> Plan {
    Plan { refusals: refusals(), ..small_plan() }
}

#[test]
fn a_plan_is_drawn_for_graphviz() {
    check(
        of(Picture::Dot, &plan_with_problems(), SIDES),
        &expect![[r#"
        digraph plan {
          graph [rankdir=LR, labelloc=t, label="Plan: 5 objects (1 Cluster, 1 ClusterClass), 1 of them kept in the source too, from kind-boot to prod", fontname="sans-serif"]
          node [shape=box, fontname="sans-serif"]
          subgraph cluster_0 {
            label="of no Cluster"
            s0 [label="ClusterClass\nns/standard\nkept in the source too", peripheries=2]
            s4 [label="Identity\nglobal"]
          }
          subgraph cluster_1 {
            label="Cluster ns/edge"
            s1 [label="Cluster\nns/edge\n! 1 problem", penwidth=4]
            s2 [label="Machine\nns/edge-1"]
            s3 [label="Secret\nns/edge-1"]
          }
          s0 -> s1
          s1 -> s2
          s1 -> s3
          s2 -> s3
          subgraph cluster_stays {
            label="stays in the source"
            r0 [shape=note, label="1: kind Thing.g.io is not labelled for move"]
            r1 [shape=note, label="2: not linked with any Cluster"]
          }
        }
    "#]],
    );
}

#[test]
fn a_plan_is_drawn_for_mermaid() {
    check(
        of(Picture::Mermaid, &plan_with_problems(), SIDES),
        &expect![[r#"
        flowchart LR
          plan["Plan: 5 objects #40;1 Cluster, 1 ClusterClass#41;, 1 of them kept in the source too, from kind-boot to prod"]
          subgraph c0["of no Cluster"]
            s0[["ClusterClass<br/>ns/standard<br/>kept in the source too"]]
            s4["Identity<br/>global"]
          end
          subgraph c1["Cluster ns/edge"]
            s1["Cluster<br/>ns/edge<br/>#33; 1 problem"]
            s2["Machine<br/>ns/edge-1"]
            s3["Secret<br/>ns/edge-1"]
          end
          s0 --> s1
          s1 --> s2
          s1 --> s3
          s2 --> s3
          subgraph stays["stays in the source"]
            r0>"1: kind Thing.g.io is not labelled for move"]
            r1>"2: not linked with any Cluster"]
          end
    "#]],
    );
}

/// Each is what a language of pictures, or a terminal, would act upon.
const HOSTILE: [&str; 8] = [
    "a\"]\n  evil [label=\"x",
    "tail\\",
    "\\N \\G \\\"",
    "&lt;b&gt; &amp;",
    "<script>alert(1)</script>",
    "`**bold**` #quot; #35;",
    "end\n  click s0 href \"https://example.org\"",
    "\u{202e}%%{init: {}}%% ;;",
];

fn hostile_plan() -> Plan {
    let steps = HOSTILE.iter().enumerate().map(|(index, name)| Step {
        fate: if index == 1 { Fate::FromManifest } else { Fate::Move },
        cluster: Some(capi("Cluster", name)),
        ..step(capi("Machine", name), if index == 0 { &[] } else { &[0] })
    });
    let left = |reason: &&str| StayReason::Left { plugin: "p".into(), reason: (*reason).to_owned() };
    let stays = HOSTILE.iter().map(|name| Stay { key: capi("Thing", name), reason: left(name) });
    Plan { steps: steps.collect(), stays: stays.collect(), ..Plan::default() }
}

/// The lines of a picture of harmless names with the same shape: a hostile name adds none, and changes none but by its own text.
// proves: T94
#[test]
fn a_name_adds_nothing_to_a_picture() {
    let mut harmless = hostile_plan();
    for (index, step) in harmless.steps.iter_mut().enumerate() {
        step.key.name = format!("n{index}");
    }
    for picture in [Picture::Dot, Picture::Mermaid] {
        let [hostile, harmless] =
            [hostile_plan(), harmless.clone()].map(|plan| of(picture, &plan, ("so\"urce", "tar\\get")));
        assert_eq!(hostile.lines().count(), harmless.lines().count(), "{hostile}");
        for line in hostile.lines() {
            let quotes = line.replace("\\\\", "").replace("\\\"", "").matches('"').count();
            assert!(quotes % 2 == 0 && quotes <= 4, "{line}");
            assert!(!line.contains('\u{202e}'), "{line}");
            if picture == Picture::Mermaid {
                let inside = line.split('"').nth(1).unwrap_or_default().replace("<br/>", "");
                assert!(!inside.contains(['<', '>', '`', '&', '\\', '[', ']', '%']), "{line}");
            }
        }
    }
}

/// `tests/external_programs` passes these files to Graphviz.
#[test]
fn graphs_show_steps_and_dependencies() {
    let files = [expect_file!["plan_with_problems.dot"], expect_file!["hostile_plan.dot"]];
    for (plan, file) in [plan_with_problems(), hostile_plan()].iter().zip(files) {
        let text = of(Picture::Dot, plan, SIDES);
        let reasons = plan.stays.iter().map(|stay| stay.reason.to_string());
        let reasons = reasons.collect::<std::collections::BTreeSet<_>>().len();
        let words = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let (mut nodes, mut edges) = (0, 0);
        for words in words {
            match words.as_slice() {
                ["graph" | "node", ..] => {}
                [_, "->", ..] => edges += 1,
                [_, attributes, ..] if attributes.starts_with('[') => nodes += 1,
                _ => {}
            }
        }
        assert_eq!(nodes, plan.steps.len() + reasons, "{text}");
        assert_eq!(edges, plan.steps.iter().map(|step| step.after.len()).sum::<usize>(), "{text}");
        file.assert_eq(&text);
    }
}

/// The data of a page, as a browser finds it, and what is around it.
fn data(page: &str) -> (Value, String) {
    let begin = "<script type=\"application/json\" id=\"data\">";
    let (head, rest) = page.split_once(begin).unwrap();
    let (data, tail) = rest.split_once("</script>").unwrap();
    (serde_json::from_str(data).unwrap(), [head, begin, "</script>", tail].concat())
}

#[test]
fn page_has_the_plan_with_interned_words() {
    let (data, _) = data(&of(Picture::Html, &plan_with_problems(), SIDES));
    let expected = expect![[r#"
        {
          "cards": {
            "notes": [
              {
                "by": "",
                "code": "n",
                "commands": [],
                "message": "two classes share a template",
                "objects": [],
                "remedy": "",
                "times": 1
              }
            ],
            "problems": [
              {
                "by": "source",
                "code": "paused",
                "commands": [],
                "message": "Cluster ns/edge is paused",
                "objects": [
                  "Cluster ns/edge"
                ],
                "remedy": "unpause it, or --accept already-paused",
                "times": 1
              },
              {
                "by": "target",
                "code": "crd-missing",
                "commands": [],
                "message": "kind Machine.cluster.x-k8s.io is not served",
                "objects": [],
                "remedy": "install Cluster API",
                "times": 1
              }
            ],
            "warnings": []
          },
          "files": false,
          "head": {
            "again": "pivot-host plan --to-kubeconfig b",
            "facts": [
              [
                "What",
                "all namespaces"
              ],
              [
                "Planned",
                "2026-08-21T03:00:00Z"
              ],
              [
                "By",
                "pivot-host 0.1.0"
              ]
            ],
            "next": [],
            "pause": "from before the copy until the target takes over; the report has the time",
            "source": "kind-boot",
            "target": "prod",
            "title": "Plan of a move",
            "verdict": {
              "sign": "bad",
              "text": "2 problems: a move would be refused. Solve what is listed, then plan again."
            }
          },
          "plan": {
            "moves": [],
            "needed": [],
            "stays": [
              [
                8,
                2,
                "pull",
                10
              ],
              [
                11,
                2,
                "rack",
                10
              ],
              [
                12,
                2,
                "t",
                13
              ]
            ],
            "steps": [
              [
                1,
                2,
                "standard",
                "keep",
                3,
                0,
                -1,
                [],
                "uid-of-standard",
                [],
                []
              ],
              [
                4,
                2,
                "edge",
                "move",
                3,
                -1,
                5,
                [
                  0
                ],
                "uid-of-edge",
                [],
                []
              ],
              [
                6,
                2,
                "edge-1",
                "move",
                3,
                -1,
                5,
                [
                  1
                ],
                "uid-of-edge-1",
                [],
                []
              ],
              [
                8,
                2,
                "edge-1",
                "move",
                3,
                -1,
                5,
                [
                  1,
                  2
                ],
                "uid-of-edge-1",
                [
                  7
                ],
                []
              ],
              [
                9,
                -1,
                "global",
                "move",
                3,
                -1,
                -1,
                [],
                "uid-of-global",
                [],
                []
              ]
            ],
            "summary": {
              "clusterClasses": 1,
              "clusters": 1,
              "fromManifests": 0,
              "kept": 1,
              "moved": 4,
              "objects": 5,
              "stay": 3
            },
            "words": [
              "ClusterClass ns/standard is used by Cluster ns/other, which stays",
              "ClusterClass.cluster.x-k8s.io",
              "ns",
              "moves with everything it owns",
              "Cluster.cluster.x-k8s.io",
              "Cluster ns/edge",
              "Machine.cluster.x-k8s.io",
              "Node n",
              "Secret",
              "Identity.infra.io",
              "not linked with any Cluster",
              "ConfigMap",
              "Thing.g.io",
              "kind Thing.g.io is not labelled for move"
            ]
          }
        }"#]];
    expected.assert_eq(&serde_json::to_string_pretty(&data).unwrap());
}

#[test]
fn page_has_findings_and_the_stop() {
    let found = |severity: &str| -> Event {
        let event = json!({
            "event": "finding", "plugin": "my-hosts", "code": "full", "severity": severity, "text": "no room",
            "object": {"group": "", "kind": "Host", "namespace": "ns", "name": "h"}, "remedy": "make some",
        });
        serde_json::from_value(event).unwrap()
    };
    let page = |events: &[Event], failed: &[String]| {
        let mut reported = Reported::default();
        events.iter().for_each(|event| reported.keep_event(event));
        data(&ended(Picture::Html, &small_plan(), SIDES, &reported, failed)).0
    };
    let verdict = |page: &Value| page["head"]["verdict"]["text"].as_str().unwrap().to_owned();

    let warned = page(&[found("warn")], &[]);
    assert_eq!(verdict(&warned), "No problems; 1 warning.");
    let card = json!({
        "by": "my-hosts", "code": "full", "objects": ["Host ns/h"], "message": "no room", "times": 1,
        "remedy": "make some", "commands": [],
    });
    assert_eq!(warned["cards"]["warnings"], json!([card]));
    assert_eq!(warned.get("message"), None);
    let no_node = "the target has no ready node".to_owned();
    let risky = page(
        &[
            Event::Accepted { code: Risk::TakeoverUnchecked, kinds: Vec::new() },
            Event::Warning {
                code: "no-ready-node".into(),
                object: None,
                text: no_node.clone(),
                remedies: Vec::new(),
            },
        ],
        &[],
    );
    assert_eq!(verdict(&risky), "No problems; 1 risk accepted, 1 warning.");
    assert_eq!(risky["head"]["verdict"]["sign"], "warn");
    assert_eq!(risky["head"]["next"], json!(["pivot-host move --to-kubeconfig b"]));
    assert_eq!(risky["head"].get("again"), None);
    let card = &risky["cards"]["warnings"][0];
    assert_eq!((&card["code"], &card["message"]), (&json!("no-ready-node"), &json!(no_node)));
    assert!(risky["accepted"][0]["text"].as_str().unwrap().ends_with("(takeover-unchecked)"), "{risky}");
    let stops = page(&[found("warn"), found("stop")], &[]);
    assert_eq!(verdict(&stops), "1 problem: a move would be refused. Solve what is listed, then plan again.");
    assert_eq!(stops["head"]["next"], json!([]));
    assert_eq!(stops["head"]["again"], "pivot-host plan --to-kubeconfig b");
    let stopped = page(&[], &["the source does not answer".to_owned()]);
    assert_eq!(verdict(&stopped), "Planning stopped before everything was checked");
    assert_eq!(stopped["message"], json!(["the source does not answer"]));
}

/// 120 hosts with one problem, twelve problems with one code, and as many warnings.
#[test]
fn pages_and_terminals_count_alike() {
    let found = |severity: &str, name: usize, text: String| -> Event {
        let event = json!({
            "event": "finding", "plugin": "my-hosts", "code": "full", "severity": severity, "text": text,
            "object": {"group": "", "kind": "Host", "namespace": "ns", "name": format!("h{name}")},
            "remedy": format!("make room for h{name}"),
        });
        serde_json::from_value(event).unwrap()
    };
    let mut reported = Reported::default();
    for severity in ["stop", "warn"] {
        (0..120).for_each(|name| reported.keep_event(&found(severity, name, format!("h{name} has no room"))));
        (0..12).for_each(|name| reported.keep_event(&found(severity, name, format!("shelf {name} is full"))));
    }
    let plan = plan_with_problems();
    let page = data(&ended(Picture::Html, &plan, SIDES, &reported, &[])).0;
    let number = |cards: &str| page["cards"][cards].as_array().unwrap().len();
    assert_eq!((number("problems"), number("warnings"), number("notes")), (15, 13, 1));
    assert!(page["head"]["verdict"]["text"].as_str().unwrap().starts_with("15 problems: "), "{page}");
    let folded = &page["cards"]["problems"][2];
    assert_eq!((&folded["times"], folded["objects"].as_array().unwrap().len()), (&json!(120), 120));
    for all in [false, true] {
        let map = NamespaceMap::default();
        let text = Document::<PlanDocument<'_>>::text(&plan, &reported, SIDES, &map, (false, all)).message();
        assert!(text.contains("\nProblems (15):\n") && text.contains("\nWarnings (13):\n"), "{text}");
    }
}

/// A report has the notes of its plan once.
#[test]
fn reports_show_each_note_once() {
    let recorder = Recorder::begin();
    let note = Note { code: "n".into(), object: None, message: "two classes share a template".into() };
    let plan = Plan { notes: vec![note.clone()], ..small_plan() };
    recorder.event(Event::Planned { summary: (&plan).into(), plan: plan.into() });
    recorder.event(note.into());
    let ending = Ending {
        outcome: "Moved",
        code: 0,
        move_id: None,
        result: json!({}),
        files: false,
        message: Vec::new(),
        refusals: Vec::new(),
    };
    let page = data(&recorder.build_report("move", "jane", true, &ending)).0;
    let notes = page["cards"]["notes"].as_array().unwrap();
    assert_eq!((notes.len(), &notes[0]["times"]), (1, &json!(1)), "{notes:?}");
}

#[test]
fn only_own_commands_are_offered_to_copy() {
    let own = Kubectl::new(Side::Source, ["get", "x"]);
    let remedies = vec!["type `rm -r x`".into(), Remedy::kubectl("look: ", own, "")];
    let refusal = Refusal { remedies, ..Refusal::target("code", "`rm -r y`", "") };
    let page = of(Picture::Html, &Plan { refusals: vec![refusal], ..small_plan() }, SIDES);
    let problem = &data(&page).0["cards"]["problems"][0];
    assert_eq!(problem["remedy"], "type `rm -r x`, or look: `kubectl get x`");
    assert_eq!(problem["commands"], json!(["kubectl get x"]));
}

#[test]
fn report_says_that_no_takeover_was_checked() {
    let verdict = |unverified: Value| {
        let ending = Ending {
            outcome: "Moved",
            code: 0,
            move_id: None,
            result: json!({"unverified": unverified}),
            files: false,
            message: Vec::new(),
            refusals: Vec::new(),
        };
        let page = Recorder::begin().build_report("move", "jane", true, &ending);
        data(&page).0["head"]["verdict"].clone()
    };
    let text = "Moved, without checking that the target's controllers took over 2 kinds";
    assert_eq!(verdict(json!(["A.g", "B.g"])), json!({"sign": "warn", "text": text}));
    assert_eq!(verdict(json!([]))["sign"], "good");
}

fn whole_around() -> String {
    data(&of(Picture::Html, &small_plan(), SIDES)).1
}

// proves: T94, T134
#[test]
fn foreign_text_stays_in_page_data() {
    let plan = hostile_plan();
    let page = of(Picture::Html, &plan, ("</script><b>", "\u{2028}t"));
    let (data, around) = data(&page);
    assert_eq!(around, whole_around(), "the rest is always the same");
    let inside = page.split_once("id=\"data\">").unwrap().1.split_once("</script>").unwrap().0;
    assert!(!inside.contains(['<', '>', '&', '\u{2028}', '\u{2029}', '\u{202e}']), "{inside}");
    assert_eq!(data["head"]["source"], "</script><b>");
    assert_eq!(data["head"]["target"], "\\u{2028}t", "hidden characters are shown");
    let names = data["plan"]["steps"].as_array().unwrap().iter().map(|step| step[2].as_str().unwrap());
    let shown = HOSTILE.map(super::super::text::one_line);
    assert_eq!(names.collect::<Vec<_>>(), shown.iter().map(String::as_str).collect::<Vec<_>>());
}

/// Nobody has to believe the build: the policy names digests of what is in the file, and allows nothing else.
// proves: T134
#[test]
fn page_allows_no_requests() {
    let page = of(Picture::Html, &small_plan(), SIDES);
    let policy =
        page.split_once("Content-Security-Policy\" content=\"").unwrap().1.split_once('"').unwrap().0;
    let between = |begin: &str, end: &str| page.rsplit_once(begin).unwrap().1.split_once(end).unwrap().0;
    let digest = |text: &str| format!("'sha256-{}'", base64(&Sha256::digest(text)));
    let [script, style] = [between("<script>", "</script>"), between("<style>", "</style>")].map(digest);
    assert_eq!(
        policy,
        format!(
            "default-src 'none'; script-src {script}; style-src {style}; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
        )
    );
    for outside in ["src=", "http:", "@import", "url(", "href=\"http", "fetch(", "XMLHttp", "sendBeacon"] {
        let allowed =
            page.replace("http://www.w3.org/", "").replace("default-src", "").replace("script-src", "");
        assert!(!allowed.contains(outside), "{outside}");
    }
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for three in bytes.chunks(3) {
        let all = three.iter().chain(&[0; 2]).take(3).fold(0_u32, |all, byte| all << 8 | u32::from(*byte));
        let letters = [18, 12, 6, 0].map(|shift| LETTERS[(all >> shift & 63) as usize] as char);
        out.extend(&letters[..=three.len()]);
        out.push_str(&"="[..usize::from(three.len() < 3)].repeat(3 - three.len()));
    }
    out
}
