// What happened in a move: why it stopped, its phases, and what it waited for.
import { el, thousands, lasting, section, list, commandLine } from "./dom.js";
import { timeline } from "./timeline.js";

const rows = (heads, lines) => el("div", { class: "wide" }, el("table", {}, el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col" }, head)))),
  el("tbody", {}, lines.map((cells) => el("tr", {}, cells.map((cell, index) => el("td", { "data-head": heads[index] }, cell)))))));

/** Why a move, or planning, stopped. */
export const failed = (message = [], ...more) => section("stop", "Why it stopped", null, el("div", { class: "card bad" }, message.map((line) => el("p", { class: "what" }, line)), more));

/** The first problem and the next commands are in the answer. */
export function stop({ report, message }) {
  const failure = report.result.kind === "Error" ? report.result : null;
  if (!failure) return null;
  return failed(message,
    failure.state && el("p", {}, el("strong", {}, "State: "), failure.state),
    (failure.remedies ?? []).map((remedy) => el("p", { class: "remedy" }, el("strong", {}, "To fix it: "), remedy.text)));
}

export function phases(report, files) {
  if (!report.phases.length) return null;
  return section("timeline", "Phases", null, el("p", { class: "hint" }, `${lasting(report.milliseconds)} in all, with the time before the first phase and after the last.`), timeline(report, files));
}

export function delays({ waits, retries, throttled }) {
  const at = (one) => `+${lasting(one.at)}`;
  const part = (id, title, items, made) => (items.length ? section(id, title, items.length, made(items)) : null);
  return [
    part("waits", "Waits", waits, (all) => rows(["From", "For", "What"], all.map((one) => [at(one), lasting(one.milliseconds), one.awaited.join("; ") + (one.more ? ` and ${one.more} more` : "")]))),
    part("retries", "Requests sent again", retries, (all) => rows(["When", "Side", "Times", "Last error"], all.map((one) => [at(one), one.side, one.attempt, one.error]))),
    part("throttled", "Slowed down by servers", throttled, (all) => rows(["Side", "Requests turned away"], all.map((one) => [one.side, thousands(one.requests)]))),
  ];
}

/** Moves that are under way while a plan is made. */
export function moves(found) {
  if (!found.length) return null;
  return section("moves", "Moves under way", found.length, list(found, (one) => el("li", { class: "card warn" },
    one.lines.map((line) => el("p", { class: "what" }, line)), one.next.map((line, index) => commandLine(line, index ? "or" : "Next")))));
}

/** The risks that the user accepted. */
export function risks(all) {
  if (!all?.length) return null;
  return section("accepted", "Risks accepted", all.length, el("ul", { class: "plain" }, all.map((one) => el("li", {}, one.text))));
}
