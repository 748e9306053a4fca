// What the program wrote into the page, as trees. Rows are short arrays there: 5,000 objects are half a megabyte.
import { hierarchy } from "d3-hierarchy";
import { counted } from "./dom.js";

const collator = new Intl.Collator("en", { numeric: true });

/** What becomes of an object: a letter and a shape each, so that no one needs colours. */
export const FATES = {
  move: { letter: "M", shape: "▸", word: "moves", long: "Moves: copied, then deleted from the source" },
  keep: { letter: "K", shape: "◆", word: "kept", long: "Kept: copied, and stays in the source too" },
  add: { letter: "A", shape: "+", word: "added", long: "Added: only in the target" },
  stay: { letter: "S", shape: "■", word: "stays", long: "Stays in the source, and is not copied" },
};

export function read(plan, said) {
  const { words } = plan;
  const word = (index) => (index < 0 ? "" : words[index]);
  const thing = (kind, namespace, name) => {
    const full = word(kind);
    const short = full.split(".")[0];
    const path = namespace < 0 ? name : `${word(namespace)}/${name}`;
    return { kind: short, fullKind: full, namespace: word(namespace), name, path, problems: [], warnings: [], notes: [] };
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
  for (const [what, list] of Object.entries(said)) {
    for (const one of list) for (const name of one.objects) named.get(name)?.[what].push(one);
  }
  for (const one of all) one.text = `${one.fullKind} ${one.path} ${one.why ?? ""} ${one.reason}`.toLowerCase();
  return { steps, stays, all, named, clusters: clusters(steps) };
}

/** Clusters by name, with their objects; last the objects of no Cluster. */
function clusters(steps) {
  const groups = new Map();
  for (const step of steps) {
    if (!groups.has(step.cluster)) groups.set(step.cluster, []);
    groups.get(step.cluster).push(step);
  }
  const names = [...groups.keys()].sort((a, b) => (a === "") - (b === "") || collator.compare(a, b));
  return names.map((name) => {
    const here = groups.get(name);
    const number = (what) => new Set(here.flatMap((step) => step[what])).size;
    const [namespace, short] = name.slice(name.indexOf(" ") + 1).split(/\/(.*)/s);
    return { name, label: namespace === short || short === undefined ? namespace : `${namespace}/${short}`, steps: here, problems: number("problems"), warnings: number("warnings") };
  });
}

/** Objects that stay although moved objects need them, with the moved objects. */
export const neededObjects = (plan, named) => plan.needed.map(({ object, by, accepted }) => ({ name: object, accepted, by: by.map((name) => named.get(name)).filter(Boolean) }));

/** Kinds and their numbers, the most frequent first. */
export function frequent(objects) {
  const counts = new Map();
  for (const { kind } of objects) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
}

/** A heading of a tree, which stands for all objects below it. */
const heading = (label, children, more = {}) => ({ label, children, ...more });

export function byCluster({ clusters }) {
  return tree(clusters.map(({ name, steps, problems }) => {
    const nodes = new Map(steps.map((step) => [step.index, { object: step, children: [] }]));
    const top = [];
    for (const node of nodes.values()) {
      // The latest of what must exist first is the nearest owner.
      const owner = nodes.get(Math.max(-1, ...node.object.after));
      (owner ? owner.children : top).push(node);
    }
    return heading(name || "of no Cluster", top, { detail: kinds(steps), count: steps.length, problems, cluster: name });
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
  const sorted = frequent(steps);
  const shown = sorted.length <= 5 ? sorted : sorted.slice(0, 4);
  const words = shown.map(([kind, number]) => counted(number, kind)).join(", ");
  return sorted.length === shown.length ? words : `${words} and ${sorted.length - shown.length} more kinds`;
}

function tree(children) {
  let id = 0;
  return hierarchy({ children }, (node) => node.children).eachBefore((node) => { node.id = id++; });
}
