// The map: the source on the left, the target on the right, and between them each Cluster as a tile, coloured by its kinds. Objects
// that stay although a moved object needs them are red, with a line to the Cluster that needs them.
import { el, svg, counted, thousands, section } from "./dom.js";
import { frequent } from "./model.js";

/** Up to as many Clusters have tiles of this size. */
const SIZES = [["few", 6], ["large", 30], ["medium", 160], ["small", Infinity]];
const MOST_TILES = 1000;
const COLOURS = 8;
const MOST_NEEDED = 12;
const MOST_NAMES = 6;

export function clusterMap({ model, head, summary, needed, pick, object, tab, verb }) {
  const clusters = model.clusters.filter((one) => one.name);
  const loose = model.clusters.find((one) => !one.name);
  if (!model.steps.length && !model.stays.length) return null;
  const colours = new Map(frequent(model.steps).slice(0, COLOURS).map(([kind], index) => [kind, index]));
  const size = SIZES.find(([, most]) => clusters.length <= most)[0];
  // Problems first: with thousands of tiles, the last are left out.
  const first = [...clusters].sort((a, b) => (b.problems > 0) - (a.problems > 0) || (b.warnings > 0) - (a.warnings > 0));
  const shown = clusters.length > MOST_TILES ? first.slice(0, MOST_TILES) : clusters;
  const tiles = shown.map((cluster) => tile(cluster, colours, pick));
  if (tiles.length) tiles[0].tabIndex = 0;
  const byName = new Map(shown.map((cluster, index) => [cluster.name, tiles[index]]));
  const kept = model.steps.filter((one) => one.fate === "keep");
  const added = model.steps.filter((one) => one.fate === "add");
  const there = model.steps.filter((one) => one.foreseen.some((words) => words.startsWith("the target has it")));

  const alarms = needed.slice(0, MOST_NEEDED).map((one) => ({
    ...one, box: el("li", { class: "needed" }, object(one.name), el("span", {}, "stays, but is needed", one.accepted && ", as accepted", one.by.length > 0 && ` by ${one.by.slice(0, 2).map((by) => `${by.kind} ${by.path}`).join(", ")}${one.by.length > 2 ? ` and ${thousands(one.by.length - 2)} more` : ""}`)),
  }));
  const lines = svg("svg", { class: "lines", "aria-hidden": "true" });
  const between = el("div", { class: "between" },
    el("h3", {}, clusters.length ? `${counted(clusters.length, "Cluster")} ${verb(clusters.length)}` : `${counted(model.steps.length, "object")} ${verb(model.steps.length)}`, el("span", { class: "count" }, ` ${alike(clusters)}`)),
    el("div", { class: `clusters ${size}`, role: "group", "aria-label": "Clusters", onkeydown: (event) => arrows(event, tiles) }, tiles),
    clusters.length > shown.length && el("p", { class: "hint" }, `The first ${thousands(shown.length)} of ${thousands(clusters.length)}; those with problems come first. The list below has all.`),
    held("keep", "K", `${thousands(kept.length)} copied, and kept in the source too`, kept, object, () => tab("kept")),
    held("add", "A", `${thousands(added.length)} added: only in the target`, added, object, () => tab("added")),
    loose && el("button", { type: "button", class: "loose", onclick: () => pick(loose) }, `${counted(loose.steps.length, "object")} of no Cluster`));
  const box = el("div", { class: "map" },
    el("div", { class: "end" }, el("h3", {}, el("span", { class: "count" }, "Source "), head.source),
      alarms.length > 0 && el("ul", { class: "plain" }, alarms.map((one) => one.box)),
      needed.length > alarms.length && el("p", { class: "hint" }, `and ${thousands(needed.length - alarms.length)} more that are needed`),
      model.stays.length ? el("button", { type: "button", class: "loose", onclick: () => tab("stays") }, `${thousands(model.stays.length)} stay`) : el("p", { class: "hint" }, "Nothing stays that was read."),
      model.stays.length > 0 && counts(model.stays)),
    between,
    el("div", { class: "end" }, el("h3", {}, el("span", { class: "count" }, "Target "), head.target || "none"),
      el("p", {}, `${counted(summary.objects, "object")} in ${counted(summary.clusters, "Cluster")}`),
      there.length > 0 && el("p", { class: "hint" }, `${thousands(there.length)} of them are there already`)),
    lines);
  const redraw = () => drawLines(lines, box, alarms, byName);
  new ResizeObserver(redraw).observe(box);
  const legend = el("p", { class: "kinds" }, frequent(model.steps).slice(0, COLOURS).map(([kind, number]) => {
    const square = el("i", { "aria-hidden": "true" });
    square.style.background = colour(colours.get(kind));
    return el("span", {}, square, counted(number, kind));
  }), frequent(model.steps).length > COLOURS && el("span", {}, el("i", { "aria-hidden": "true" }), `${frequent(model.steps).length - COLOURS} more kinds`));
  return section("map", "Map", null, legend, box);
}

