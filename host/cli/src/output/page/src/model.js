// What the program wrote into the page, as trees. Rows are short arrays there: 5,000 objects are half a megabyte.
import { hierarchy } from "d3-hierarchy";
import { counted } from "./dom.js";

/** What becomes of an object: a letter and a shape each, so that no one needs colours. */
export const FATES = {
  move: { letter: "M", shape: "▸", word: "moves", long: "Moves: copied, then deleted from the source" },
  keep: { letter: "K", shape: "◆", word: "kept", long: "Kept: copied, and stays in the source too" },
  add: { letter: "A", shape: "+", word: "added", long: "Added: only in the target" },
  stay: { letter: "S", shape: "■", word: "stays", long: "Stays in the source, and is not copied" },
};

export function read(plan) {
  const { words } = plan;
  const word = (index) => (index < 0 ? "" : words[index]);
  const thing = (kind, namespace, name) => {
    const full = word(kind);
    const short = full.split(".")[0];
    const path = namespace < 0 ? name : `${word(namespace)}/${name}`;
    return { kind: short, fullKind: full, namespace: word(namespace), name, path, problems: [], notes: [] };
  };
  const steps = plan.steps.map(([kind, namespace, name, fate, why, keep, cluster, after, uid, dropped, foreseen], index) => ({
    ...thing(kind, namespace, name),
    index, fate, why: word(why), reason: word(keep), cluster: word(cluster), after, uid, dropped: dropped.map(word), foreseen: foreseen.map(word), needed: [],
  }));
  for (const step of steps) for (const before of step.after) steps[before].needed.push(step.index);
  const stays = plan.stays.map(([kind, namespace, name, reason]) => ({
    ...thing(kind, namespace, name), fate: "stay", reason: word(reason),
  }));
  const all = steps.concat(stays);
  const named = new Map(all.map((one) => [`${one.kind} ${one.path}`, one]));
  for (const [what, list] of [["problems", plan.problems], ["notes", plan.notes]]) {
    for (const said of list) for (const name of said.objects) named.get(name)?.[what].push(said);
  }
  for (const one of all) one.text = `${one.fullKind} ${one.path} ${one.why ?? ""} ${one.reason}`.toLowerCase();
  return { steps, stays, all, named };
}

/** A heading of a tree, which stands for all objects below it. */
const heading = (label, children, more = {}) => ({ label, children, ...more });

export function byCluster({ steps }) {
  const groups = new Map();
  for (const step of steps) {
    if (!groups.has(step.cluster)) groups.set(step.cluster, []);
    groups.get(step.cluster).push(step);
  }
  const names = [...groups.keys()].sort((a, b) => (a === "") - (b === "") || a.localeCompare(b, "en", { numeric: true }));
  return tree(names.map((name) => {
    const here = groups.get(name);
    const nodes = new Map(here.map((step) => [step.index, { object: step, children: [] }]));
    const top = [];
    for (const node of nodes.values()) {
      // The latest of what must exist first is the nearest owner.
      const owner = nodes.get(Math.max(-1, ...node.object.after));
      (owner ? owner.children : top).push(node);
    }
    const problems = new Set(here.flatMap((step) => step.problems)).size;
    return heading(name || "of no Cluster", top, { detail: kinds(here), count: here.length, problems });
  }));
}

export const inOrder = ({ steps }) => tree(steps.map((object) => ({ object, numbered: true, children: [] })));

/** By reason, the most frequent first. */
export function byReason(objects, reason = (one) => one.reason) {
  const groups = new Map();
  for (const one of objects) {
    if (!groups.has(reason(one))) groups.set(reason(one), []);
    groups.get(reason(one)).push({ object: one, children: [] });
  }
  const sorted = [...groups].sort((a, b) => b[1].length - a[1].length || (a[0] < b[0] ? -1 : 1));
  return tree(sorted.map(([label, children]) => heading(label, children, { count: children.length })));
}

function kinds(steps) {
  const counts = new Map();
  for (const { kind } of steps) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  const sorted = [...counts].sort((a, b) => b[1] - a[1]);
  const shown = sorted.length <= 5 ? sorted : sorted.slice(0, 4);
  const words = shown.map(([kind, number]) => counted(number, kind)).join(", ");
  return sorted.length === shown.length ? words : `${words} and ${sorted.length - shown.length} more kinds`;
}

function tree(children) {
  let id = 0;
  return hierarchy({ children }, (node) => node.children).eachBefore((node) => { node.id = id++; });
}
