// One Cluster as a picture: the whole of it, from left to right. It moves with the pointer, the wheel and the buttons; all that it
// says is in the tree, too, which is why assistive technology is spared it.
import { hierarchy, tree } from "d3-hierarchy";
import { select } from "d3-selection";
import { zoom, zoomIdentity } from "d3-zoom";
import { el, svg, counted } from "./dom.js";
import { FATES } from "./model.js";

const ROW = 26;
/** Room between columns, each of which is as wide as its widest box. */
const GAP = 44;
/** More siblings of a kind than these are one box. */
const ALIKE = 6;
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
    this.title = el("h3", {});
    new ResizeObserver(() => this.fit()).observe(this.canvas);
    this.box = el("div", { class: "drawing" },
      el("div", { class: "buttons" }, this.title,
        el("button", { type: "button", onclick: by(1.4), "aria-label": "Zoom in" }, "+"),
        el("button", { type: "button", onclick: by(1 / 1.4), "aria-label": "Zoom out" }, "−"),
        el("button", { type: "button", onclick: () => this.fit() }, "Fit")),
      this.canvas, this.note);
  }

  /** Draws a node of the tree with all that is below it. */
  draw(top) {
    if (top === this.top) return;
    this.top = top;
    const { root, left } = reduced(top);
    const arrange = tree().nodeSize([ROW, 1]).separation((a, b) => (a.parent === b.parent ? 1 : 1.25));
    arrange(root);
    const nodes = root.descendants().filter((node) => node.depth);
    const widest = [];
    for (const node of nodes) widest[node.depth] = Math.max(widest[node.depth] ?? 0, node.wide);
    for (const node of nodes) node.y = widest.slice(1, node.depth).reduce((all, wide) => all + wide + GAP, 0);
    const links = nodes.filter((node) => node.depth > 1).map((node) => {
      const [x, y, mid] = [node.parent.y + node.parent.wide, node.parent.x, (node.parent.y + node.parent.wide + node.y) / 2];
      return svg("path", { d: `M${x},${y}C${mid},${y} ${mid},${node.x} ${node.y},${node.x}` });
    });
    this.nodes = new Map(nodes.map((node) => [node.data.of, { node, box: this.node(node) }]));
    const boxes = [...this.nodes.values()].map(({ box }) => box);
    this.layer.replaceChildren(svg("g", { class: "links" }, ...links), svg("g", { class: "links more" }, ...references(nodes)), svg("g", {}, ...boxes));
    this.extent = nodes.reduce((all, node) => [
      Math.min(all[0], node.x), Math.max(all[1], node.x), Math.min(all[2], node.y), Math.max(all[3], node.y + node.wide),
    ], [Infinity, -Infinity, Infinity, -Infinity]);
    this.title.textContent = top.data.label ?? "";
    this.note.textContent = `${left ? `The first ${MOST} boxes. ` : ""}Drag to move; Ctrl and wheel, or the buttons, zoom.`;
    this.fit();
  }

  /** Marks the box of a node, and brings it into the picture. */
  choose(node) {
    this.layer.querySelector(".chosen")?.classList.remove("chosen");
    const found = this.nodes?.get(node);
    if (!found) return;
    found.box.classList.add("chosen");
    const [frame, box] = [this.canvas, found.box].map((one) => one.getBoundingClientRect());
    if (box.top < frame.top || box.bottom > frame.bottom || box.left < frame.left || box.right > frame.right) this.zoom.translateTo(select(this.canvas), found.node.y + found.node.wide / 2, found.node.x);
  }

  node(node) {
    const { of, alike } = node.data;
    const { object } = of.data;
    const box = svg("g", { class: `box ${object.fate}${object.problems.length ? " alarm" : ""}${alike ? " stack" : ""}`, transform: `translate(${node.y},${node.x})` });
    if (alike) box.append(svg("rect", { x: 3, y: -7, width: node.wide, height: 20, rx: 4 }));
    box.append(svg("rect", { x: 0, y: -10, width: node.wide, height: 20, rx: 4 }));
    const words = svg("text", { x: 8, y: 4 });
    words.textContent = node.words;
    box.append(words);
    const title = svg("title");
    title.textContent = alike ? node.words : `${object.kind} ${object.path}: ${FATES[object.fate].long}`;
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

/** A copy of a tree, in which many siblings of a kind are one. */
function reduced(top) {
  let room = MOST;
  const copy = (node, depth) => {
    const made = { of: node, depth, children: [] };
    const alike = new Map();
    for (const child of node.children ?? []) {
      const { object } = child.data;
      const kind = `${object.kind} ${object.fate} ${object.problems.length > 0} ${child.children?.length > 0}`;
      if (!alike.has(kind)) alike.set(kind, []);
      alike.get(kind).push(child);
    }
    for (const group of alike.values()) {
      if (room <= 0) break;
      const one = group.length > ALIKE;
      for (const child of one ? group.slice(0, 1) : group) {
        if ((room -= 1) < 0) break;
        const below = copy(child, depth + 1);
        if (one) below.alike = group.length;
        made.children.push(below);
      }
    }
    return made;
  };
  const root = copy(top, 0);
  return { root: arranged(root), left: room <= 0 };
}

/** What an object needs besides its owner, if both are drawn. */
function references(nodes) {
  const drawn = new Map(nodes.map((node) => [node.data.of.data.object.index, node]));
  return nodes.flatMap((node) => node.data.of.data.object.after.map((index) => drawn.get(index)).filter((other) => other && other !== node.parent)
    .map((other) => svg("path", { d: `M${other.y},${other.x}C${other.y - 40},${other.x} ${node.y - 40},${node.x} ${node.y},${node.x}` })));
}

/** The words of a box, and how wide they make it. */
function arranged(data) {
  const root = hierarchy(data, (one) => one.children);
  root.eachBefore((node) => {
    const { of, alike } = node.data;
    const { object } = of.data;
    const words = !object ? "" : alike ? counted(alike, object.kind) : `${FATES[object.fate].letter} ${object.problems.length ? "! " : ""}${object.kind} ${object.name}`;
    node.words = words.length > 34 ? `${words.slice(0, 33)}…` : words;
    node.wide = Math.max(40, node.words.length * 7 + 16);
  });
  return root;
}