const colour = (index) => (index === undefined ? "var(--line)" : `var(--k${index})`);

const counts = (objects) => {
  const all = frequent(objects);
  return el("p", { class: "hint" }, all.slice(0, MOST_NAMES).map(([kind, number]) => counted(number, kind)).join(", "), all.length > MOST_NAMES && ` and ${all.length - MOST_NAMES} more kinds`);
};

/** `all alike: 43 objects each` */
function alike(clusters) {
  if (clusters.length < 2) return "";
  const shapes = new Set(clusters.map((one) => JSON.stringify(frequent(one.steps))));
  const sizes = clusters.map((one) => one.steps.length);
  if (shapes.size === 1) return `all alike: ${counted(sizes[0], "object")} each`;
  return `${thousands(Math.min(...sizes))} to ${counted(Math.max(...sizes), "object")} each`;
}

function tile(cluster, colours, pick) {
  const { label, name, steps, problems, warnings } = cluster;
  const kinds = frequent(steps);
  const strip = el("span", { class: "strip", "aria-hidden": "true" });
  let at = 0;
  const stops = kinds.map(([kind, number]) => [colours.get(kind) ?? COLOURS, number]).sort((a, b) => a[0] - b[0]).map(([index, number]) => {
    const from = at;
    at += (100 * number) / steps.length;
    return `${colour(index === COLOURS ? undefined : index)} ${from}% ${at}%`;
  });
  strip.style.background = `linear-gradient(90deg, ${stops.join(", ")})`;
  const words = `${name}: ${kinds.slice(0, 4).map(([kind, number]) => counted(number, kind)).join(", ")}${kinds.length > 4 ? ` and ${kinds.length - 4} more kinds` : ""}${problems ? `; ${counted(problems, "problem")}` : ""}${warnings ? `; ${counted(warnings, "warning")}` : ""}`;
  return el("button", { type: "button", class: `cluster${problems ? " bad" : warnings ? " warn" : ""}`, tabindex: -1, title: words, "aria-label": words, onclick: () => pick(cluster) },
    el("span", { class: "label" }, (problems > 0 && "✖ ") || (warnings > 0 && "▲ "), label), el("span", { class: "count" }, thousands(steps.length)), strip);
}

/** One stop for the Tab key; arrows lead from tile to tile. */
function arrows(event, tiles) {
  const at = tiles.indexOf(event.target);
  const columns = Math.max(1, tiles.filter((one) => one.offsetTop === tiles[0].offsetTop).length);
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, ArrowDown: at + columns, ArrowUp: at - columns, Home: 0, End: tiles.length - 1 }[event.key];
  if (to === undefined || !tiles[to]) return;
  event.preventDefault();
  tiles[at].tabIndex = -1;
  tiles[to].tabIndex = 0;
  tiles[to].focus();
}

function held(fate, letter, words, objects, object, show) {
  if (!objects.length) return null;
  return el("div", { class: `held ${fate}` }, el("button", { type: "button", class: "loose", onclick: show }, el("span", { class: `fate ${fate}`, "aria-hidden": "true" }, letter), ` ${words}`),
    objects.length <= MOST_NAMES ? el("ul", { class: "plain" }, objects.map((one) => el("li", {}, object(`${one.kind} ${one.path}`), one.reason && el("span", {}, ` ${one.reason}`)))) : counts(objects));
}

/** From each object that is needed to the Clusters that need it. A narrow window has no room for lines. */
function drawLines(lines, box, alarms, byName) {
  const frame = box.getBoundingClientRect();
  const paths = [];
  for (const alarm of frame.width < 640 ? [] : alarms) {
    const from = alarm.box.getBoundingClientRect();
    for (const name of new Set(alarm.by.map((by) => by.cluster).filter(Boolean))) {
      const to = byName.get(name)?.getBoundingClientRect();
      if (!to || paths.length > 100) continue;
      const [x, y] = [from.right - frame.left, from.top + from.height / 2 - frame.top];
      const [ex, ey] = [to.left - frame.left, to.top + to.height / 2 - frame.top];
      paths.push(svg("path", { d: `M${x},${y}C${x + 30},${y} ${ex - 30},${ey} ${ex},${ey}` }));
    }
  }
  lines.replaceChildren(...paths);
}
