// The page of a plan, or of a move that ended or stopped: what decides comes first, then the objects, then the rest.
import { el, thousands, counted, lasting } from "./dom.js";
import { FATES, read, byCluster, byReason, inOrder } from "./model.js";
import { Tree } from "./tree.js";
import { Picture } from "./map.js";
import { timeline } from "./timeline.js";

const { head: about, files, plan, report, message, accepted, warnings, findings } = JSON.parse(document.getElementById("data").textContent);
const page = document.getElementById("page");
let reveal = () => {};

if (files) FATES.move = { ...FATES.move, word: "copied", long: "Copied: nothing in the source is deleted" };

const SIGNS = { good: "✔", bad: "✖", warn: "▲", none: "–" };

function head({ title, verdict, source, target, facts }) {
  document.title = `${title}: ${verdict.text} – pivot-host`;
  return el("header", {},
    el("p", { class: "product" }, "pivot-host"),
    el("h1", {}, title),
    el("p", { class: `verdict ${verdict.sign}` }, el("span", { class: "sign", "aria-hidden": "true" }, SIGNS[verdict.sign]), el("strong", {}, verdict.text)),
    el("dl", { class: "facts" }, [["From", source], ["To", target], ...facts].filter(([, what]) => what).map(([name, what]) => el("div", {}, el("dt", {}, name), el("dd", {}, what)))));
}

function section(id, title, number, ...children) {
  return el("section", { id, "aria-labelledby": `${id}-title` },
    el("h2", { id: `${id}-title` }, title, number === null ? "" : el("span", { class: "count" }, ` ${thousands(number)}`)), ...children);
}

/** A long list shows its beginning, and a button for the rest. */
function list(items, made, most = 20) {
  const box = el("ul", { class: "list" }, items.slice(0, most).map(made));
  if (items.length <= most) return box;
  const more = el("button", { type: "button", class: "more", onclick: () => {
    more.remove();
    box.append(...items.slice(most).map(made));
    box.children[most].tabIndex = -1;
    box.children[most].focus();
  } }, `Show ${thousands(items.length - most)} more`);
  return el("div", {}, box, more);
}

const objectsOf = (names) => (names.length === 0 ? null : el("p", { class: "objects" },
  names.slice(0, 8).map((name, index) => [index ? ", " : "", object(name)]).flat(), names.length > 8 ? ` and ${thousands(names.length - 8)} more` : ""));

const object = (name) => el("button", { type: "button", class: "object", onclick: () => reveal(name) }, name);

function problems(found) {
  if (!found.length) return null;
  return section("problems", "Problems", found.length, list(found, (one) => el("li", { class: "card bad" },
    el("p", { class: "what" }, el("span", { class: "sign", "aria-hidden": "true" }, SIGNS.bad), el("span", { class: "side" }, one.side), one.message),
    objectsOf(one.objects),
    one.remedy ? el("p", { class: "remedy" }, el("strong", {}, "To fix it: "), one.remedy) : null)));
}

function found(by) {
  if (!by?.length) return null;
  return section("findings", "Findings of plugins", by.length, list(by, (one) => el("li", { class: `card ${one.severity === "stop" ? "bad" : one.severity === "note" ? "" : "warn"}` },
    el("p", { class: "what" }, one.severity === "stop" ? el("span", { class: "sign", "aria-hidden": "true" }, SIGNS.bad) : "", el("span", { class: "side" }, one.plugin), one.text), objectsOf(one.object ? [one.object] : []),
    one.remedy ? el("p", { class: "remedy" }, el("strong", {}, "To fix it: "), one.remedy) : null)));
}

const failed = (...more) => section("stop", "Why it stopped", null, el("div", { class: "card bad" }, (message ?? []).map((line) => el("p", { class: "what" }, line)), ...more));

function notes(found) {
  if (!found.length) return null;
  return section("notes", "Worth knowing", found.length, list(found, (one) => el("li", { class: "card" },
    el("p", { class: "what" }, one.message), objectsOf(one.objects), el("p", { class: "code" }, one.code))));
}

/** The risks that the user accepted. */
function risks(all) {
  if (!all?.length) return null;
  return section("accepted", "Risks accepted", all.length, el("ul", { class: "plain" }, all.map((one) => el("li", {}, one.text))));
}

function warned(found) {
  if (!found?.length) return null;
  return section("warnings", "Warnings", found.length, list(found, (one) => el("li", { class: "card warn" },
    el("p", { class: "what" }, one.message), objectsOf(one.objects), el("p", { class: "code" }, one.code))));
}

const commands = (title, lines) => (lines.length === 0 ? null : el("div", { class: "commands" },
  el("h3", {}, title), lines.map((line, index) => el("p", {}, index ? el("span", { class: "or" }, "or ") : "", el("code", { tabindex: 0 }, line)))));

function moves(found) {
  if (!found.length) return null;
  return section("moves", "Moves under way", found.length, list(found, (one) => el("li", { class: "card warn" },
    one.lines.map((line) => el("p", { class: "what" }, line)), commands("Next", one.next))));
}

