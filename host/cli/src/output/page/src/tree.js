// A tree with the keyboard of the ARIA tree pattern. Only the rows in view are in the document, so that 5,000 of them scroll as
// 50 do; the tree itself keeps the focus, and names the active row.
import { el, thousands, counted } from "./dom.js";
import { FATES } from "./model.js";

const MARGIN = 8;
let trees = 0;

export class Tree {
  /** `chosen` is called with the object of the active row, if it has one, and its node. */
  constructor(root, label, { chosen }) {
    Object.assign(this, { root, chosen, terms: [], active: null, name: `tree${trees++}`, typed: "", typedAt: 0 });
    const many = root.descendants().length - 1;
    this.open = new Set(root.descendants().filter((node) => many <= 60 || node.depth === 0 || root.children?.length === 1 && node.depth === 1));
    this.rows = el("div", { class: "rows", role: "none" });
    this.nothing = el("p", { class: "nothing", hidden: true }, "Nothing here matches.");
    this.box = el("div", {
      class: "tree", role: "tree", tabindex: 0, "aria-label": label,
      onscroll: () => this.paint(), onkeydown: (event) => this.key(event), onclick: (event) => this.click(event),
      onfocus: () => { if (!this.active && this.shown.length) this.go(this.shown[0], false); },
    }, this.rows, this.nothing);
    this.narrow = matchMedia("(max-width: 640px)");
    this.narrow.addEventListener("change", () => this.paint());
    new ResizeObserver(() => this.paint()).observe(this.box);
    this.list();
  }

  get height() { return this.narrow.matches ? 46 : 30; }

  /** Which rows there are: what is open, or what matches and what that belongs to. */
  list() {
    const { terms, open } = this;
    this.matches = null;
    if (terms.length) {
      this.matches = new Set();
      this.found = 0;
      for (const node of this.root.descendants()) {
        const text = node.data.object?.text ?? node.data.label?.toLowerCase() ?? "";
        if (node.depth && terms.every((term) => text.includes(term))) {
          if (node.data.object) this.found += 1;
          for (let up = node; up && !this.matches.has(up); up = up.parent) this.matches.add(up);
        }
      }
    }
    this.shown = [];
    const add = (node) => {
      const children = this.children(node);
      children.forEach((child, index) => {
        child.place = [index + 1, children.length];
        this.shown.push(child);
        if (this.isOpen(child)) add(child);
      });
    };
    add(this.root);
    this.nothing.hidden = this.shown.length > 0;
    if (this.active && !this.shown.includes(this.active)) this.active = null;
    this.paint();
  }

  children(node) {
    const children = node.children ?? [];
    return this.matches ? children.filter((child) => this.matches.has(child)) : children;
  }

  /** While something is looked for, all that leads to it is open. */
  isOpen(node) {
    return this.matches ? this.children(node).length > 0 : this.open.has(node) && Boolean(node.children);
  }

  search(terms) {
    this.terms = terms;
    this.box.scrollTop = 0;
    this.list();
    return this.found;
  }

  setAll(opened) {
    this.open = new Set(opened ? this.root.descendants() : [this.root]);
    this.list();
  }

  toggle(node, opened = !this.open.has(node)) {
    if (!node.children || this.matches) return;
    if (opened) this.open.add(node); else this.open.delete(node);
    this.list();
  }

  /** Opens all of a node, and closes the others. */
  showOnly(node) {
    this.open = new Set([this.root, ...node.descendants()]);
    this.list();
    this.box.scrollTop = this.shown.indexOf(node) * this.height;
    this.go(node);
  }

  /** Shows the row of an object, wherever it is. */
  reveal(object) {
    const node = this.root.descendants().find((node) => node.data.object === object);
    if (!node) return false;
    for (let up = node.parent; up; up = up.parent) this.open.add(up);
    this.list();
    this.go(node);
    return true;
  }

  go(node, tell = true) {
    if (!node) return;
    this.active = node;
    const { height, box } = this;
    const top = this.shown.indexOf(node) * height;
    if (top < box.scrollTop) box.scrollTop = top;
    else if (top + height > box.scrollTop + box.clientHeight) box.scrollTop = top + height - box.clientHeight;
    this.paint();
    if (tell) this.chosen?.(node.data.object ?? null, node);
  }

  paint() {
    const { height, box, shown } = this;
    this.rows.style.height = `${shown.length * height}px`;
    this.box.style.setProperty("--rows", `${Math.max(3, shown.length) * height + 2}px`);
    const first = Math.max(0, Math.floor(box.scrollTop / height) - MARGIN);
    const last = Math.min(shown.length, Math.ceil((box.scrollTop + box.clientHeight) / height) + MARGIN);
    const rows = shown.slice(first, last).map((node, index) => this.row(node, (first + index) * height));
    // The active row is always there: assistive technology reads it by its id.
    const at = this.active ? shown.indexOf(this.active) : -1;
    if (at >= 0 && (at < first || at >= last)) rows.push(this.row(this.active, at * height));
    this.rows.replaceChildren(...rows);
    if (at >= 0) box.setAttribute("aria-activedescendant", `${this.name}-${this.active.id}`);
    else box.removeAttribute("aria-activedescendant");
  }

