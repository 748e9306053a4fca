"""Hosts are frozen before a move and thawed after it. Their status and credentials come along, and an endpoint must answer."""

import functools
import json
import traceback

from componentize_py_types import Err, Ok
from wit_world import exports
from wit_world.exports import check, describe, relate, restore, settle
from wit_world.imports import config, context, endpoints, log
from wit_world.imports.types import Error, Kind, ObjectKey, Problem

HOST = Kind("infra.example.com", "ExampleHost")
SECRET = Kind("", "Secret")
PAUSED = "infra.example.com/paused"


def guarded(hook):
    """Turns exceptions into the contract's errors. Otherwise they are traps without a text."""

    @functools.wraps(hook)
    def answer(*values):
        try:
            return hook(*values)
        except Err:
            raise
        except Exception as error:
            log.write(log.Level.ERROR, ", ".join(traceback.format_exc().split("\n")))
            raise Err(Error("failed", str(error)))

    return answer


def read_endpoint():
    """The configuration: the `host:port` that must answer. Empty: none."""
    written = json.loads(config.get())
    for name in written:
        if name != "endpoint":
            raise Err(Error("invalid", f"configuration: {name}: unknown field"))
    return written.get("endpoint", "")


def get_key(host):
    group = host["apiVersion"].rpartition("/")[0]
    metadata = host["metadata"]
    return ObjectKey(Kind(group, host["kind"]), metadata.get("namespace"), metadata["name"])


def get_pause(host):
    return (host["metadata"].get("annotations") or {}).get(PAUSED)


def make_patch(value):
    return json.dumps({"metadata": {"annotations": {PAUSED: value}}})


def is_ready(host):
    conditions = (host.get("status") or {}).get("conditions") or []
    return any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions)


class Describe(exports.Describe):
    def plugin(self):
        changes = [describe.Change(hook, HOST) for hook in ("hold", "restore", "settle")]
        summary = "ExampleHosts move frozen, with status and credentials."
        kinds = [describe.SeenKind(HOST, [])]
        return describe.Description("example-hosts", "0.1.0", summary, kinds, [], changes, [], ["*:*"], False, [], [])


class Configure(exports.Configure):
    @guarded
    def check(self):
        read_endpoint()


class Relate(exports.Relate):
    @guarded
    def relations(self, source):
        host = json.loads(source)
        name = ((host.get("spec") or {}).get("credentials") or {}).get("name")
        if not name:
            return []
        # Hosts that stay may use the credentials, too.
        return [relate.Relation_Share(ObjectKey(SECRET, get_key(host).namespace, name))]


class Check(exports.Check):
    @guarded
    def findings(self, point):
        address = read_endpoint()
        if not address or point not in ("before-pause", "before-commit"):
            return []
        (answer,) = endpoints.probe([endpoints.Endpoint(endpoints.Target_Tcp(address), 3000, [])])
        if isinstance(answer, Ok):
            return []
        message = f"{address} does not answer ({answer.value.code})"
        remedy = "start it, or correct `endpoint` in plugins.toml"
        return [check.Finding(check.Severity.WAIT, Problem("endpoint-down", message, [], remedy, None, []))]


class Hold(exports.Hold):
    @guarded
    def patch(self, source):
        return make_patch("moving") if get_pause(json.loads(source)) is None else None


class Restore(exports.Restore):
    @guarded
    def status(self, source, copy):
        return restore.Restoration(["/status"], None, [])


class Settle(exports.Settle):
    @guarded
    def next(self, copy):
        host = json.loads(copy)
        pause = get_pause(host)
        if pause == "moving":
            return settle.Settlement_Patch(make_patch(None))
        # A user's pause stays, and the controller does nothing.
        if pause is not None or (context.written_since_commit() and is_ready(host)):
            return settle.Settlement_Done()
        remedy = "look at the controller's log in the target"
        message = "its controller has not reported it ready"
        return settle.Settlement_Wait(Problem("not-ready", message, [get_key(host)], remedy, None, []))
