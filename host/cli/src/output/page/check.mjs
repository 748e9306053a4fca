// Opens pages in a real browser: light and 1,440 px wide, dark and 390 px wide, and on paper. Nothing may be written to the console, no
// request may leave the page, nothing may be wider than the window, and the keyboard must reach everything. The first screen must
// have the answer. `cargo xtask test --only page` runs it. The scenes are opened, too, next to page.html.
//
// usage: node check.mjs OUT-DIRECTORY PAGE.html...
import { mkdirSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import { HOSTILE, LABEL, MISSING, MOVE, PLAN, write } from "./scenes.mjs";
import { counted } from "./src/dom.js";
import { pauseWindow } from "./src/timeline.js";

const [out, ...given] = process.argv.slice(2);
const FLAGS = [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
];
/** Many times what it takes on a quiet machine: a page that is this slow is broken, whatever runs beside it. */
const BOUNDS = { "first picture": 20000, "search result": 3000, "scrolling to the end": 3000, megabytes: 200 };

/** Milliseconds in which a page has to open once of several times: other programs can be in the way of the others. */
const OPENING = 2000;
const opened = new Map();
/** No rule of the style is for both a scheme and a width. */
const LOOKS = [["light", 1440], ["dark", 390]];

const wrong = [];
const check = (good, what) => { if (!good) wrong.push(what); };
mkdirSync(out, { recursive: true });

// Kinds read as they do on a terminal.
const kinds = ["Machine", "ClusterClass", "Policy", "Proxy", "HardwareData", "Gateway"].map((kind) => counted(2, kind));
const read = ["2 Machines", "2 ClusterClasses", "2 Policies", "2 Proxies", "2 HardwareData", "2 Gateways"];
check(String(kinds) === String(read), `several of a kind read ${kinds}`);

// A report doesn't say that something is paused that isn't, nor the reverse.
const span = (exitCode, ...phases) => JSON.stringify(pauseWindow({ exitCode, phases: phases.map(([phase, state, changes = {}], at) => ({ phase, state, changes, at, milliseconds: 1 })) }));
const paused = ["Paused", "done", { paused: 2 }];
check(span(0, ["Checked", "done"], paused, ["Copied", "done"], ["Live", "done"], ["Released", "done"]) === '{"from":1,"to":4}', "a pause doesn't end with the phase that unpauses");
check(span(4, ["Checked", "done"], paused, ["Copied", "stopped"]) === '{"from":1}', "a stopped move isn't still paused");
check(span(3, ["Checked", "done"], paused, ["Paused", "undone", { unpaused: 2 }]) === '{"from":1,"to":3}', "an undone pause doesn't end");
check(span(3, ["Checked", "stopped"]) === "null" && span(3, ["Checked", "done"], ["Paused", "stopped"]) === "null", "a refused move paused something");
check(span(0, ["Copied", "done"], ["Live", "done"]) === '{"to":2}', "a resumed move's pause has a beginning");

check(pauseWindow({ exitCode: 0, phases: [{ phase: "Copied", state: "done", changes: {}, at: 0, milliseconds: 1 }] }, true) === null, "a copy of files pauses something");

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: FLAGS });
for (const page of [...given, ...write("page.html", out)]) {
  for (const [colorScheme, width] of LOOKS) await look(resolve(page), colorScheme, width).catch((error) => wrong.push(`${basename(page)}: ${error.message}`));
}
await browser.close();
for (const [path, best] of opened) check(best <= OPENING, `${basename(path)} needs ${Math.round(best)} ms to open`);
wrong.forEach((what) => console.log(`WRONG ${what}`));
process.exitCode = wrong.length ? 1 : 0;

