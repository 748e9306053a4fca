// Opens pages in a real browser: light and dark, 390 and 1,440 px wide. Nothing may be written to the console, no request may
// leave the page, nothing may be wider than the window, and the keyboard must reach everything. `cargo xtask test --only page`
// runs it.
//
// usage: node check.mjs OUT-DIRECTORY PAGE.html...
import { mkdtempSync, mkdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import { counted } from "./src/dom.js";

const [out, ...pages] = process.argv.slice(2);
const FLAGS = [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
];
/** Many times what it takes on a quiet machine: a page that is this slow is broken, whatever runs beside it. */
const BOUNDS = { "first picture": 20000, "search result": 3000, "scrolling to the end": 3000, megabytes: 200 };

const wrong = [];
const check = (good, what) => { if (!good) wrong.push(what); };
mkdirSync(out, { recursive: true });

// Kinds read as they do on a terminal.
const kinds = ["Machine", "ClusterClass", "Policy", "Proxy", "HardwareData", "Gateway"].map((kind) => counted(2, kind));
const read = ["2 Machines", "2 ClusterClasses", "2 Policies", "2 Proxies", "2 HardwareData", "2 Gateways"];
check(String(kinds) === String(read), `several of a kind read ${kinds}`);

for (const page of pages) {
  for (const colorScheme of ["light", "dark"]) {
    for (const width of [1440, 390]) await look(resolve(page), colorScheme, width);
  }
}
wrong.forEach((what) => console.log(`WRONG ${what}`));
process.exitCode = wrong.length ? 1 : 0;

async function look(path, colorScheme, width) {
  const name = `${basename(path, ".html")}-${colorScheme}-${width}`;
  const profile = mkdtempSync(join(tmpdir(), "pivot-host-page-"));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: "/usr/bin/chromium", args: FLAGS, colorScheme, viewport: { width, height: 900 }, reducedMotion: "reduce",
  });
  try {
    const tab = await context.newPage();
    const url = pathToFileURL(path).href;
    const said = [], asked = [], stopped = [];
    tab.on("console", (message) => said.push(message.text()));
    tab.on("pageerror", (error) => said.push(String(error)));
    context.on("request", (request) => { if (request.url() !== url) asked.push(request.url()); });
    context.on("requestfailed", (request) => { if (request.failure().errorText === "csp") stopped.push(request.url()); });

    await tab.goto(url);
    await tab.waitForFunction(() => document.documentElement.dataset.ready === "yes");
    const tree = tab.locator("[role=tree]");
    const hasTree = await tab.evaluate(() => Boolean(document.querySelector("#objects")));
    if (hasTree) await tab.waitForSelector("[role=treeitem]");
    const figures = { "first picture": await tab.evaluate(firstPicture) };
    await tab.screenshot({ path: join(out, `${name}.png`) });

    const sideways = await tab.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    check(sideways <= 0, `${name}: ${sideways} px wider than the window`);
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

    const client = await context.newCDPSession(tab);
    const { metrics } = await client.send("Performance.enable").then(() => client.send("Performance.getMetrics"));
    figures.megabytes = metrics.find(({ name }) => name === "JSHeapUsedSize").value / 1e6;
    for (const [what, bound] of Object.entries(BOUNDS)) {
      check(!(figures[what] > bound), `${name}: ${what}: ${figures[what]}, more than ${bound}`);
    }
    const shown = Object.entries(figures).map(([what, figure]) => `${what} ${figure.toFixed(what === "megabytes" ? 1 : 0)}${what === "megabytes" ? "" : " ms"}`);
    console.log(`${name} (${(statSync(path).size / 1e6).toFixed(2)} MB): ${shown.join(", ")}; ${requests} requests`);
  } finally {
    await context.close();
    rmSync(profile, { recursive: true, force: true });
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
