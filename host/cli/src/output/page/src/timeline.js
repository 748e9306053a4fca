// The phases of a move on one axis of time, and how many objects changed when.
import { el, svg, lasting, counted, thousands } from "./dom.js";

const DONE = { done: "done", stopped: "stopped here", undone: "undone" };

export function timeline({ phases, milliseconds, rate }) {
  const whole = Math.max(milliseconds, 1);
  const share = (part) => `${(100 * part) / whole}%`;
  const rows = phases.map(({ phase, at, milliseconds: took, objects, state, changes }) => {
    const bar = el("span", { class: `bar ${state}` });
    bar.style.left = share(at);
    bar.style.width = `max(3px, ${share(took)})`;
    const done = Object.entries(changes).map(([verb, number]) => `${thousands(number)} ${verb}`).join(", ");
    const sum = Object.values(changes).reduce((all, one) => all + one, 0);
    const perSecond = (sum * 1000) / Math.max(took, 1);
    const speed = sum < 10 || took < 50 ? "" : perSecond >= 1 ? `${thousands(Math.round(perSecond))} a second` : `${Math.max(1, Math.round(perSecond * 60))} a minute`;
    return el("tr", {},
      el("th", { scope: "row" }, phase),
      el("td", { class: "axis", "aria-hidden": "true" }, el("span", { class: "rail" }, bar)),
      el("td", { class: "figure", "data-head": "Took" }, lasting(took)),
      el("td", { class: `how ${state}` }, { done: "✔ ", stopped: "✖ ", undone: "↶ " }[state], DONE[state]),
      el("td", { class: "words" }, [done || counted(objects, "object"), speed].filter(Boolean).join("; ")));
  });
  return el("div", {},
    el("div", { class: "wide" }, el("table", { class: "phases" },
      el("caption", { class: "unseen" }, "The phases, in order"),
      el("thead", {}, el("tr", {}, ["Phase", "When", "Took", "End", "Changes"].map((head, index) =>
        el("th", { scope: "col", ...(index === 1 ? { "aria-hidden": "true", class: "axis" } : {}) }, head)))),
      el("tbody", {}, rows))),
    rate && rate.changes.length > 1 ? chart(rate, whole) : null);
}

function chart({ milliseconds: step, changes }, whole) {
  const most = Math.max(...changes);
  const perSecond = Math.round((most * 1000) / step);
  const picture = svg("svg", { class: "rate", viewBox: "0 0 1000 80", preserveAspectRatio: "none", "aria-hidden": "true" });
  const width = (1000 * step) / whole;
  changes.forEach((number, index) => {
    const height = (76 * number) / most;
    picture.append(svg("rect", { x: index * width, y: 80 - height, width: Math.max(1, width - 0.6), height }));
  });
  return el("figure", {}, picture,
    el("figcaption", {}, `Changes over these ${lasting(whole)}; at most ${thousands(perSecond)} a second.`));
}
