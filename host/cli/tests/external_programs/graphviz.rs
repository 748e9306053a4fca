//! Graphs of plans. The unit tests of the output compare these files with what the program draws.

use std::io::Write;
use std::process::{Command, Stdio};

const GRAPHS: [&str; 2] = [
    include_str!("../../src/output/tests/plan_with_problems.dot"),
    include_str!("../../src/output/tests/hostile_plan.dot"),
];

#[test]
fn graphviz_reads_each_node_and_edge() {
    for graph in GRAPHS {
        let mut dot = Command::new("dot");
        let started = dot.arg("-Tplain").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut running = started.expect("Graphviz is missing: `apt-get install graphviz`");
        running.stdin.take().unwrap().write_all(graph.as_bytes()).unwrap();
        let output = running.wait_with_output().unwrap();
        assert!(output.status.success(), "{graph}");
        let plain = String::from_utf8(output.stdout).unwrap();
        let count = |head: &str| plain.lines().filter(|line| line.starts_with(head)).count();
        let words = graph.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let (mut nodes, mut edges) = (0, 0);
        for words in words {
            match words.as_slice() {
                ["graph" | "node", ..] => {}
                [_, "->", ..] => edges += 1,
                [_, attributes, ..] if attributes.starts_with('[') => nodes += 1,
                _ => {}
            }
        }
        assert!(nodes > 3 && edges > 0, "{graph}");
        assert_eq!((count("node "), count("edge ")), (nodes, edges), "{plain}");
    }
}
