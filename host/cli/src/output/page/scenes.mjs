// Documents as the program writes them into its page, of every size and with every ending: what check.mjs opens, and what an author
// of the page can look at without building pivot-host.
//
// usage: node scenes.mjs PAGE.html OUT-DIRECTORY
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const CAPI = "cluster.x-k8s.io";
const INFRASTRUCTURE = "infrastructure.cluster.x-k8s.io";
export const MOVE = "pivot-host move --kubeconfig boot.kubeconfig --to-kubeconfig prod.kubeconfig -A";
const SHORTENED = `${MOVE} --exclude a … 1999 characters left out … b`;
export const PLAN = MOVE.replace(" move ", " plan ");
/** A name that would be markup, a style and a script if the page let it. */
export const HOSTILE = "</script><img src=x onerror=document.title='owned'> `kubectl delete ns x`";
export const MISSING = "aws-credentials";

/** A plan of as many Clusters, with as many Machines each. */
function plan(clusters, machines, more = {}) {
  const words = [];
  const at = new Map();
  const word = (text) => {
    if (!at.has(text)) at.set(text, words.push(text) - 1);
    return at.get(text);
  };
  const steps = [];
  const step = (kind, namespace, name, cluster, after, fate = "move", why = "its owner moves", reason) => steps.push([
    word(kind), namespace === null ? -1 : word(namespace), name, fate, word(why), reason ? word(reason) : -1, cluster ? word(cluster) : -1, after, `uid-${steps.length}`, [], [],
  ]) - 1;
  const shared = step(`ClusterClass.${CAPI}`, "classes", "standard", null, [], "keep", "a Cluster uses it", "Cluster labs/lab-1, which stays, uses it");
  step("Secret", "classes", "registry", null, [shared], "keep", "a Cluster uses it", "Cluster labs/lab-1, which stays, uses it");
  for (let n = 0; n < clusters; n += 1) {
    const [namespace, name] = [`mc-${n}`, n === 7 && more.hostile ? HOSTILE : `mc-${n}`];
    const cluster = `Cluster ${namespace}/${name}`;
    const root = step(`Cluster.${CAPI}`, namespace, name, cluster, [shared], "move", "it is a Cluster");
    step(`Metal3Cluster.${INFRASTRUCTURE}`, namespace, name, cluster, [root]);
    step("Secret", namespace, `${name}-kubeconfig`, cluster, [root]);
    const set = step(`MachineDeployment.${CAPI}`, namespace, `${name}-md`, cluster, [root]);
    for (let m = 0; m < machines; m += 1) {
      const machine = step(`Machine.${CAPI}`, namespace, `${name}-m${m}`, cluster, [set]);
      const infra = step(`Metal3Machine.${INFRASTRUCTURE}`, namespace, `${name}-m${m}`, cluster, [machine]);
      step("BareMetalHost.metal3.io", namespace, `host-${n + m * clusters}`, cluster, [infra]);
      step("Secret", namespace, `${name}-m${m}-data`, cluster, [machine, infra]);
    }
  }
  const stays = [
    [word("Secret"), word("labs"), MISSING, word("it is in a namespace that is not moved")],
    [word(`Cluster.${CAPI}`), word("labs"), "lab-1", word("it is in a namespace that is not moved")],
    ...Array.from({ length: 11 }, (_, n) => [word("Secret"), word("mc-0"), `unlinked-${n}`, word("neither its owner references nor its name link it to a Cluster")]),
  ];
  const kept = steps.filter((one) => one[3] === "keep").length;
  const summary = { objects: steps.length, moved: steps.length - kept, kept, fromManifests: 0, clusters, clusterClasses: 1, stay: stays.length };
  return { summary, words, steps, stays, needed: [], moves: [], ...more.plan };
}

const head = (sign, text, next = MOVE, again = PLAN) => ({
  title: "Plan of a move", verdict: { sign, text }, source: "kind-boot", target: "prod",
  facts: [["What", "all namespaces"], ["Planned", "2026-08-21T03:00:00Z"], ["By", "pivot-host 0.1.0"]],
  next: sign === "bad" ? [] : [next], again, pause: "from before the copy until the target takes over; the report has the time",
});

export const LABEL = `kubectl label secret ${MISSING} -n labs clusterctl.cluster.x-k8s.io/move= --kubeconfig boot.kubeconfig`;
/** Messages as the program folds them. */
const card = (one) => ({ by: "", code: "", objects: [], times: 1, remedy: "", commands: [], ...one });
const folded = (problems = [], warnings = [], notes = []) => ({ problems, warnings, notes });
const dangling = card({
  by: "source", code: "would-dangle", message: `Secret labs/${MISSING} stays and isn't in the target, but is needed by Metal3Cluster mc-3/mc-3 (spec.identityRef.name)`,
  objects: [`Secret labs/${MISSING}`, "Metal3Cluster mc-3/mc-3"], remedy: `let it move, too: \`${LABEL}\`, or accept it with \`--accept dangling=Secret\``, commands: [LABEL],
});
const alike = card({
  by: "metal3-hosts", code: "host-data", objects: Array.from({ length: 120 }, (_, index) => `BareMetalHost mc-${index % 24}/host-${index}`), times: 120,
  message: "neither HardwareData nor an inspection of host-0 was found", remedy: "wait until mc-0/host-0 is inspected",
});
const stop = card({ by: "metal3-hosts", code: "host-busy", objects: ["BareMetalHost mc-2/host-2"], message: "host-2 is being provisioned", remedy: "wait until it is provisioned, or `kubectl delete bmh host-2`" });
const accepted = [{ code: "pause-unchecked", text: "pause-unchecked: the move doesn't wait for the source's controllers to acknowledge the pause" }];
const warnings = [card({ code: "host-webhook", message: "the target's webhook of BareMetalHosts isn't installed" })];

