// @ts-check
// Hooks, objects, patches, the configuration and errors of a plugin.
import config from "pivot:provider/config@0.1.0";
import log from "pivot:provider/log@0.1.0";

/** @typedef {{ group: string, name: string }} Kind */
/** @typedef {{ kind: Kind, namespace: string | null, name: string }} ObjectKey */
/** @typedef {Record<string, any>} KubernetesObject */
/** @typedef {{ tag: string, val?: any }} Relation */
/** @typedef {{ tag: string, val?: any }} Settlement */
/** @typedef {{ code: string, message: string, objects: ObjectKey[], remedy: string, command: any, extra: [string, string][] }} Problem */
/** @typedef {{ severity: "note" | "warn" | "wait" | "stop", problem: Problem }} Finding */
/** @typedef {{ copy: string[], patch: string | null, extra: [string, string][] }} Restoration */

/** An error with a code for programs. Other errors of hooks get the code "failed", and the log has their lines. */
export class PluginError extends Error {
  /** @param {string} code @param {string} message */
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

// Components have no clock, and a look at it would be a trap.
const NOW = Date.UTC(2026, 0, 1);
const RealDate = Date;
// @ts-ignore
globalThis.Date = class extends RealDate {
  /** @param {any[]} fields */
  constructor(...fields) {
    // @ts-ignore
    super(...(fields.length ? fields : [NOW]));
  }
  static now() {
    return NOW;
  }
};
// @ts-ignore
delete globalThis.performance;

/** @param {any} value @returns {boolean} */
const isRounded = (value) => Number.isInteger(value) && !Number.isSafeInteger(value);

/** @param {any} value @returns {boolean} */
const hasRounded = (value) =>
  typeof value === "object" && value !== null ? Object.values(value).some(hasRounded) : isRounded(value);

/** Reads JSON. Integers that a number can't hold are BigInts. @param {string} text @returns {any} */
export function parse(text) {
  const value = JSON.parse(text);
  if (!hasRounded(value)) return value;
  // @ts-ignore
  return JSON.parse(text, (_, value, { source }) =>
    isRounded(value) && /^-?\d+$/.test(source) ? BigInt(source) : value);
}

/** Writes JSON, with all digits of BigInts. @param {any} value @returns {string} */
export function encode(value) {
  // @ts-ignore
  return JSON.stringify(value, (_, value) => (typeof value === "bigint" ? JSON.rawJSON(String(value)) : value));
}

/** Returns an object's identity, for problems and relations. @param {KubernetesObject} object @returns {ObjectKey} */
export function getKey({ apiVersion, kind, metadata }) {
  const group = apiVersion.includes("/") ? apiVersion.split("/")[0] : "";
  return { kind: { group, name: kind }, namespace: metadata.namespace ?? null, name: metadata.name };
}

/** The difference between an object and its wanted state. */
export class Patch {
  #object;
  /** @type {KubernetesObject} */
  #changes = {};

  /** @param {KubernetesObject} object */
  constructor(object) {
    this.#object = object;
  }

