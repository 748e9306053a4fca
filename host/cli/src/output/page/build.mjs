// Puts the page together: one HTML file with its style, its script and a policy that allows exactly these two. What it shows
// is put where `{{DATA}}` is by the program. `cargo xtask page` installs what this needs, and runs it.
//
// usage: node build.mjs OUT-DIRECTORY
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

const out = process.argv[2];
const script = await build({
  entryPoints: ["src/main.js"],
  bundle: true,
  minify: true,
  write: false,
  metafile: true,
  format: "iife",
  target: "es2020",
  charset: "ascii",
  legalComments: "none",
});
const style = await build({ entryPoints: ["src/style.css"], minify: true, write: false, target: "es2020", charset: "ascii" });
const [js, css] = [script, style].map((made) => made.outputFiles[0].text.trim());
if (/<\/(script|style)|<!--/i.test(js + css)) throw new Error("the bundle would end its own element");

const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
const policy = [
  "default-src 'none'",
  `script-src ${hash(js)}`,
  `style-src ${hash(css)}`,
  "base-uri 'none'",
  "form-action 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");
// The licences of what is in the bundle, by the bundler's own account.
const inside = Object.keys(script.metafile.inputs).map((path) => path.match(/node_modules\/((?:@[^/]+\/)?[^/]+)/)?.[1]);
const texts = [...new Set(inside)].filter(Boolean).sort().map((name) => {
  const { version, license } = JSON.parse(readFileSync(`node_modules/${name}/package.json`, "utf8"));
  if (!["ISC", "MIT", "BSD-3-Clause", "Apache-2.0"].includes(license)) throw new Error(`${name}: licence ${license}`);
  const file = ["LICENSE", "LICENSE.md"].map((file) => `node_modules/${name}/${file}`).find(existsSync);
  return `${name} ${version} (${license})\n\n${readFileSync(file, "utf8").trim()}\n`;
});
const licences = `page.html contains these libraries.\n\n${texts.join("\n\n")}`;
writeFileSync(join(out, "LICENSES.txt"), licences);

const html = readFileSync("src/page.html", "utf8")
  .replace("{{POLICY}}", () => policy)
  .replace("{{STYLE}}", () => css)
  .replace("{{SCRIPT}}", () => js)
  // Each page is a copy, and has to have them.
  .replace("{{LICENCES}}", () => licences.replace(/-{2,}/g, "-"));
writeFileSync(join(out, "page.html"), html);