const phase = (phase, at, milliseconds, state, changes = {}, objects = 43) => ({ phase, at, milliseconds, objects, state, changes });
const NEXT = ["pivot-host resume --kubeconfig boot.kubeconfig --to-kubeconfig prod.kubeconfig", "pivot-host rollback --kubeconfig boot.kubeconfig --to-kubeconfig prod.kubeconfig"];
const report = (outcome, exitCode, phases, result) => ({
  command: "move", outcome, exitCode, moveId: "20260821-0300-abcd", by: "admin", version: "0.1.0", began: "2026-08-21T03:00:00Z", ended: "2026-08-21T03:00:24Z", milliseconds: 24000,
  source: "kind-boot", target: "prod", accepted, phases, rate: { milliseconds: 1000, changes: [0, 12, 30, 44, 30, 20, 3] }, waits: [], retries: [], throttled: [], result,
});
const reported = (sign, text, title = "Report of a move") => ({ ...head(sign, text), title, next: [], again: undefined, pause: undefined, advice: sign === "bad" ? undefined : "Nothing: the move has ended.", facts: [["Move", "20260821-0300-abcd"], ["Began", "2026-08-21T03:00:00Z"], ["Ended", "2026-08-21T03:00:24Z"]] });

/** Scenes by name: what the program would write. */
export const scenes = {
  small: () => ({ head: { ...head("good", "No problems."), next: [MOVE, SHORTENED] }, files: false, cards: folded(), plan: plan(1, 8) }),
  clusters: () => ({ head: head("warn", "No problems; 1 risk accepted, 1 warning."), files: false, plan: plan(24, 9, { hostile: true, plan: { needed: [{ object: `Secret labs/${MISSING}`, by: [], accepted: true }] } }), accepted, cards: folded([], warnings) }),
  problems: () => ({ head: head("bad", "2 problems: a move would be refused. Solve what is listed, then plan again."), files: false, plan: plan(24, 9, { plan: { needed: [{ object: `Secret labs/${MISSING}`, by: ["Metal3Cluster mc-3/mc-3"] }] } }), accepted, cards: folded([dangling, stop], [...warnings, alike]) }),
  stopped: () => ({
    head: reported("bad", "Stopped in Copied, with exit code 4"), files: false, cards: folded(), plan: plan(2, 4), message: ["target: create Machine mc-0/mc-0-m3: the API server did not answer for 30 s"],
    report: report("Stopped", 4, [phase("Checked", 300, 2100, "done"), phase("Paused", 2400, 1600, "done", { paused: 2 }), phase("Copied", 4000, 20000, "stopped", { created: 31 })],
      { kind: "Error", error: "the API server did not answer", state: "the source is paused and authoritative; the target has 31 paused copies", remedies: [{ text: "check that the target's API server is up" }], next: NEXT }),
  }),
  moved: () => ({
    head: reported("good", "Moved: the target works with the objects, the source no longer has them"), files: false, cards: folded(), plan: plan(24, 9),
    report: report("Moved", 0, [phase("Checked", 300, 2100, "done"), phase("Paused", 2400, 1600, "done", { paused: 24 }), phase("Copied", 4000, 6000, "done", { created: 962 }), phase("Ready", 10000, 900, "done"), phase("Committed", 10900, 400, "done"),
      phase("Live", 11300, 2700, "done", { unpaused: 24 }), phase("Released", 14000, 8000, "done", { deleted: 960 }), phase("Settled", 22000, 1900, "done")], { kind: "MoveResult" }),
  }),
  large: () => ({ head: head("warn", "No problems; 1 risk accepted, 1 warning."), files: false, plan: plan(465, 10), accepted, cards: folded([], warnings) }),
  empty: () => ({ head: { ...head("none", "Nothing to move"), next: [] }, files: false, cards: folded(), plan: { summary: { objects: 0, moved: 0, kept: 0, fromManifests: 0, clusters: 0, clusterClasses: 0, stay: 0 }, words: [], steps: [], stays: [], needed: [], moves: [] } }),
};

/** Fills a page as host/cli/src/output/page.rs does. Returns the files. */
export function write(page, out) {
  mkdirSync(out, { recursive: true });
  const [before, after] = readFileSync(page, "utf8").split("{{DATA}}");
  return Object.entries(scenes).map(([name, make]) => {
    const json = JSON.stringify(make()).replace(/[<>&\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
    const file = join(out, `scene-${name}.html`);
    writeFileSync(file, before + json + after);
    return file;
  });
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) console.log(write(...process.argv.slice(2)).join("\n"));