  /** Sets the value at a path of fields. Null removes the field. @param {any} value @param {string[]} path */
  set(value, ...path) {
    const now = path.reduce((fields, field) => fields?.[field], this.#object) ?? null;
    if (encode(now) !== encode(value)) {
      const name = path[path.length - 1];
      path.slice(0, -1).reduce((fields, field) => (fields[field] ??= {}), this.#changes)[name] = value;
    }
    return this;
  }

  /** @param {string} name @param {string | null} value */
  setAnnotation(name, value) {
    return this.set(value, "metadata", "annotations", name);
  }

  /** @param {string} name @param {string | null} value */
  setLabel(name, value) {
    return this.set(value, "metadata", "labels", name);
  }

  /** Returns the merge patch, or null if it changes nothing. */
  toText() {
    return Object.keys(this.#changes).length ? encode(this.#changes) : null;
  }
}

/**
 * Returns the plugin's section of plugins.toml, with the defaults for missing fields. A field without a default, or of another type,
 * is an error.
 * @template {KubernetesObject} T @param {T} defaults @returns {T}
 */
export function readConfig(defaults) {
  const written = parse(config.get());
  for (const [name, value] of Object.entries(written)) {
    if (!Object.hasOwn(defaults, name)) {
      throw new PluginError("invalid", `configuration: ${name}: unknown field`);
    }
    if (getType(value) !== getType(defaults[name])) {
      throw new PluginError("invalid", `configuration: ${name}: it must be a ${getType(defaults[name])}`);
    }
  }
  return { ...defaults, ...written };
}

/** @param {any} value */
const getType = (value) => (Array.isArray(value) ? "list" : typeof value);

/** Writes a line to the operator's log. @param {"error" | "warn" | "info" | "debug"} level @param {string} line */
export const writeLog = (level, line) => log.write(level, line);

// Relations.
/** The object belongs to another one, moves when that moves and after it. @param {ObjectKey} key @returns {Relation} */
export const link = (key) => ({ tag: "link", val: key });
/** When the object moves, another one must move too. @param {ObjectKey} key @returns {Relation} */
export const need = (key) => ({ tag: "need", val: key });
/** When the object moves, another one must be copied too, and is kept. @param {ObjectKey} key @returns {Relation} */
export const share = (key) => ({ tag: "share", val: key });
/** The object stays in the source. @param {string} why @returns {Relation} */
export const leave = (why) => ({ tag: "leave", val: why });
/** The object is copied, and not deleted from the source. @param {string} why @returns {Relation} */
export const keep = (why) => ({ tag: "keep", val: why });

/** Makes a problem. @param {string} code @param {string} message @param {Partial<Problem>} more @returns {Problem} */
export const makeProblem = (code, message, more = {}) =>
  ({ code, message, objects: [], remedy: "", command: null, extra: [], ...more });

/** Copies fields of the source's status, by JSON pointers such as /status. @param {string[]} pointers @returns {Restoration} */
export const copyFields = (...pointers) => ({ copy: pointers, patch: null, extra: [] });

// Settlements.
/** Nothing is left to do. @type {Settlement} */
export const DONE = { tag: "done" };
/** Apply this patch, then call again. A patch that changes nothing is DONE. @param {Patch} patch @returns {Settlement} */
export const apply = (patch) => {
  const text = patch.toText();
  return text === null ? DONE : { tag: "patch", val: text };
};
/** Call again when something has changed. @param {Problem} problem @returns {Settlement} */
export const wait = (problem) => ({ tag: "wait", val: problem });
/** The object can't be released. Settling ends. @param {Problem} problem @returns {Settlement} */
export const stop = (problem) => ({ tag: "stop", val: problem });

/** Turns exceptions into the contract's errors. @param {(...values: string[]) => any} answer */
const guard = (answer) => (/** @type {string[]} */ ...values) => {
  try {
    return answer(...values);
  } catch (error) {
    if (error instanceof PluginError) throw { code: error.code, message: error.message };
    const stack = error instanceof Error ? (error.stack ?? "") : "";
    writeLog("error", `${error} ${stack.trim().replace(/\s*\n\s*/g, ", ")}`.trim());
    throw { code: "failed", message: error instanceof Error ? error.message : String(error) };
  }
};

/** @param {(object: KubernetesObject) => Patch | null | undefined} hook */
const handlePatch = (hook) => ({ patch: guard((source) => hook(parse(source))?.toText() ?? null) });

/** The hooks. The results are exported by the hook's name, and the hook is listed in wit/world.wit. */
export const handle = {
  /** @param {KubernetesObject} description */
  describe: ({ kinds = [], ...description }) => ({
    plugin: () => ({
      kinds: kinds.map((/** @type {KubernetesObject} */ seen) => ({ versions: [], ...seen })),
      reach: [], changes: [], reads: [], probes: [], secretData: false, codes: [], extra: [], ...description,
    }),
  }),
  /** @param {() => void} hook */
  configure: (hook) => ({ check: guard(() => void hook()) }),
  /** @param {(source: KubernetesObject) => Relation[]} hook */
  relate: (hook) => ({ relations: guard((source) => hook(parse(source))) }),
  /** @param {(point: string) => Finding[]} hook */
  check: (hook) => ({ findings: guard(hook) }),
  hold: handlePatch,
  adapt: handlePatch,
  /** @param {(source: KubernetesObject, created: KubernetesObject) => Restoration} hook */
  restore: (hook) => ({ status: guard((source, created) => hook(parse(source), parse(created))) }),
  /** @param {(copy: KubernetesObject) => Settlement} hook */
  settle: (hook) => ({ next: guard((copy) => hook(parse(copy))) }),
};
