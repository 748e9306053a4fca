// All objects: a search, lists of them, the chosen one in words, and its Cluster as a picture.
import { el, thousands, counted, section } from "./dom.js";
import { FATES, byCluster, byReason, inOrder } from "./model.js";
import { Tree } from "./tree.js";
import { Picture } from "./drawing.js";

/** What is known of the chosen object. */
function details(model, object) {
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
      ...one.warnings.map((said) => el("p", { class: "said warn" }, "▲ ", said.message)),
      ...one.notes.map((said) => el("p", { class: "said" }, said.message)),
      one.after?.length ? el("h4", {}, "Needs first") : null, one.after?.length ? el("ul", {}, links(one.after)) : null,
      one.needed?.length ? el("h4", {}, "Needed by") : null, one.needed?.length ? el("ul", {}, links(one.needed)) : null,
    ].filter(Boolean));
  };
  show(null);
  return { box, show };
}

/** `reveal` shows an object by its name, `pick` a Cluster, and `tab` one of the lists. */
export function objects(model) {
  let reveal = () => {};
  const object = (name, words = name) => el("button", { type: "button", class: "object", onclick: () => reveal(name) }, words);
  const { box, show } = details(model, object);
  const kept = model.steps.filter((step) => step.fate === "keep");
  const added = model.steps.filter((step) => step.fate === "add");
  const views = [
    ["cluster", "By Cluster", model.steps.length, () => byCluster(model)],
    ["order", "In order of creation", model.steps.length, () => inOrder(model)],
    ["stays", "Stays", model.stays.length, () => byReason(model.stays)],
    ["kept", "Kept too", kept.length, () => byReason(kept)],
    ["added", "Added", added.length, () => byReason(added, (one) => one.why)],
  ].filter(([, , number]) => number > 0).map(([id, label, number, made]) => ({ id, label, number, made }));
  if (!views.length) return { box: section("objects", "Objects", 0, el("p", {}, "There is nothing to move, and nothing that stays.")), object };

  const picture = new Picture({ picked: (node) => { if (node.data.object) current.tree.reveal(node.data.object); } });
  const chosen = (one, node) => {
    show(one);
    if (current?.id === "cluster" && node) draw(node);
  };
  const draw = (node) => {
    picture.draw(node.ancestors().find((up) => up.depth === 1));
    picture.choose(node);
  };
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
    if (!view.tree) view.tree = new Tree(view.made(), view.label, { chosen });
    current = view;
    for (const other of views) {
      other.tab.setAttribute("aria-selected", String(other === view));
      other.tab.tabIndex = other === view ? 0 : -1;
    }
    panels.replaceChildren(el("div", { role: "tabpanel", id: "panel", "aria-labelledby": `tab-${view.id}` }, view.tree.box));
    open.hidden = close.hidden = view.id === "order";
    picture.box.hidden = view.id !== "cluster";
    search();
    if (focus) view.tab.focus();
  }

  /** Selects a list without a search, and leads there. */
  function lead(id) {
    input.value = "";
    const view = views.find((view) => view.id === id);
    select(view);
    view.tree.box.focus({ preventScroll: true });
    document.getElementById("objects").scrollIntoView({ block: "start" });
    return view.tree;
  }

  function pick({ name }) {
    const tree = lead("cluster");
    tree.showOnly(tree.root.children.find((node) => node.data.cluster === name));
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
    if (one) lead(one.fate === "stay" ? "stays" : "cluster").reveal(one);
  };

  const made = section("objects", "Objects", null,
    el("div", { class: "tools" }, el("label", { for: "search" }, "Search"), input, open, close, tell),
    tabs,
    el("p", { class: "legend" }, Object.entries(FATES).map(([fate, { letter, long }]) => el("span", {}, el("span", { class: `fate ${fate}`, "aria-hidden": "true" }, letter), " ", long))),
    el("div", { class: "halves" }, panels, el("div", { class: "beside" }, box, picture.box)));
  // What is measured has to be in the document.
  queueMicrotask(() => {
    select(views[0]);
    const first = views[0].id === "cluster" && views[0].tree.root.children;
    if (first) draw(first.find((node) => node.data.problems) ?? first[0]);
  });
  return { box: made, object, pick, tab: lead };
}

