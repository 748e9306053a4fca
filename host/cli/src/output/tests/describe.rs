//! Golden texts: a Cluster as a tree.

use jiff::Timestamp;
use pivot_core::describe::{Columns, Condition, NamedObject, Node, Problem, Replicas, Subject, Tree};

use super::*;

fn now() -> Timestamp {
    "2026-11-23T12:00:00Z".parse().unwrap()
}

fn condition(kind: &str, status: &str, reason: &str, message: &str) -> Condition {
    Condition {
        kind: kind.into(),
        status: status.into(),
        reason: reason.into(),
        message: message.into(),
        last_transition_time: Some("2026-11-23T10:30:00Z".into()),
    }
}

fn node(what: Subject, columns: Columns, children: Vec<Node>) -> Node {
    Node { what, columns, conditions: None, children }
}

fn object(kind: &str, name: &str) -> Subject {
    Subject::Object(NamedObject {
        key: capi(kind, name),
        role: None,
        version: None,
        deleting: false,
        problem: None,
    })
}

fn summed_up_by(condition: Condition) -> Columns {
    Columns { condition: Some(condition), ..Columns::default() }
}

const TROUBLE: &str = "* MachineDeployment md:\n  * Machine m-3: the host that was chosen for it is powered off, and nobody who may \
                       power it on has looked at it for 3 hours\n* one more";

/// A Cluster with everything that a row can be about.
fn edge() -> Tree {
    let counted = Columns {
        replicas: Some(Replicas { current: 4, desired: Some(5) }),
        available: Some(3),
        ready: Some(3),
        up_to_date: Some(4),
        condition: Some(condition("Available", "False", "NotAvailable", TROUBLE)),
    };
    let of_group = Columns {
        available: Some(3),
        ready: Some(3),
        up_to_date: Some(3),
        ..summed_up_by(condition("Ready", "True", "Ready", ""))
    };
    let problem = Some(Problem { reason: "NotFound", message: "it is referenced, but doesn't exist".into() });
    let missing = NamedObject {
        key: capi("LabCluster", "edge"),
        role: Some("ClusterInfrastructure"),
        version: None,
        deleting: false,
        problem,
    };
    let broken = NamedObject {
        key: capi("Machine", "m-3"),
        role: None,
        version: Some("v1.36.3".into()),
        deleting: true,
        problem: None,
    };
    let one = Columns {
        replicas: Some(Replicas { current: 1, desired: None }),
        available: Some(0),
        ready: Some(0),
        up_to_date: Some(1),
        condition: None,
    };
    let broken = Node {
        conditions: Some(vec![
            condition("Ready", "False", "NotReady", TROUBLE),
            condition("Deleting", "True", "Waiting", ""),
            condition("Paused", "Unknown", "Why", "first\nsecond"),
        ]),
        ..node(
            Subject::Object(broken),
            one,
            vec![node(
                object("LabMachine", "m-3"),
                summed_up_by(condition("Ready", "False", "Off", "")),
                vec![],
            )],
        )
    };
    let names = ["m-1", "m-2", "m-4"].map(str::to_owned).to_vec();
    let machines = vec![node(Subject::Machines(names), of_group, vec![]), broken];
    let workers = vec![node(object("MachineDeployment", "md"), Columns::default(), machines)];
    let children = vec![
        node(Subject::Object(missing), Columns::default(), vec![]),
        node(Subject::Heading("Workers"), Columns::default(), workers),
    ];
    Tree { root: node(object("Cluster", "edge"), counted, children), unmatched: Vec::new() }
}

#[test]
fn a_cluster_is_a_tree_in_columns() {
    expect![[r#"
        NAME                                         REPLICAS  AVAILABLE  READY  UP TO DATE  STATUS   REASON        SINCE  MESSAGE
        Cluster ns/edge                              4/5       3          3      4           False    NotAvailable  90m    * MachineDeployment md:
        │                                                                                                                    * Machine m-3: the host that was chosen for it is powered off, and nobody who may power it on has
        │                                                                                                                      looked at it for 3 hours
        │                                                                                                                  * one more
        ├─LabCluster ns/edge                                                                          NotFound             it is referenced, but doesn't exist
        └─Workers
          └─MachineDeployment ns/md
            ├─3 Machines...                                    3          3      3           True     Ready         90m    See m-1, m-2, ...
            └─!! DELETED !! Machine ns/m-3, v1.36.3  1         0          0      1
              │           ├─Ready                                                            False    NotReady      90m    * MachineDeployment md:
              │           │                                                                                                  * Machine m-3: the host that was chosen for it is powered off, and nobody who may power it on has
              │           │                                                                                                    looked at it for 3 hours
              │           │                                                                                                * one more
              │           ├─Deleting                                                         True     Waiting       90m
              │           └─Paused                                                           Unknown  Why           90m    first
              │                                                                                                            second
              └─LabMachine ns/m-3                                                            False    Off           90m"#]].assert_eq(&tree_text(&edge(), now()).message());
}

#[test]
fn cluster_is_colored_by_its_state() {
    let text = tree_text(&edge(), now()).to_string();
    for colored in [
        "\u{1b}[31mFalse\u{1b}[0m",
        "\u{1b}[32mTrue\u{1b}[0m",
        "\u{1b}[33mUnknown\u{1b}[0m",
        "\u{1b}[31mNotFound\u{1b}[0m",
        "\u{1b}[31m!! DELETED !! \u{1b}[0m",
        "\u{1b}[36mDeleting\u{1b}[0m",
        "Machine \u{1b}[1mns/m-3\u{1b}[0m, v1.36.3",
        "\u{1b}[90mSee m-1, m-2, ...\u{1b}[0m",
    ] {
        assert!(text.contains(colored), "{colored:?}: {text:?}");
    }
    // It is good that it is not deleted, and bad that it is.
    let deleting = text.lines().find(|line| line.contains("Deleting")).unwrap();
    assert!(deleting.contains("\u{1b}[31mTrue\u{1b}[0m"), "{deleting:?}");
    assert_eq!(anstream::adapter::strip_str(&text).to_string(), tree_text(&edge(), now()).message() + "\n");
}

/// Names and messages are others' text.
#[test]
fn what_a_cluster_says_begins_no_line() {
    let mut tree = edge();
    tree.root.columns.condition =
        Some(condition("Available\nerror: x", "False", "R\nerror: x", "m\rerror: x\u{1b}[2J\nerror: y"));
    let text = tree_text(&tree, now()).message();
    assert!(text.lines().all(|line| !line.trim_start().starts_with("error:")), "{text}");
    assert!(text.contains("R\\nerror: x") && text.contains("error: x\\u{1b}[2J"), "{text}");
}

#[test]
fn a_description_matches_its_schema() {
    let tree = edge();
    let document = DescribeDocument::new("kind-boot", &tree, now());
    let document = serde_json::to_value(&document).unwrap();
    schemas::check(&document);
    let machine = &document["cluster"]["children"][1]["children"][0]["children"][1];
    assert_eq!(
        (&machine["object"]["name"], &machine["object"]["deleting"], &machine["conditions"][1]["type"]),
        (&"m-3".into(), &true.into(), &"Deleting".into())
    );
    assert_eq!(document["readAt"], "2026-11-23T12:00:00Z");
}

#[test]
fn filters_that_select_nothing_are_named() {
    expect!["nothing that is shown is selected by --show-conditions Machine/a,Hst; --grouping=false, --echo and --show-machinesets show more"].assert_eq(&no_match_text(&["Machine/a".to_owned(), "Hst".to_owned()]).message());
}
