"""kubectl, as far as scripts of the product use it: a server on a socket.

Starting the real one takes a second on a loaded machine, and the scripts call it ten times for each
node. The output was compared with kubectl 1.36.3 (2026-11-29).
"""

import contextlib
import json
import socketserver
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from gpufleet_sandbox.operands.api import Api, ApiError

NODES = "/api/v1/nodes"


_RANGE = "go-template={{range $node, $entry := .data}}{{$node}} "
_LINES = {_RANGE + "{{end}}": "{0} ", _RANGE + '{{$entry}}{{"\\n"}}{{end}}': "{0} {1}\n"}
"""Templates that the scripts write, and what they give for each entry."""


class KubectlError(Exception):
    """A command line that kubectl would refuse."""


class Kubectl:
    """Runs one command line at a time."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def run(self, arguments: list[str], text: str) -> str:
        """Output of the command. Raises KubectlError and ApiError."""
        options: dict[str, str] = {}
        words: list[str] = []
        rest = iter(arguments)
        for one in rest:
            if one in ("-n", "-l", "-o", "-p", "-f", "--type", "--field-selector"):
                options[one] = next(rest)
            elif not one.startswith("--"):
                words.append(one)
        verbs: dict[str, Callable[[], str]] = {
            "get": lambda: self._get(words[1:], options),
            "create": lambda: self._create(text),
            "taint": lambda: self._taint(words[2], words[3]),
            "label": lambda: self._label(words[2], words[3]),
            "patch": lambda: self._patch(words[2], options),
            "delete": lambda: self._delete(words[1:], options),
        }
        if words[0] not in verbs:
            raise KubectlError(f"unknown command {words[0]!r}")
        return verbs[words[0]]()

    def _get(self, words: list[str], options: Mapping[str, str]) -> str:
        wanted = options["-o"]
        if words[0] == "configmap":
            data = self._api.get(_config_maps(options["-n"], words[1])).get("data") or {}
            if wanted not in _LINES:
                raise KubectlError(wanted)
            return "".join(_LINES[wanted].format(*pair) for pair in sorted(data.items()))
        if words[0] == "node":
            if wanted != "jsonpath={.status.allocatable}":
                raise KubectlError(wanted)
            status = self._api.get(f"{NODES}/{words[1]}").get("status") or {}
            return json.dumps(status.get("allocatable") or {}, separators=(",", ":"))
        query = [
            f"{name}={quote(options[option])}"
            for option, name in (("-l", "labelSelector"), ("--field-selector", "fieldSelector"))
            if option in options
        ]
        found = self._api.get(f"{NODES}?{'&'.join(query)}")
        return "".join(f"node/{item['metadata']['name']}\n" for item in found["items"])

    def _create(self, text: str) -> str:
        body = json.loads(text)
        self._api.create(_config_maps(body["metadata"]["namespace"]), body)
        return "created\n"

    def _taint(self, node: str, change: str) -> str:
        item = self._api.get(f"{NODES}/{node}")
        taints = (item.get("spec") or {}).get("taints") or []
        key = change.rstrip("-").partition("=")[0]
        kept = [taint for taint in taints if taint["key"] != key]
        if change.endswith("-"):
            if kept == taints:
                raise KubectlError(f'taint "{key}" not found')
        else:
            value, _, effect = change.partition("=")[2].partition(":")
            kept.append({"key": key, "value": value, "effect": effect})
        version = item["metadata"]["resourceVersion"]
        body = {"metadata": {"resourceVersion": version}, "spec": {"taints": kept}}
        self._api.merge_patch(f"{NODES}/{node}", body)
        return f"node/{node} tainted\n"

    def _label(self, node: str, change: str) -> str:
        name, _, value = change.partition("=")
        labels = {name[:-1]: None} if change.endswith("-") else {name: value}
        self._api.merge_patch(f"{NODES}/{node}", {"metadata": {"labels": labels}})
        return f"node/{node} labeled\n"

    def _patch(self, name: str, options: Mapping[str, str]) -> str:
        self._api.merge_patch(_config_maps(options["-n"], name), json.loads(options["-p"]))
        return f"configmap/{name} patched\n"

    def _delete(self, words: list[str], options: Mapping[str, str]) -> str:
        namespace = options["-n"]
        if words[0] == "pod":
            self._api.delete(f"/api/v1/namespaces/{namespace}/pods/{words[1]}")
        else:
            self._api.delete(f"{_config_maps(namespace)}?labelSelector={quote(options['-l'])}")
        return "deleted\n"


def _config_maps(namespace: str, name: str = "") -> str:
    return f"/api/v1/namespaces/{namespace}/configmaps" + (f"/{name}" if name else "")


@contextlib.contextmanager
def serving(api: Api, socket: Path) -> Any:
    """A server on `socket` while the context is open."""
    kubectl = Kubectl(api)

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            asked = json.loads(self.rfile.readline())
            answer = {"output": "", "error": "", "code": 0}
            try:
                answer["output"] = kubectl.run(asked["arguments"], asked["input"])
            except (ApiError, KubectlError) as problem:
                answer |= {"error": f"Error from server: {problem}\n", "code": 1}
            self.wfile.write(json.dumps(answer).encode() + b"\n")

    with socketserver.ThreadingUnixStreamServer(str(socket), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield
        server.shutdown()
