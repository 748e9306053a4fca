// The answer, before any scrolling: what moves, what stays although it is needed, what is dangerous, what was accepted, how long
// Clusters are paused, and what to type next.
import { el, counted, thousands, lasting, sign, commandLine } from "./dom.js";
import { remedy } from "./findings.js";
import { pauseWindow } from "./timeline.js";

export function answer({ head, files, plan, report, accepted, message }, said, needed) {
  const { title, verdict, source, target, facts } = head;
  document.title = `${title}: ${verdict.text} – pivot-host`;
  return el("header", {},
    el("p", { class: "product" }, el("span", {}, "pivot-host"), el("strong", {}, title), el("span", { class: "way" }, source, el("span", { "aria-label": "to" }, " → "), target || "no target")),
    el("h1", { class: `verdict ${verdict.sign}` }, sign(verdict.sign), el("span", {}, verdict.text)),
    el("dl", { class: "answers" }, [
      plan && moving(plan.summary, files, report), plan && staying(plan.summary, needed, accepted),
      dangerous(said, report, message), accepting(accepted), paused({ head, files, plan, report }),
    ].filter(Boolean).map(([name, large, small, look = ""]) => el("div", { class: look, "data-answer": name }, el("dt", {}, name), el("dd", { class: "large" }, large), small && el("dd", { class: "small" }, small)))),
    next(head, said, plan, report),
    el("dl", { class: "facts" }, facts.filter(([, what]) => what).map(([name, what]) => el("div", {}, el("dt", {}, name), el("dd", {}, what, localTime(what))))));
}

/** The same moment by the reader's clock. */
function localTime(text) {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/.test(text)) return null;
  const time = new Date(text);
  return Number.isNaN(time.valueOf()) ? null : el("span", { class: "local" }, ` (${time.toLocaleString()} here)`);
}

function moving({ clusters, objects, kept }, files, report) {
  const verb = report?.exitCode === 0 ? (files ? "Copied" : "Moved") : files ? "Copies" : "Moves";
  return [verb, counted(clusters, "Cluster"), `${counted(objects, "object")}${kept ? `, ${thousands(kept)} of them kept in the source too` : ""}`];
}

function staying({ stay }, needed, accepted = []) {
  const others = `${thousands(stay)} ${stay === 1 ? "object stays" : "objects stay"}`;
  if (needed.length) return ["Stays, but is needed", counted(needed.length, "object"), [needed[0].name, needed[0].accepted && ", as accepted", needed.length > 1 && ` and ${thousands(needed.length - 1)} more`, `; ${others} in all`], needed.every((one) => one.accepted) ? "warn" : "bad"];
  const risk = accepted.find((one) => one.code === "dangling");
  if (risk) return ["Stays, but is needed", "Accepted", risk.text, "warn"];
  return ["Stays, but is needed", "Nothing found", others];
}

function dangerous({ problems, warnings }, report, message) {
  const link = (id, number, what) => el("a", { href: `#${id}` }, counted(number, what));
  const more = warnings.length > 0 && ["; ", link("warnings", warnings.length, "warning")];
  if (problems.length) return ["Dangerous", link("problems", problems.length, "problem"), [problems[0].message, more], "bad"];
  if (report?.result.kind === "Error" || message) return ["Dangerous", el("a", { href: "#stop" }, report ? "It stopped" : "Planning stopped"), [message?.[0], more], "bad"];
  if (warnings.length) return ["Dangerous", link("warnings", warnings.length, "warning"), warnings[0].message, "warn"];
  return ["Dangerous", "Nothing found", "no problems, no warnings"];
}

const accepting = (accepted) => (accepted?.length
  ? ["Accepted", el("a", { href: "#accepted" }, counted(accepted.length, "risk")), accepted.map((one) => one.text).join("; "), "warn"]
  : ["Accepted", "No risks", null]);

function paused({ head, files, plan, report }) {
  if (report) {
    const span = pauseWindow(report, files);
    if (!span) return null;
    const { from, to } = span;
    if (to === undefined) return ["Paused", "Still paused", from === undefined ? "since before this run" : `since ${lasting(from)} after the run began`, report.exitCode === 0 ? "" : "warn"];
    if (from === undefined) return ["Paused", "Until this run", "paused by an earlier run"];
    return ["Paused", `${lasting(to - from)} at most`, `from ${lasting(from)} to ${lasting(to)} of the run`];
  }
  if (!head.pause || !plan?.summary.clusters) return null;
  return ["Will be paused", counted(plan.summary.clusters, "Cluster"), head.pause];
}

function next(head, { problems }, plan, report) {
  const lines = head.next?.length ? head.next : report?.result.next ?? plan?.moves.flatMap((one) => one.next) ?? [];
  const commands = lines.map((line, index) => commandLine(line, index ? "or" : ""));
  if (!commands.length && problems.length) commands.push(remedy(problems[0], "First: "));
  if (!lines.length && head.again) commands.push(commandLine(head.again, commands.length ? "Then plan again" : "Plan again"));
  if (!commands.length && head.advice) commands.push(el("p", {}, head.advice));
  const shown = commands.filter(Boolean);
  return shown.length ? el("div", { class: "next" }, el("h2", {}, "Next"), shown) : null;
}