async function look(path, colorScheme, width) {
  const name = `${basename(path, ".html")}-${colorScheme}-${width}`;
  const context = await browser.newContext({ colorScheme, viewport: { width, height: 900 }, reducedMotion: "reduce" });
  try {
    const tab = await context.newPage();
    tab.setDefaultTimeout(20000);
    const url = pathToFileURL(path).href;
    const said = [], asked = [], stopped = [];
    tab.on("console", (message) => said.push(message.text()));
    tab.on("pageerror", (error) => said.push(String(error)));
    context.on("request", (request) => { if (request.url() !== url) asked.push(request.url()); });
    context.on("requestfailed", (request) => { if (request.failure().errorText === "csp") stopped.push(request.url()); });

    const client = await context.newCDPSession(tab);
    await client.send("Performance.enable");
    await tab.goto(url);
    await tab.waitForFunction(() => document.documentElement.dataset.ready === "yes");
    const tree = tab.locator("[role=tree]");
    const hasTree = await tab.evaluate(() => Boolean(document.querySelector("#search")));
    if (hasTree) await tab.waitForSelector("[role=treeitem]");
    const figures = { "first picture": await tab.evaluate(firstPicture) };
    figures.opening = await openingTime(client);
    opened.set(path, Math.min(opened.get(path) ?? Infinity, figures.opening));
    if (width > 1000) await firstScreen(tab, name);
    await tab.screenshot({ path: join(out, `${name}.png`) });

    const sideways = await tab.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    check(sideways <= 0, `${name}: ${sideways} px wider than the window`);
    await order(tab, name);
    await copy(tab, name);
    await map(tab, name, width);
    await paper(tab, name);
    if (basename(path) === "scene-problems.html") await problems(tab, name);
    if (basename(path) === "scene-clusters.html") await hostile(tab, name);
    if (hasTree) {
      await keyboard(tab, tree, name);
      figures["search result"] = await search(tab, name);
      figures["scrolling to the end"] = await tab.evaluate(scrollToEnd);
      await tab.screenshot({ path: join(out, `${name}-used.png`), fullPage: true });
    }
    // The policy itself, by what it stops.
    check(said.length === 0, `${name}: the console says ${said}`);
    check(asked.length === 0, `${name}: requests left the page: ${asked}`);
    const requests = asked.length;
    const left = await tab.evaluate(escape);
    check(left.length === 0, `${name}: what should have been stopped went through: ${left}`);
    check(stopped.length === asked.length, `${name}: of ${asked} the policy stopped only ${stopped}`);

    const { metrics } = await client.send("Performance.getMetrics");
    figures.megabytes = metrics.find(({ name }) => name === "JSHeapUsedSize").value / 1e6;
    for (const [what, bound] of Object.entries(BOUNDS)) {
      check(!(figures[what] > bound), `${name}: ${what}: ${figures[what]}, more than ${bound}`);
    }
    const shown = Object.entries(figures).map(([what, figure]) => `${what} ${figure.toFixed(what === "megabytes" ? 1 : 0)}${what === "megabytes" ? "" : " ms"}`);
    console.log(`${name} (${(statSync(path).size / 1e6).toFixed(2)} MB): ${shown.join(", ")}; ${requests} requests`);
  } finally {
    await context.close();
  }
}

/** Until something of the page was painted, from the start of the navigation. */
function firstPicture() {
  return new Promise((done) => {
    const seen = () => performance.getEntriesByName("first-contentful-paint")[0]?.startTime;
    const wait = () => (seen() === undefined ? requestAnimationFrame(wait) : done(Math.max(seen(), performance.getEntriesByType("navigation")[0].domContentLoadedEventEnd)));
    wait();
  });
}

/** What opening the page costs the browser, in milliseconds. */
async function openingTime(client) {
  const { metrics } = await client.send("Performance.getMetrics");
  const seconds = (wanted) => metrics.find(({ name }) => name === wanted).value;
  return 1000 * (seconds("ScriptDuration") + seconds("LayoutDuration") + seconds("RecalcStyleDuration"));
}

function data(tab) {
  return tab.evaluate(() => JSON.parse(document.getElementById("data").textContent));
}

