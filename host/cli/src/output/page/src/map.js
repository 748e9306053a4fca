// The same tree as a picture: what is open there is drawn here. It moves with the pointer, the wheel and the buttons; all that it
// says is in the tree, too, which is why assistive technology is spared it.
import { hierarchy, tree } from "d3-hierarchy";
import { select } from "d3-selection";
import { zoom, zoomIdentity } from "d3-zoom";
import { el, svg, counted, thousands } from "./dom.js";
import { FATES } from "./model.js";

const ROW = 26;
const COLUMN = 250;
/** More siblings of a kind than these are one box. */
const ALIKE = 6;
/** The same of headings. */
const HEADINGS = 12;
/** Smaller words can't be read: the rest is out of the picture then, to be moved into it. */
const SMALLEST = 0.5;
const MOST = 400;

export class Picture {
  constructor({ picked }) {
    this.picked = picked;
    this.layer = svg("g");
    this.canvas = svg("svg", { "aria-hidden": "true", focusable: "false" }, this.layer);
    const still = matchMedia("(prefers-reduced-motion: reduce)");
    this.zoom = zoom().scaleExtent([0.08, 2.5]).on("zoom", (event) => this.layer.setAttribute("transform", event.transform));
    // The page scrolls by wheel and finger; the picture moves with Ctrl, or two fingers, as maps in pages do.
    this.zoom.filter((event) => {
      if (event.type === "wheel") return event.ctrlKey || event.metaKey;
      return event.touches ? event.touches.length > 1 : !event.button;
    });
    select(this.canvas).call(this.zoom).on("dblclick.zoom", null);
    const by = (factor) => () => {
      const chosen = select(this.canvas);
      this.zoom.scaleBy(still.matches ? chosen : chosen.transition().duration(150), factor);
    };
    this.note = el("p", { class: "hint" });
    new ResizeObserver(() => this.fit()).observe(this.canvas);
    this.box = el("div", { class: "map" },
      el("div", { class: "buttons" },
        el("button", { type: "button", onclick: by(1.4), "aria-label": "Zoom in" }, "+"),
        el("button", { type: "button", onclick: by(1 / 1.4), "aria-label": "Zoom out" }, "−"),
        el("button", { type: "button", onclick: () => this.fit() }, "Fit")),
      this.canvas, this.note);
  }

  /** Draws what is open in a tree. */
  draw(shown) {
    clearTimeout(this.later);
    this.later = setTimeout(() => this.now(shown), 30);
  }

  now(shown) {
    const { root, left } = this.reduced(shown);
    const arrange = tree().nodeSize([ROW, COLUMN]).separation((a, b) => (a.parent === b.parent ? 1 : 1.25));
    arrange(root);
    const nodes = root.descendants().filter((node) => node.depth);
    const links = nodes.filter((node) => node.depth > 1).map((node) => {
      const [x, y, mid] = [node.parent.y + node.parent.wide, node.parent.x, (node.parent.y + node.parent.wide + node.y) / 2];
      return svg("path", { d: `M${x},${y}C${mid},${y} ${mid},${node.x} ${node.y},${node.x}` });
    });
    const boxes = nodes.map((node) => this.node(node));
    this.layer.replaceChildren(svg("g", { class: "links" }, ...links), svg("g", {}, ...boxes));
    this.extent = nodes.reduce((all, node) => [
      Math.min(all[0], node.x), Math.max(all[1], node.x), Math.min(all[2], node.y), Math.max(all[3], node.y + node.wide),
    ], [Infinity, -Infinity, Infinity, -Infinity]);
    this.note.textContent = left
      ? `The first ${MOST} boxes of what is open; close some of it, or search, to see others.`
      : "It shows what is open in the list. Drag to move; Ctrl and wheel, or the buttons, zoom.";
    this.fit();
  }

  /** A copy of what is open, in which many siblings of a kind are one. */
  reduced(shown) {
    let room = MOST;
    const copy = (node, depth) => {
      const made = { of: node, depth, children: [] };
      if (!depth || shown.isOpen(node)) {
        const alike = new Map();
        for (const child of shown.children(node)) {
          const { object } = child.data;
          const kind = shown.isOpen(child) ? child.id : object ? `${object.kind} ${object.fate}` : "closed";
          if (!alike.has(kind)) alike.set(kind, []);
          alike.get(kind).push(child);
        }
        for (const group of alike.values()) {
          if (room <= 0) break;
          const one = group.length > (group[0].data.object ? ALIKE : HEADINGS);
          for (const child of one ? group.slice(0, 1) : group) {
            if ((room -= 1) < 0) break;
            const below = copy(child, depth + 1);
            if (one) below.alike = group.length;
            made.children.push(below);
          }
        }
      }
      return made;
    };
    const root = copy(shown.root, 0);
    return { root: arranged(root), left: room <= 0 };
  }

  node(node) {
    const { of, alike } = node.data;
    const { object, label, count } = of.data;
    const fate = object ? object.fate : "none";
    const box = svg("g", { class: `box ${fate}${object?.problems.length ? " alarm" : ""}${alike ? " stack" : ""}`, transform: `translate(${node.y},${node.x})` });
    if (alike) box.append(svg("rect", { x: 3, y: -7, width: node.wide, height: 20, rx: 4 }));
    box.append(svg("rect", { x: 0, y: -10, width: node.wide, height: 20, rx: object ? 4 : 10 }));
    const words = svg("text", { x: 8, y: 4 });
    words.textContent = node.words;
    box.append(words);
    const title = svg("title");
    title.textContent = alike ? node.words : object ? `${object.kind} ${object.path}: ${FATES[fate].long}` : `${label}: ${counted(count, "object")}`;
    box.append(title);
    box.addEventListener("click", () => this.picked(of));
    return box;
  }

  fit() {
    const { width, height } = this.canvas.getBoundingClientRect();
    if (!width || !this.extent || !isFinite(this.extent[0])) return;
    const [top, bottom, left, right] = this.extent;
    const scale = Math.max(SMALLEST, Math.min(1.1, (width - 32) / (right - left), (height - 40) / (bottom - top + ROW)));
    const tall = (bottom - top + ROW) * scale > height;
    const at = zoomIdentity
      .translate(16 - left * scale, tall ? 24 - top * scale : height / 2 - ((top + bottom) / 2) * scale)
      .scale(scale);
    select(this.canvas).call(this.zoom.transform, at);
  }
}

/** The words of a box, and how wide they make it. */
function arranged(data) {
  const root = hierarchy(data, (one) => one.children);
  root.eachBefore((node) => {
    const { of, alike } = node.data;
    const { object, label, count, numbered } = of.data ?? {};
    let words = "";
    if (alike) words = object ? counted(alike, object.kind) : `${thousands(alike)} closed groups`;
    else if (object) words = `${FATES[object.fate].letter} ${numbered ? `${object.index + 1} ` : ""}${object.problems.length ? "! " : ""}${object.kind} ${object.name}`;
    else if (label !== undefined) words = `${label} (${count})`;
    node.words = words.length > 34 ? `${words.slice(0, 33)}…` : words;
    node.wide = Math.max(40, node.words.length * 7 + 16);
  });
  return root;
}
