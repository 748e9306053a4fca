// Paper has no list that scrolls: it gets a row for each Cluster, and the objects that stay by reason.
import { el, counted, thousands, section } from "./dom.js";
import { frequent } from "./model.js";

const MOST_ROWS = 2000;
const MOST_NAMES = 40;

export function onPaper(model) {
  let made = null;
  addEventListener("beforeprint", () => {
    document.querySelectorAll("button.more").forEach((button) => button.click());
    made ??= document.getElementById("page").appendChild(printed(model));
  });
  addEventListener("afterprint", () => {
    made?.remove();
    made = null;
  });
}

function printed({ clusters, stays }) {
  const reasons = new Map();
  for (const one of stays) {
    if (!reasons.has(one.reason)) reasons.set(one.reason, []);
    reasons.get(one.reason).push(one);
  }
  const table = (heads, lines) => el("table", {}, el("thead", {}, el("tr", {}, heads.map((head) => el("th", {}, head)))), el("tbody", {}, lines.map((cells) => el("tr", {}, cells.map((cell) => el("td", {}, cell))))));
  return section("paper", "All Clusters", clusters.length,
    table(["Cluster", "Objects", "Kinds", "Problems"], clusters.slice(0, MOST_ROWS).map((one) => [one.name || "of no Cluster", thousands(one.steps.length), frequent(one.steps).map(([kind, number]) => counted(number, kind)).join(", "), one.problems || ""])),
    clusters.length > MOST_ROWS && el("p", {}, `and ${thousands(clusters.length - MOST_ROWS)} more`),
    stays.length > 0 && el("h2", {}, "Stays in the source"),
    stays.length > 0 && table(["Why", "Objects"], [...reasons].map(([why, all]) => [why, `${all.slice(0, MOST_NAMES).map((one) => `${one.kind} ${one.path}`).join(", ")}${all.length > MOST_NAMES ? ` and ${thousands(all.length - MOST_NAMES)} more` : ""}`])));
}