  row(node, top) {
    const { object, label, detail, count, problems, numbered } = node.data;
    const active = node === this.active;
    const row = el("div", {
      class: `row${label === undefined ? "" : " heading"}`, role: "treeitem", id: `${this.name}-${node.id}`, "data-id": node.id,
      "aria-level": node.depth, "aria-posinset": node.place[0], "aria-setsize": node.place[1],
      "aria-expanded": node.children ? String(this.isOpen(node)) : null, "aria-selected": String(active),
    });
    row.style.transform = `translateY(${top}px)`;
    row.style.height = `${this.height}px`;
    row.style.paddingInlineStart = `${(Math.min(node.depth, this.narrow.matches ? 7 : 14) - 1) * (this.narrow.matches ? 12 : 18) + 4}px`;
    row.append(el("span", { class: `twisty${node.children ? "" : " none"}`, "aria-hidden": "true" }));
    if (object) {
      const fate = FATES[object.fate];
      row.append(
        numbered ? el("span", { class: "number" }, thousands(object.index + 1)) : "",
        el("span", { class: `fate ${object.fate}`, title: fate.long, "aria-hidden": "true" }, fate.letter),
        el("span", { class: "name" }, el("span", { class: "kind" }, object.kind), " ", el("span", { class: "path" }, object.path)),
        el("span", { class: "tags" },
          object.problems.length ? el("span", { class: "tag bad" }, `! ${counted(object.problems.length, "problem")}`) : "",
          object.fate === "move" ? el("span", { class: "unseen" }, `, ${fate.word}`) : el("span", { class: `tag ${object.fate}` }, fate.word)));
    } else {
      row.append(
        el("span", { class: "name" }, el("span", { class: "path" }, label), detail ? el("span", { class: "kind" }, ` ${detail}`) : ""),
        el("span", { class: "tags" },
          problems ? el("span", { class: "tag bad" }, `! ${counted(problems, "problem")}`) : "",
          el("span", { class: "count" }, thousands(count), el("span", { class: "unseen" }, " objects"))));
    }
    return row;
  }

  click(event) {
    const row = event.target.closest(".row");
    if (!row) return;
    const node = this.shown.find((node) => String(node.id) === row.dataset.id);
    this.go(node);
    if (node && (event.target.closest(".twisty") || !node.data.object)) this.toggle(node);
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { shown } = this;
    const at = this.active ? shown.indexOf(this.active) : -1;
    const node = this.active;
    const page = Math.max(1, Math.floor(this.box.clientHeight / this.height) - 1);
    const to = (index) => this.go(shown[Math.max(0, Math.min(shown.length - 1, index))]);
    const doing = {
      ArrowDown: () => to(at + 1),
      ArrowUp: () => to(at - 1),
      PageDown: () => to(at + page),
      PageUp: () => to(at - page),
      Home: () => to(0),
      End: () => to(shown.length - 1),
      ArrowRight: () => { if (!node?.children) return; if (this.isOpen(node)) to(at + 1); else this.toggle(node, true); },
      ArrowLeft: () => {
        if (node?.children && this.isOpen(node) && !this.matches) this.toggle(node, false);
        else if (node?.parent?.depth) this.go(node.parent);
      },
      Enter: () => { if (node) { this.toggle(node); this.chosen?.(node.data.object ?? null, node); } },
      " ": () => { if (node) this.toggle(node); },
      "*": () => { for (const one of node?.parent?.children ?? []) if (one.children) this.open.add(one); this.list(); },
    }[event.key];
    if (doing) {
      doing();
      event.preventDefault();
    } else if (event.key.length === 1) {
      this.typeAhead(event.key.toLowerCase(), event.timeStamp, at);
      event.preventDefault();
    }
  }

  /** Letters lead to the next row whose name begins with them. */
  typeAhead(letter, now, at) {
    this.typed = now - this.typedAt < 700 ? this.typed + letter : letter;
    this.typedAt = now;
    const { shown, typed } = this;
    const from = typed.length > 1 ? at : at + 1;
    for (let step = 0; step < shown.length; step += 1) {
      const node = shown[(Math.max(0, from) + step) % shown.length];
      const { object, label } = node.data;
      const names = object ? [object.kind, object.name, object.path] : [label, label.slice(label.lastIndexOf("/") + 1)];
      if (names.some((name) => name.toLowerCase().startsWith(typed))) return this.go(node);
    }
  }
}
