// What is wrong, and what is worth knowing: messages that differ only in the names of their objects share a card.
import { el, counted, thousands, list, section, sign, commandLine } from "./dom.js";

const NAME = /[\p{L}\p{N}\-._/]+/gu;
/** Names that a card shows before its button for the others. */
const NAMED = 8;

/** Groups messages as `group_items` in host/core/src/messages/grouping.rs does. */
export function fold(messages) {
  const groups = new Map();
  for (const one of messages) {
    const object = one.objects[0] ?? "";
    const key = JSON.stringify([one.severity, one.by, one.code, object.split(" ")[0], withoutNames(one.message, object), withoutNames(one.remedy ?? "", object)]);
    const group = groups.get(key);
    if (!group) groups.set(key, { ...one, objects: [...one.objects], times: 1 });
    else {
      group.objects.push(...one.objects);
      group.times += 1;
    }
  }
  return [...groups.values()].map((group) => ({ ...group, objects: [...new Set(group.objects)] }));
}

/** As `remove_names` there: a namespace alone stays, except as the value of a flag. */
function withoutNames(text, object) {
  const path = object.slice(object.indexOf(" ") + 1);
  if (!path) return text;
  const [namespace, name] = path.includes("/") ? path.split(/\/(.*)/s) : [undefined, path];
  let isFlag = false;
  return text.replace(NAME, (word) => {
    const isOwn = word === path || word === name || (isFlag && word === namespace);
    isFlag = word.startsWith("-");
    return isOwn ? "…" : word;
  });
}

/** All that was said about a plan or a move, by how much it matters. */
export function sorted({ plan, report, warnings = [], findings = [] }) {
  const refusals = plan ? plan.problems : (report?.result.refusals ?? []).map((one) => ({ ...one, objects: named(one.object), commands: [] }));
  const found = (report?.findings ?? findings).map((one) => ({ severity: one.severity, by: one.plugin, code: one.code, message: one.text, objects: named(one.object), remedy: one.remedy }));
  const told = (report?.notes ?? []).map((one) => ({ severity: one.warning ? "warn" : "note", code: one.code, message: one.text, objects: named(one.object) }));
  const all = fold([
    ...refusals.map((one) => ({ ...one, by: one.side, severity: "stop" })),
    ...warnings.map((one) => ({ ...one, severity: "warn" })),
    ...(plan?.notes ?? []).map((one) => ({ ...one, severity: "note" })),
    ...told, ...found,
  ]);
  const of = (...severities) => all.filter((one) => severities.includes(one.severity));
  return { problems: of("stop"), warnings: all.filter((one) => one.severity !== "stop" && one.severity !== "note"), notes: of("note") };
}

const named = (object) => (object ? [typeof object === "string" ? object : `${object.kind} ${[object.namespace, object.name].filter(Boolean).join("/")}`] : []);

const SECTIONS = { problems: ["Problems", "bad"], warnings: ["Warnings", "warn"], notes: ["Worth knowing", ""] };

/** The section of one sort; `object` makes a link of an object's name. */
export function cards(id, found, object) {
  if (!found.length) return null;
  const [title, look] = SECTIONS[id];
  return section(id, title, found.length, list(found, (one) => el("li", { class: `card ${look}` },
    el("p", { class: "what" }, look && sign(look), one.by && el("span", { class: "side" }, one.by), one.message,
      one.times > 1 && el("strong", { class: "times" }, ` and ${thousands(one.times - 1)} more like this`)),
    objectsOf(one.objects, object),
    remedy(one, one.times > 1 ? "To fix the first: " : "To fix it: "),
    one.code && id !== "problems" && el("p", { class: "code" }, one.code))));
}

function objectsOf(names, object) {
  if (!names.length) return null;
  const [kind] = names[0].split(" ");
  const alike = names.length > 1 && names.every((name) => name.startsWith(`${kind} `));
  const linked = (some, first) => some.flatMap((name, index) => [index || !first ? ", " : "", object(name, alike ? name.slice(kind.length + 1) : name)]);
  const line = el("p", { class: "objects" }, alike && `${counted(names.length, kind)}: `, linked(names.slice(0, NAMED), true));
  if (names.length > NAMED) {
    const more = el("span", {}, " and ", el("button", { type: "button", class: "object all", onclick: () => more.replaceWith(...linked(names.slice(NAMED), false)) }, `${thousands(names.length - NAMED)} more`));
    line.append(more);
  }
  return line;
}

/** Only commands of the program itself have buttons: a plugin, or a name, could write backticks. */
export function remedy({ remedy, commands = [] }, before) {
  if (!remedy) return null;
  const parts = commands.reduce((parts, command) => parts.flatMap((part) => (typeof part === "string" ? around(part, command) : part)), [remedy]);
  const shown = parts.filter(Boolean).map((part, index) => (typeof part === "string" ? el("p", {}, index ? "" : el("strong", {}, before), part) : commandLine(part.command)));
  return el("div", { class: "remedy" }, shown);
}

/** The first mention of a command as an element of its own. */
function around(text, command) {
  const at = text.indexOf(`\`${command}\``);
  return at < 0 ? text : [text.slice(0, at).trim(), { command }, text.slice(at + command.length + 2).replace(/^[,;]? /, "").trim()];
}
