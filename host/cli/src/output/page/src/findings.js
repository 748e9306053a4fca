// What is wrong, and what is worth knowing. The program has folded the messages that differ only in the names of their objects.
import { el, counted, thousands, list, section, sign, commandLine } from "./dom.js";

/** Names that a card shows before its button for the others. */
const NAMED = 8;

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
