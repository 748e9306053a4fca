// @ts-check
// Hosts are frozen before a move and thawed after it. Their status and credentials come along, and an endpoint must answer.
import context from "pivot:provider/context@0.1.0";
import endpoints from "pivot:provider/endpoints@0.1.0";
import { apply, copyFields, DONE, getKey, handle, makeProblem, Patch, readConfig, share, wait } from "./.pivot-sdk/pivot.js";

const HOST = { group: "infra.example.com", name: "ExampleHost" };
const SECRET = { group: "", name: "Secret" };
const PAUSED = "infra.example.com/paused";

// The endpoint is the `host:port` that must answer. Empty: none.
const readSettings = () => readConfig({ endpoint: "" });

export const describe = handle.describe({
  name: "example-hosts",
  version: "0.1.0",
  summary: "ExampleHosts move frozen, with status and credentials.",
  kinds: [{ kind: HOST }],
  changes: ["hold", "restore", "settle"].map((hook) => ({ hook, kind: HOST })),
  probes: ["*:*"],
});

export const configure = handle.configure(readSettings);

export const relate = handle.relate((host) => {
  const name = host.spec?.credentials?.name;
  // Hosts that stay may use the credentials, too.
  return name ? [share({ ...getKey(host), kind: SECRET, name })] : [];
});

export const check = handle.check((point) => {
  const { endpoint } = readSettings();
  if (!endpoint || !["before-pause", "before-commit"].includes(point)) return [];
  const [answer] = endpoints.probe([{ target: { tag: "tcp", val: endpoint }, timeoutMs: 3000, extra: [] }]);
  if (answer.tag === "ok") return [];
  const remedy = "start it, or correct `endpoint` in plugins.toml";
  const message = `${endpoint} does not answer (${answer.val.code})`;
  return [{ severity: "wait", problem: makeProblem("endpoint-down", message, { remedy }) }];
});

export const hold = handle.hold((host) =>
  host.metadata.annotations?.[PAUSED] === undefined ? new Patch(host).setAnnotation(PAUSED, "moving") : null);

export const restore = handle.restore(() => copyFields("/status"));

export const settle = handle.settle((host) => {
  const paused = host.metadata.annotations?.[PAUSED];
  if (paused === "moving") return apply(new Patch(host).setAnnotation(PAUSED, null));
  // A user's pause stays, and the controller does nothing.
  if (paused !== undefined || (context.writtenSinceCommit() && isReady(host))) return DONE;
  const more = { objects: [getKey(host)], remedy: "look at the controller's log in the target" };
  return wait(makeProblem("not-ready", "its controller has not reported it ready", more));
});

/** @param {import("./.pivot-sdk/pivot.js").KubernetesObject} host */
const isReady = (host) =>
  host.status?.conditions?.some?.((one) => one?.type === "Ready" && one?.status === "True") ?? false;
