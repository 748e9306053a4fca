// The phases of a move on one axis of time, and how many objects changed when.
import { el, svg, lasting, counted, thousands } from "./dom.js";

const DONE = { done: "done", stopped: "stopped here", undone: "undone" };

export function timeline(report, files) {
  const { phases, milliseconds, rate } = report;
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
      el("tbody", {}, rows, pause(pauseWindow(report, files), milliseconds, share)))),
    rate && rate.changes.length > 1 ? chart(rate, whole) : null);
}

/** Exit codes after which the source is as it was. */
const UNDONE = [3, 8];

/** From the first pause to the end of the phase that ended it. `from` is missing if an earlier run paused. Nothing runs in files. */
export function pauseWindow({ phases, exitCode }, files = false) {
  const begun = phases.find((one) => one.phase === "Paused" && one.state !== "undone");
  if (files && !begun) return null;
  const live = phases.find((one) => one.phase === "Live" && one.state === "done");
  const undone = exitCode === 4 ? [] : phases.filter((one) => one.state === "undone" && one.changes.unpaused);
  const last = UNDONE.includes(exitCode) ? phases[phases.length - 1] : undefined;
  const end = live ?? undone[undone.length - 1] ?? last;
  if (begun ? !begun.changes.paused : !live && !undone.length && !phases.some((one) => ["Copied", "Ready", "Committed", "Live"].includes(one.phase))) return null;
  return { from: begun?.at, to: end && end.at + end.milliseconds };
}

/** The time in which no controller reconciled what moves. */
function pause(span, milliseconds, share) {
  if (!span) return null;
  const { from = 0, to = milliseconds } = span;
  const bar = el("span", { class: "bar pause" });
  bar.style.left = share(from);
  bar.style.width = `max(3px, ${share(to - from)})`;
  return el("tr", { class: "pauses" },
    el("th", { scope: "row" }, "Clusters paused"),
    el("td", { class: "axis", "aria-hidden": "true" }, el("span", { class: "rail" }, bar)),
    el("td", { class: "figure", "data-head": "Took" }, lasting(to - from)),
    el("td", { class: `how ${span.to === undefined ? "undone" : "done"}` }, span.to === undefined ? "‖ still paused" : "▸ unpaused"),
    el("td", { class: "words" }, span.to === undefined ? "until the run ended" : "at most: from the first pause to the end of the phase that unpauses"));
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