function tiles({ summary, problems }) {
  const { objects, moved, kept, fromManifests, clusters, stay } = summary;
  const ended = report?.exitCode === 0;
  const tile = (number, what, fate) => el("div", { class: "tile" },
    el("dt", {}, fate ? el("span", { class: `fate ${fate}`, "aria-hidden": "true" }, FATES[fate].letter) : "", what), el("dd", {}, thousands(number)));
  return el("dl", { class: "tiles" },
    tile(clusters, clusters === 1 ? "Cluster" : "Clusters"), tile(objects, "objects copied"), files ? null : tile(moved, ended ? "moved" : "move", "move"),
    kept ? tile(kept, "kept too", "keep") : null, fromManifests ? tile(fromManifests, "added", "add") : null,
    tile(stay, ended ? "stayed" : "stay", "stay"), problems.length ? tile(problems.length, problems.length === 1 ? "problem" : "problems") : null);
}

function details(model) {
  const box = el("div", { class: "details", "aria-live": "polite" });
  const link = (index) => { const { kind, path } = model.steps[index]; return object(`${kind} ${path}`); };
  const links = (indices) => [indices.slice(0, 12).map((index) => el("li", {}, link(index))), indices.length > 12 ? el("li", {}, `and ${thousands(indices.length - 12)} more`) : null].flat();
  const show = (one) => {
    if (!one) return box.replaceChildren(el("p", { class: "hint" }, "Choose an object to see why it moves or stays, and what it needs."));
    const fate = FATES[one.fate];
    const facts = [
      ["Kind", one.fullKind], ["Cluster", one.cluster], ["Why", one.why], [one.fate === "stay" ? "Stays because" : "Kept because", one.reason],
      ["Without owner", (one.dropped ?? []).join(", ")], ["Foreseen", (one.foreseen ?? []).join("; ")], ["Order of creation", one.index === undefined ? "" : thousands(one.index + 1)], ["UID in the source", one.uid],
    ];
    box.replaceChildren(...[
      el("h3", {}, one.kind, " ", el("span", { class: "path" }, one.path)),
      el("p", {}, el("span", { class: `fate ${one.fate}`, "aria-hidden": "true" }, fate.letter), " ", fate.long, "."),
      el("dl", { class: "facts" }, facts.filter(([, what]) => what).map(([name, what]) => el("div", {}, el("dt", {}, name), el("dd", {}, what)))),
      ...one.problems.map((said) => el("p", { class: "said bad" }, "✖ ", said.message, said.remedy ? ` – ${said.remedy}` : "")),
      ...one.notes.map((said) => el("p", { class: "said" }, said.message)),
      one.after?.length ? el("h4", {}, "Needs first") : null, one.after?.length ? el("ul", {}, links(one.after)) : null,
      one.needed?.length ? el("h4", {}, "Needed by") : null, one.needed?.length ? el("ul", {}, links(one.needed)) : null,
    ].filter(Boolean));
  };
  show(null);
  return { box, show };
}

