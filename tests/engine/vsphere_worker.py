"""A process that runs operations of the vSphere provider, each in a separate child.

It reads one JSON request per line, {"operation", "olds", "news", "id"}, forks, writes
{"pid": ...} and then {"result": ...}, {"error": ...} or {"killed": signal}. A test kills the
children; the imports run once. `INTERRUPT` is to a child what Cancel is to the plugin.
"""

import faulthandler
import json
import os
import signal
import sys
import threading
import traceback
from typing import Any

from gpufleet.components_base.resource_plugin import CANCELLED, NotReadyError
from gpufleet_vcenter.errors import VsphereError
from gpufleet_vcenter.group_provider import VsphereGpuNodeGroupProvider, VsphereGpuNodeOwnerProvider
from tests.engine.vsphere.direct import PROVIDER

INTERRUPT = signal.SIGUSR1


def _do(request: dict[str, Any]) -> Any:
    provider, group = PROVIDER, VsphereGpuNodeGroupProvider()
    olds, news = request.get("olds") or {}, request.get("news") or {}
    match request["operation"]:
        case "create":
            made = provider.create(news)
            return {"id": made.id, "outs": made.outs}
        case "update":
            return {"outs": provider.update(request["id"], olds, news).outs}
        case "read":
            found = provider.read(request["id"], olds)
            return {"id": found.id, "outs": found.outs}
        case "delete":
            provider.delete(request["id"], olds)
            return {}
        case "checkGroup":
            found = group.check(olds, news)
            return {"inputs": found.inputs, "failures": [row.reason for row in found.failures]}
        case "createGroup":
            return {"outs": group.create(news).outs}
        case "updateGroup":
            return {"outs": group.update(request["id"], olds, news).outs}
        case "deleteGroup":
            group.delete(request["id"], olds)
            return {}
        case "createOwner":
            made = VsphereGpuNodeOwnerProvider().create(news)
            return {"id": made.id, "outs": made.outs}
        case "deleteOwner":
            VsphereGpuNodeOwnerProvider().delete(request["id"], olds)
            return {}
        case other:
            raise ValueError(f"no operation {other}")


HANGS_AFTER = 90.0
"""Seconds after which an operation prints its stack: none takes a tenth of it."""


def _child(request: dict[str, Any], answer: int) -> None:
    faulthandler.dump_traceback_later(HANGS_AFTER)
    # A thread sets it: the handler may run inside a wait for it, which holds its lock.
    signal.signal(INTERRUPT, lambda *_: threading.Thread(target=CANCELLED.set).start())
    try:
        text = json.dumps({"result": _do(request)})
    except VsphereError as problem:
        text = json.dumps({"error": str(problem), "code": problem.code})
    except NotReadyError as late:
        text = json.dumps({"error": str(late), "code": "late", "outs": late.outs})
    except Exception:  # noqa: BLE001 - a test prints it
        text = json.dumps({"error": traceback.format_exc(), "code": "traceback"})
    with os.fdopen(answer, "w") as out:
        out.write(text)
    os._exit(0)


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        read_end, write_end = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(read_end)
            _child(request, write_end)
        os.close(write_end)
        print(json.dumps({"pid": pid}), flush=True)
        with os.fdopen(read_end) as answer:
            text = answer.read()
        _, status = os.waitpid(pid, 0)
        print(text or json.dumps({"killed": os.waitstatus_to_exitcode(status)}), flush=True)


if __name__ == "__main__":
    main()
