// @ts-check
// Leaves ConfigMaps with a certain label in the source: those that describe the management cluster itself. Pauses the others.
import { handle, leave, Patch, readConfig } from "./.pivot-sdk/pivot.js";

const PAUSED = "example.com/paused";
const CONFIG_MAP = { group: "", name: "ConfigMap" };

// The configuration is [plugins.{{name}}.config]. The label is the one of ConfigMaps that stay.
const readSettings = () => readConfig({ label: "example.com/stays" });

export const describe = handle.describe({
  name: "{{name}}",
  version: "0.1.0",
  summary: "{{name}}: its author hasn't said yet what it does",
  kinds: [{ kind: CONFIG_MAP }],
  changes: [{ hook: "hold", kind: CONFIG_MAP }],
});

export const configure = handle.configure(readSettings);

export const relate = handle.relate((object) => {
  const { label } = readSettings();
  return object.metadata.labels?.[label] === undefined ? [] : [leave(`it is labelled ${label}`)];
});

export const hold = handle.hold((object) =>
  object.metadata.annotations?.[PAUSED] === undefined ? new Patch(object).setAnnotation(PAUSED, "moving") : null);
