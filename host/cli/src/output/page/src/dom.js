// Elements are made from words, never from markup: text from objects and plugins is hostile.

export function el(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : String(value));
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
  return made;
}

const SVG = "http://www.w3.org/2000/svg";

export function svg(name, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  made.append(...children);
  return made;
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