/** 1280 by 800, without a click: what moves, what stays although it is needed, what is dangerous, what was accepted, what is next. */
async function firstScreen(tab, name) {
  const before = tab.viewportSize();
  await tab.setViewportSize({ width: 1280, height: 800 });
  const { head, plan, report } = await data(tab);
  const seen = await tab.evaluate(() => [...document.querySelectorAll("[data-answer], .next > *")].map((one) => ({ name: one.dataset.answer ?? "Next", text: one.innerText, bottom: one.getBoundingClientRect().bottom })));
  const wanted = ["Dangerous", "Accepted"];
  if (plan) wanted.push("Stays, but is needed");
  if (head.pause && plan?.summary.clusters) wanted.push("Will be paused");
  if (head.next?.length || head.again || head.advice || report?.result.next?.length) wanted.push("Next");
  for (const one of wanted) check(seen.some((other) => other.name === one), `${name}: the first screen doesn't have ${one}`);
  if (plan) check(seen.some(({ text }) => new RegExp(`^(Move|Copie|Copy|Moved|Copied)s?\\s+${plan.summary.clusters.toLocaleString("en")} Cluster`).test(text)), `${name}: the first screen doesn't say how many Clusters move: ${JSON.stringify(seen)}`);
  for (const { name: what, bottom } of seen) check(bottom <= 800, `${name}: ${what} ends ${bottom} px below the top, out of the first screen`);
  await tab.setViewportSize(before);
}

/** What is wrong comes before everything else. */
async function order(tab, name) {
  const ids = await tab.evaluate(() => [...document.querySelectorAll("main > section")].map((one) => one.id));
  const at = (id) => (ids.includes(id) ? ids.indexOf(id) : Infinity);
  if (ids.includes("problems")) check(at("problems") === (ids.includes("stop") ? 1 : 0), `${name}: the problems are not first: ${ids}`);
  if (ids.includes("objects")) check(at("map") < at("objects") || !ids.includes("map"), `${name}: the map comes after the list: ${ids}`);
}

/** A button copies exactly the command that is shown, and selects it where there is no clipboard. */
async function copy(tab, name) {
  const wrong = await tab.evaluate(() => [...document.querySelectorAll(".command")].filter((one) => Boolean(one.querySelector(".copy")) === one.textContent.includes("characters left out")).length);
  check(wrong === 0, `${name}: ${wrong} shortened commands have a button, or whole ones have none`);
  const commands = tab.locator(".next .command");
  if (!(await commands.count())) return;
  const shown = await commands.first().locator("code").textContent();
  const pressed = async (write) => {
    await tab.evaluate((write) => Object.defineProperty(navigator, "clipboard", { configurable: true, value: write ? { writeText: async (text) => { window.copied = text; } } : undefined }), write);
    await commands.first().locator(".copy").click();
    return tab.evaluate((write) => (write ? window.copied : getSelection().toString()), write);
  };
  for (const write of [true, false]) {
    const got = await pressed(write);
    check(got === shown, `${name}: the button copies ${got}, not ${shown}`);
  }
  const { head } = await data(tab);
  if (head.next?.length) check(shown === head.next[0], `${name}: the next command is ${shown}, not ${head.next[0]}`);
}

/** A tile for each Cluster, coloured by its kinds; by keys and by a click to the Cluster's tree. */
async function map(tab, name, width) {
  const { plan } = await data(tab);
  const tiles = tab.locator(".cluster");
  const clusters = new Set((plan?.steps ?? []).map((step) => step[6]).filter((word) => word >= 0)).size;
  const shown = await tiles.count();
  check(shown === Math.min(clusters, 1000), `${name}: ${shown} tiles for ${clusters} Clusters`);
  if (!shown) return;
  const plain = await tab.evaluate(() => [...document.querySelectorAll(".cluster .strip")].filter((one) => !getComputedStyle(one).backgroundImage.startsWith("linear-gradient") || !one.clientHeight).length);
  check(plain === 0, `${name}: ${plain} Clusters have no colours`);
  const last = tiles.last();
  const wanted = await last.getAttribute("aria-label");
  await tiles.first().focus();
  await tab.keyboard.press("End");
  check(await last.evaluate((one) => one === document.activeElement), `${name}: the End key doesn't lead to the last Cluster`);
  await tab.keyboard.press("Enter");
  const title = await tab.locator(".drawing h3").textContent();
  check(wanted.startsWith(`${title}:`), `${name}: a Cluster's tile draws ${title}, not ${wanted}`);
  const row = await tab.evaluate(() => document.querySelector("[role=treeitem][aria-selected=true]")?.innerText);
  check(row?.includes(title), `${name}: a Cluster's tile leads to the row ${row}, not to ${title}`);
  check((await tab.locator(".drawing .box").count()) > 1, `${name}: the picture of ${title} is empty`);
  if (name.startsWith("scene-problems") && width > 1000) check((await tab.locator(".lines path").count()) === 1, `${name}: no line leads to the Cluster that needs ${MISSING}`);
}

