// Elements are made from words, never from markup: text from objects and plugins is hostile.

export function el(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : String(value));
  }
  made.append(...children.flat(2).filter((child) => child !== null && child !== undefined && child !== false && child !== ""));
  return made;
}

const SVG = "http://www.w3.org/2000/svg";

export function svg(name, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  made.append(...children);
  return made;
}

export const SIGNS = { good: "✔", bad: "✖", warn: "▲", none: "–" };

export const sign = (which) => el("span", { class: `sign ${which}`, "aria-hidden": "true" }, SIGNS[which]);

export function section(id, title, number, ...children) {
  return el("section", { id, "aria-labelledby": `${id}-title` },
    el("h2", { id: `${id}-title` }, title, number === null ? "" : el("span", { class: "count" }, ` ${thousands(number)}`)), ...children);
}

/** A long list shows its beginning, and a button for the rest, which paper gets without it. */
export function list(items, made, most = 20, style = "list") {
  const box = el("ul", { class: style }, items.slice(0, most).map(made));
  if (items.length <= most) return box;
  const rest = (focus) => {
    more.remove();
    box.append(...items.slice(most).map(made));
    if (!focus) return;
    box.children[most].tabIndex = -1;
    box.children[most].focus();
  };
  const more = el("button", { type: "button", class: "more", onclick: () => rest(true) }, `Show ${thousands(items.length - most)} more`);
  return el("div", {}, box, more);
}

/** Text that pivot-host writes in place of a part that is too long. A command without that part is another command. */
const SHORTENED = / … \d+ characters left out … /;

/** A command, and a button that copies it: exactly the characters that are shown. A shortened command has no button. */
export function commandLine(command, before = "") {
  const code = el("code", {}, command);
  if (SHORTENED.test(command)) return el("p", { class: "command" }, before && el("span", { class: "before" }, before), code);
  const told = el("span", { class: "unseen", role: "status" });
  const button = el("button", { type: "button", class: "copy", "aria-label": `Copy ${command}`, onclick: async () => {
    const done = await copied(code);
    button.textContent = done ? "Copied" : "Selected";
    told.textContent = done ? "Copied" : "Selected: copy it with the keyboard";
    setTimeout(() => { button.textContent = "Copy"; told.textContent = ""; }, 2500);
  } }, "Copy");
  return el("p", { class: "command" }, before && el("span", { class: "before" }, before), code, button, told);
}

/** Pages in files have no clipboard in some browsers: there the command is selected, and copied as a selection. */
async function copied(code) {
  try {
    await navigator.clipboard.writeText(code.textContent);
    return true;
  } catch {
    getSelection().selectAllChildren(code);
    return document.execCommand("copy");
  }
}

export const thousands = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, ",");

export const counted = (number, what) => `${thousands(number)} ${number === 1 ? what : plural(what)}`;

/** As `plural_kind` in host/core/src/messages/grouping.rs has it. */
function plural(what) {
  if (what.endsWith("Data")) return what;
  if (/(s|x|ch|sh)$/.test(what)) return `${what}es`;
  if (/[^aeiou]y$/.test(what)) return `${what.slice(0, -1)}ies`;
  return `${what}s`;
}

/** A duration for people: 0.4 s, 12 s, 3 min 5 s, 2 h 4 min. */
export function lasting(milliseconds) {
  const seconds = milliseconds / 1000;
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}