function objects() {
  const model = read(plan);
  const { box, show } = details(model);
  const kept = model.steps.filter((step) => step.fate === "keep");
  const added = model.steps.filter((step) => step.fate === "add");
  const views = [
    ["cluster", "By Cluster", model.steps.length, () => byCluster(model)],
    ["order", "In order of creation", model.steps.length, () => inOrder(model)],
    ["stays", "Stays", model.stays.length, () => byReason(model.stays)],
    ["kept", "Kept too", kept.length, () => byReason(kept)],
    ["added", "Added", added.length, () => byReason(added, (one) => one.why)],
  ].filter(([, , number]) => number > 0).map(([id, label, number, made]) => ({ id, label, number, made }));
  if (!views.length) return section("objects", "Objects", 0, el("p", {}, "There is nothing to move, and nothing that stays."));

  const map = new Picture({ picked: (node) => { current.tree.go(node); current.tree.toggle(node); } });
  const tell = el("p", { class: "found", role: "status" });
  const input = el("input", { type: "search", id: "search", placeholder: "name, kind or reason", autocomplete: "off", spellcheck: "false",
    oninput: () => search(), onkeydown: (event) => { if (event.key === "ArrowDown") { current.tree.box.focus(); event.preventDefault(); } } });
  const panels = el("div", { class: "panels" });
  const open = el("button", { type: "button", onclick: () => current.tree.setAll(true) }, "Open all");
  const close = el("button", { type: "button", onclick: () => current.tree.setAll(false) }, "Close all");
  let current = null;
  let terms = [];

  function search() {
    terms = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = current.tree.search(terms);
    const elsewhere = terms.length ? model.all.filter((one) => terms.every((term) => one.text.includes(term))).length : 0;
    tell.textContent = terms.length ? `${counted(found, "match")} here, ${thousands(elsewhere)} in the whole plan` : "";
  }

  function select(view, focus = false) {
    if (!view.tree) view.tree = new Tree(view.made(), view.label, { chosen: show, drawn: (tree) => { if (current?.tree === tree) map.draw(tree); } });
    current = view;
    for (const other of views) {
      other.tab.setAttribute("aria-selected", String(other === view));
      other.tab.tabIndex = other === view ? 0 : -1;
    }
    panels.replaceChildren(el("div", { role: "tabpanel", id: "panel", "aria-labelledby": `tab-${view.id}` }, view.tree.box));
    const nested = view.id !== "order";
    open.hidden = close.hidden = !nested;
    map.box.hidden = !nested;
    search();
    if (focus) view.tab.focus();
  }

  const tabs = el("div", { class: "tabs", role: "tablist", "aria-label": "Objects", onkeydown: (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1, Home: -views.length, End: views.length }[event.key];
    if (!step) return;
    event.preventDefault();
    const at = views.indexOf(current) + step;
    const to = event.key === "Home" ? 0 : event.key === "End" ? views.length - 1 : (at + views.length) % views.length;
    select(views[to], true);
  } }, views.map((view) => (view.tab = el("button", { type: "button", role: "tab", id: `tab-${view.id}`, "aria-controls": "panel", onclick: () => select(view) },
    view.label, el("span", { class: "count" }, ` ${thousands(view.number)}`)))));

  reveal = (name) => {
    const one = model.named.get(name);
    if (!one) return;
    const view = views.find(({ id }) => id === (one.fate === "stay" ? "stays" : "cluster"));
    if (terms.length) input.value = "";
    select(view);
    view.tree.reveal(one);
    view.tree.box.focus({ preventScroll: true });
    document.getElementById("objects").scrollIntoView({ block: "start" });
  };

  const made = section("objects", "Objects", null,
    el("div", { class: "tools" }, el("label", { for: "search" }, "Search"), input, open, close, tell),
    tabs,
    el("p", { class: "legend" }, Object.entries(FATES).map(([fate, { letter, long }]) => el("span", {}, el("span", { class: `fate ${fate}`, "aria-hidden": "true" }, letter), " ", long))),
    el("div", { class: "halves" }, panels, el("div", { class: "beside" }, box, map.box)));
  // What is measured has to be in the document.
  queueMicrotask(() => select(views[0]));
  return made;
}

const rows = (heads, lines) => el("div", { class: "wide" }, el("table", {}, el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col" }, head)))),
  el("tbody", {}, lines.map((cells) => el("tr", {}, cells.map((cell, index) => el("td", { "data-head": heads[index] }, cell)))))));

function story() {
  const { phases, waits, retries, throttled, notes: warnings, accepted, result, milliseconds } = report;
  const failure = result.kind === "Error" ? result : null;
  const at = (one) => `+${lasting(one.at)}`;
  const part = (id, title, items, made) => (items.length ? section(id, title, items.length, made(items)) : null);
  return [
    failure ? failed(
      failure.state ? el("p", {}, el("strong", {}, "State: "), failure.state) : null,
      (failure.remedies ?? []).map((remedy) => el("p", { class: "remedy" }, el("strong", {}, "To fix it: "), remedy.text)),
      commands("Next", failure.next)) : null,
    failure?.refusals?.length && !plan ? problems(failure.refusals.map((one) => ({ ...one, objects: [] }))) : null,
    failure && plan ? problems(plan.problems) : null,
    phases.length ? section("timeline", "Phases", null, el("p", { class: "hint" }, `${lasting(milliseconds)} in all, with the time before the first phase and after the last.`), timeline(report)) : null,
    found(report.findings),
    risks(accepted),
    part("waits", "Waits", waits, (all) => rows(["From", "For", "What"], all.map((one) => [at(one), lasting(one.milliseconds), one.awaited.join("; ") + (one.more ? ` and ${one.more} more` : "")]))),
    part("retries", "Requests sent again", retries, (all) => rows(["When", "Side", "Times", "Last error"], all.map((one) => [at(one), one.side, one.attempt, one.error]))),
    part("throttled", "Slowed down by servers", throttled, (all) => rows(["Side", "Requests turned away"], all.map((one) => [one.side, thousands(one.requests)]))),
    part("warnings", "Warnings and notes", warnings, (all) => list(all, (one) => el("li", { class: `card ${one.warning ? "warn" : ""}` }, el("p", { class: "what" }, one.text), el("p", { class: "code" }, one.code)))),
  ];
}

const parts = [
  head(about),
  plan ? tiles(plan) : null,
  ...(report ? story() : []),
  !report && message ? failed() : null,
  plan && !report ? problems(plan.problems) : null,
  ...(report ? [] : [risks(accepted), warned(warnings), found(findings)]),
  plan ? moves(plan.moves) : null,
  plan ? objects() : null,
  plan ? notes(plan.notes) : null,
];
page.append(...parts.filter(Boolean));
document.documentElement.dataset.ready = "yes";