/** On paper: dark words on white, no buttons, and each Cluster in a row. */
async function paper(tab, name) {
  const { plan } = await data(tab);
  await tab.emulateMedia({ media: "print" });
  await tab.evaluate(() => dispatchEvent(new Event("beforeprint")));
  const seen = await tab.evaluate(() => ({
    ground: getComputedStyle(document.documentElement).backgroundColor.match(/\d+/g).slice(0, 3).map(Number),
    buttons: [...document.querySelectorAll(".copy, .tools button, .more")].filter((one) => one.offsetParent).length,
    rows: document.querySelectorAll("#paper table:first-of-type tbody tr").length, visible: document.querySelector("#paper")?.offsetHeight > 0,
  }));
  check(Math.min(...seen.ground) > 200, `${name}: paper is rgb(${seen.ground})`);
  check(seen.buttons === 0, `${name}: ${seen.buttons} buttons are printed`);
  const clusters = new Set((plan?.steps ?? []).map((step) => step[6])).size;
  if (plan) check(seen.visible && seen.rows >= clusters, `${name}: paper has ${seen.rows} rows for ${clusters} Clusters`);
  await tab.evaluate(() => dispatchEvent(new Event("afterprint")));
  await tab.emulateMedia({ media: "screen" });
  check((await tab.locator("#paper").count()) === 0, `${name}: what is for paper stays on the screen`);
}

/** The plan whose only stop a plugin found after 120 warnings that are alike. */
async function problems(tab, name) {
  const texts = await tab.locator("#problems .card").allTextContents();
  check(texts.length === 2 && texts.some((text) => text.includes("host-2 is being provisioned")), `${name}: the problems are ${texts}`);
  const warnings = await tab.locator("#warnings .card").allTextContents();
  check(warnings.length === 2 && warnings.some((text) => text.includes("and 119 more like this") && text.includes("120 BareMetalHosts")), `${name}: the warnings are ${warnings}`);
  const answers = await tab.locator("[data-answer]").allInnerTexts();
  check(answers.some((text) => text.includes("Stays, but is needed") && text.includes("1 object") && text.includes(MISSING)), `${name}: the answer doesn't name ${MISSING}: ${answers}`);
  check((await tab.locator(".map .needed").innerText()).includes("needed by Metal3Cluster mc-3/mc-3"), `${name}: the map doesn't say that mc-3 needs ${MISSING}`);
  const commands = await tab.locator(".next code").allTextContents();
  check(String(commands) === String([LABEL, PLAN]), `${name}: next is ${commands}`);
  const copies = await tab.locator(".command code").allTextContents();
  check(String(copies) === String([LABEL, PLAN, LABEL]), `${name}: there are buttons for ${copies}`);
  const before = await tab.locator("#warnings .object:not(.all)").count();
  await tab.locator("#warnings .all").click();
  check((await tab.locator("#warnings .object").count()) === before + 112, `${name}: the button for more names doesn't show them`);
}

/** A Cluster whose name is markup, and has a command in it. */
async function hostile(tab, name) {
  const { made, title, copies } = await tab.evaluate(() => ({ made: document.querySelectorAll("main img, main script").length, title: document.title, copies: [...document.querySelectorAll(".command code")].map((one) => one.textContent) }));
  check(made === 0 && !title.includes("owned"), `${name}: a name became markup`);
  check(copies.length === 1 && copies[0] === MOVE, `${name}: a name became a command: ${copies}`);
  const stays = await tab.locator("[data-answer='Stays, but is needed']").innerText();
  check(stays.includes(`Secret labs/${MISSING}, as accepted`), `${name}: the answer doesn't say what was accepted: ${stays}`);
  await tab.fill("#search", "onerror");
  const paths = await tab.locator("[role=treeitem] .path").allTextContents();
  check(paths.some((path) => path.includes(HOSTILE)), `${name}: the hostile name isn't shown as it is: ${paths}`);
  await tab.fill("#search", "");
}

function scrollToEnd() {
  const box = document.querySelector("[role=tree]");
  const begun = performance.now();
  box.scrollTop = box.scrollHeight;
  return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - begun))));
}

