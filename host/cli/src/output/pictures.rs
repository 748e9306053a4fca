//! A plan as a graph, for Graphviz (`dot`) and Mermaid: a box for each object, an arrow to each object that needs it to exist
//! first, and a frame around the objects of a Cluster.
//!
//! Objects that stay share a box for each reason: thousands of boxes would hide the objects that move. Nothing depends on
//! colour: words mark objects that are kept, added or in the way. Names and reasons come from others, and are quoted as each
//! language does it.

use std::collections::BTreeMap;
use std::fmt::Write;

use pivot_core::Key;
use pivot_core::messages::grouping::format_number;
use pivot_core::plan::{Fate, Plan, Step};

use super::page::PlanPage;
use super::{events, text};
use crate::args::Picture;

/// A plan as the text of a picture.
pub(crate) fn draw_plan(picture: Picture, page: &PlanPage<'_>) -> String {
    match picture {
        Picture::Dot => draw_dot(page.plan, page.sides),
        Picture::Mermaid => draw_mermaid(page.plan, page.sides),
        Picture::Html => page.html(),
    }
}

/// For Graphviz.
fn draw_dot(plan: &Plan, (source, target): (&str, &str)) -> String {
    let title = quoted_for_dot(&["Plan:", &events::summary_line(&plan.into(), source, target)].join(" "));
    let mut out = format!(
        "digraph plan {{\n  graph [rankdir=LR, labelloc=t, label={title}, fontname=\"sans-serif\"]\n  \
         node [shape=box, fontname=\"sans-serif\"]\n"
    );
    let drawing = Drawing::from_plan(plan);
    for (number, (cluster, steps)) in drawing.frames.iter().enumerate() {
        push(&mut out, format_args!("  subgraph cluster_{number} {{\n"));
        push(&mut out, format_args!("    label={}\n", quoted_for_dot(&frame_title(*cluster))));
        for (index, step) in steps {
            let look = match step.fate {
                Fate::Move => "",
                Fate::Keep(_) => ", peripheries=2",
                Fate::FromManifest => ", style=dashed",
            };
            let alarm = if drawing.problems.contains_key(&step.key) { ", penwidth=4" } else { "" };
            let lines = drawing.label_lines(step, escaped_for_dot).join("\\n");
            push(&mut out, format_args!("    s{index} [label=\"{lines}\"{look}{alarm}]\n"));
        }
        out.push_str("  }\n");
    }
    for (before, after) in dependency_arrows(plan) {
        push(&mut out, format_args!("  s{before} -> s{after}\n"));
    }
    if !drawing.stays.is_empty() {
        out.push_str("  subgraph cluster_stays {\n    label=\"stays in the source\"\n");
        for (number, line) in drawing.staying().enumerate() {
            push(&mut out, format_args!("    r{number} [shape=note, label={}]\n", quoted_for_dot(&line)));
        }
        out.push_str("  }\n");
    }
    out.push_str("}\n");
    out
}

/// For Mermaid, as in Markdown.
fn draw_mermaid(plan: &Plan, (source, target): (&str, &str)) -> String {
    let title = escaped_for_mermaid(&events::summary_line(&plan.into(), source, target));
    let mut out = format!("flowchart LR\n  plan[\"Plan: {title}\"]\n");
    let drawing = Drawing::from_plan(plan);
    for (number, (cluster, steps)) in drawing.frames.iter().enumerate() {
        let label = escaped_for_mermaid(&frame_title(*cluster));
        push(&mut out, format_args!("  subgraph c{number}[\"{label}\"]\n"));
        for (index, step) in steps {
            let (begin, end) = match step.fate {
                Fate::Move => ("[", "]"),
                Fate::Keep(_) => ("[[", "]]"),
                Fate::FromManifest => ("([", "])"),
            };
            let lines = drawing.label_lines(step, escaped_for_mermaid).join("<br/>");
            push(&mut out, format_args!("    s{index}{begin}\"{lines}\"{end}\n"));
        }
        out.push_str("  end\n");
    }
    for (before, after) in dependency_arrows(plan) {
        push(&mut out, format_args!("  s{before} --> s{after}\n"));
    }
    if !drawing.stays.is_empty() {
        out.push_str("  subgraph stays[\"stays in the source\"]\n");
        for (number, line) in drawing.staying().enumerate() {
            push(&mut out, format_args!("    r{number}>\"{}\"]\n", escaped_for_mermaid(&line)));
        }
        out.push_str("  end\n");
    }
    out
}

/// A Cluster, or none, and the steps of its objects with their numbers.
type Frame<'a> = (Option<&'a Key>, Vec<(usize, &'a Step)>);

/// Parts of a picture, in the order of a reader: frames by the Cluster's name, in each the order of creation.
struct Drawing<'a> {
    frames: Vec<Frame<'a>>,
    /// Number of problems of an object.
    problems: BTreeMap<&'a Key, usize>,
    /// Number of objects that stay, by reason.
    stays: BTreeMap<String, usize>,
}

impl<'a> Drawing<'a> {
    fn from_plan(plan: &'a Plan) -> Self {
        let mut frames: BTreeMap<Option<&Key>, Vec<(usize, &Step)>> = BTreeMap::new();
        for (index, step) in plan.steps.iter().enumerate() {
            frames.entry(step.cluster.as_ref()).or_default().push((index, step));
        }
        let mut problems: BTreeMap<&Key, usize> = BTreeMap::new();
        for key in plan.refusals.iter().flat_map(|refusal| refusal.object.iter().chain(&refusal.others)) {
            *problems.entry(key).or_default() += 1;
        }
        let mut stays: BTreeMap<String, usize> = BTreeMap::new();
        for stay in &plan.stays {
            *stays.entry(stay.reason.to_string()).or_default() += 1;
        }
        Self { frames: frames.into_iter().collect(), problems, stays }
    }

    /// Returns the kind, the name, and the marks of an object.
    fn label_lines(&self, step: &Step, escaped: impl Fn(&str) -> String) -> Vec<String> {
        let Key { group_kind, namespace, name } = &step.key;
        let name = match namespace {
            Some(namespace) => format!("{namespace}/{name}"),
            None => name.clone(),
        };
        let mut lines = vec![group_kind.kind.clone(), name];
        match &step.fate {
            Fate::Move => {}
            Fate::Keep(_) => lines.push("kept in the source too".to_owned()),
            Fate::FromManifest => lines.push("added".to_owned()),
        }
        match self.problems.get(&step.key) {
            Some(1) => lines.push("! 1 problem".to_owned()),
            Some(several) => lines.push(format!("! {} problems", format_number(*several))),
            None => {}
        }
        lines.iter().map(|line| escaped(line)).collect()
    }

    /// `2: not linked with any Cluster`
    fn staying(&self) -> impl Iterator<Item = String> {
        self.stays.iter().map(|(reason, number)| format!("{}: {reason}", format_number(*number)))
    }
}

fn frame_title(cluster: Option<&Key>) -> String {
    cluster.map_or("of no Cluster".to_owned(), ToString::to_string)
}

/// Returns arrows from objects that must exist first to the objects after them.
fn dependency_arrows(plan: &Plan) -> impl Iterator<Item = (usize, usize)> {
    let steps = plan.steps.iter().enumerate();
    steps.flat_map(|(index, step)| step.after.iter().map(move |before| (*before, index)))
}

fn quoted_for_dot(words: &str) -> String {
    format!("\"{}\"", escaped_for_dot(words))
}

/// Graphviz reads escapes and entities in labels.
fn escaped_for_dot(words: &str) -> String {
    text::one_line(words).replace('\\', "\\\\").replace('"', "\\\"").replace('&', "&amp;")
}

/// Escapes the characters that can begin an entity, a tag or Markdown, which Mermaid reads in quoted labels.
fn escaped_for_mermaid(words: &str) -> String {
    let mut out = String::new();
    for c in text::one_line(words).chars() {
        if c.is_alphanumeric() || " -./:,'=".contains(c) {
            out.push(c);
        } else {
            push(&mut out, format_args!("#{};", u32::from(c)));
        }
    }
    out
}

fn push(out: &mut String, words: std::fmt::Arguments<'_>) {
    // Writing to a string can't fail.
    let _ = out.write_fmt(words);
}