/** From a key to the painted result: the name of the last object, which only a search of all of them finds. */
async function search(tab, name) {
  const wanted = await tab.evaluate(() => {
    const { plan } = JSON.parse(document.getElementById("data").textContent);
    const last = plan.steps[plan.steps.length - 1] ?? plan.stays[plan.stays.length - 1];
    return last[2];
  });
  const took = await tab.evaluate((wanted) => {
    const input = document.getElementById("search");
    const begun = performance.now();
    input.value = wanted;
    input.dispatchEvent(new InputEvent("input"));
    return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - begun))));
  }, wanted);
  const paths = await tab.locator("[role=treeitem] .path").allTextContents();
  check(paths.some((path) => path.endsWith(wanted)), `${name}: a search for ${wanted} shows ${paths}`);
  const told = await tab.locator(".found").textContent();
  check(/^[1-9]/.test(told), `${name}: a search for ${wanted} says ${told}`);
  await tab.fill("#search", "no such thing");
  check(await tab.locator(".nothing").isVisible(), `${name}: a search without a result says nothing`);
  await tab.fill("#search", "");
  return took;
}

/** Everything by keys alone: into the tree, down, open, close, back out; the tabs. */
async function keyboard(tab, tree, name) {
  const active = () => tab.evaluate(() => {
    const box = document.activeElement;
    const row = document.getElementById(box.getAttribute("aria-activedescendant"));
    return row && { id: row.id, open: row.getAttribute("aria-expanded"), level: Number(row.getAttribute("aria-level")) };
  });
  for (let tabs = 0; tabs < 200 && !(await tree.evaluate((box) => box === document.activeElement)); tabs += 1) await tab.keyboard.press("Tab");
  check(await tree.evaluate((box) => box === document.activeElement), `${name}: the Tab key does not reach the tree`);
  const outline = await tree.evaluate((box) => getComputedStyle(box).outlineStyle);
  check(outline !== "none", `${name}: the focus in the tree can't be seen`);
  await tab.keyboard.press("Home");
  const first = await active();
  check(first?.level === 1, `${name}: the tree has no active row: ${JSON.stringify(first)}`);
  await tab.keyboard.press("ArrowLeft");
  check((await active())?.open === "false", `${name}: the left arrow does not close a row`);
  await tab.keyboard.press("ArrowRight");
  check((await active())?.open === "true", `${name}: the right arrow does not open a row`);
  await tab.keyboard.press("ArrowRight");
  check((await active())?.level === 2, `${name}: the right arrow does not enter an open row`);
  check((await tab.locator(".details h3").count()) === 1, `${name}: an active object is not explained`);
  await tab.keyboard.press("ArrowLeft");
  await tab.keyboard.press("End");
  const last = await active();
  check(last !== null && last.id !== first.id, `${name}: the End key does not lead to the last row`);
  await tab.keyboard.press("Home");
  check((await active())?.id === first.id, `${name}: the Home key does not lead to the first row`);
  await tab.focus("[role=tab][aria-selected=true]");
  await tab.keyboard.press("ArrowRight");
  check((await tab.locator("[role=tab][aria-selected=true]").count()) === 1, `${name}: more than one tab is chosen`);
  await tab.keyboard.press("Home");
}

/** Tries to leave the page in the ways that a script in it could. */
async function escape() {
  const left = [];
  await fetch("https://example.org/").then(() => left.push("fetch"), () => {});
  const loads = (element) => new Promise((done) => {
    element.onload = () => done(left.push(element.tagName));
    element.onerror = () => done();
    document.body.append(element);
    setTimeout(done, 300);
  });
  await loads(Object.assign(new Image(), { src: "https://example.org/a.png" }));
  await loads(Object.assign(document.createElement("link"), { rel: "stylesheet", href: "https://example.org/a.css" }));
  try { document.createElement("p").innerHTML = "<b>x</b>"; left.push("innerHTML"); } catch { /* as it should be */ }
  await new Promise((done) => {
    const socket = new WebSocket("wss://example.org/");
    socket.onopen = () => done(left.push("WebSocket"));
    socket.onerror = () => done();
  });
  return left;
}
