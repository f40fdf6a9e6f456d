"""Reading a dump: files and folders, standard input, and a live cluster.

Read are objects as `kubectl get -o json` or `-o yaml` prints them, one list or several in a row,
and the folder of the GPU Operator's must-gather (NVIDIA/gpu-operator `hack/must-gather.sh`): its
`.yaml` files, `gpu_nodes.descr` (what `kubectl describe nodes` prints: kubernetes/kubectl
`pkg/describe/describe.go` describeNode) and logs of pods.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from gpufleet.documents.limits import JSON_DUMPS, YAML_DUMPS, UnreadableDocumentError
from gpufleet.documents.reading import read_manifests
from gpufleet.documents.strict_rules import fault
from gpufleet.installation import install_command
from gpufleet_policies.doctor.snapshot import Dump, cluster_of
from gpufleet_policies.names import meanings, names

KINDS = names("kind of a dump")
"""Kinds read from a cluster: no Secrets, and ConfigMaps of the operator's namespaces only."""
NAMESPACES = ("gpu-operator", "nvidia-gpu-operator", "nvidia-device-plugin")
"""Namespaces whose ConfigMaps are requested: configurations of MIG and of the device plugin."""


def collect_command() -> str:
    """One command line that reads the doctor's input, and writes nothing to the cluster. It
    succeeds without kinds that the cluster does not have; kinds that its user may not read are
    objects of the kind NotRead."""
    kinds = " ".join(
        (*(f"{kind}/-A" for kind in KINDS), *(f"configmaps/-n{n}" for n in NAMESPACES))
    )
    none = '{"kind": "NotRead", "metadata": {"name": "%s"}}'
    return (
        f"(for k in {kinds}; do m=$(kubectl get ${{k%/*}} ${{k#*/}} -o json --ignore-not-found "
        f"2>&1 >&3); case $m in *orbidden*) printf '{none}' $k >&3;; esac; done; true) 3> dump.json"
    )


def json_documents(content: str) -> Iterator[Any]:
    """JSON documents, one after the other. Raises UnreadableDocumentError."""
    JSON_DUMPS.check_size(len(content))
    decoder, content, position = json.JSONDecoder(), content.strip(), 0
    while position < len(content):
        try:
            found, position = decoder.raw_decode(content, position)
        except (ValueError, RecursionError) as problem:
            raise UnreadableDocumentError(f"not valid JSON: {fault(problem)}") from None
        yield found
        while content[position : position + 1].isspace():
            position += 1


def documents(content: str) -> Iterator[Any]:
    """Documents of a text in JSON or YAML. Raises UnreadableDocumentError."""
    if re.match(r'\s*[{\[]\s*(?:["{}\[\]]|$)', content):
        yield from json_documents(content)
        return
    YAML_DUMPS.check_size(len(content))
    for piece in content.split("\n---"):
        yield from (one.data for one in read_manifests(piece))


def read_text(content: str) -> Dump:
    """The cluster of one text."""
    return cluster_of(documents(content))


def read_folder(folder: Path) -> tuple[Dump, tuple[str, ...]]:
    """The cluster of a folder, and names of files that could not be read."""
    raws: list[Any] = []
    logs: dict[str, str] = {}
    unread: list[str] = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        try:
            if path.suffix in {".json", ".yaml", ".yml"}:
                raws += documents(path.read_text(errors="replace"))
            elif path.suffix == ".descr" and "node" in path.name:
                raws += nodes_described(path.read_text(errors="replace"))
            elif path.suffix == ".log":  # `gpu_operand_pod_NAME.log`, or `NAME.log`
                name = path.stem.removeprefix("gpu_operand_pod_").removesuffix(".previous")
                logs[name] = path.read_text(errors="replace")
        except (OSError, UnreadableDocumentError) as problem:
            unread.append(f"{path.relative_to(folder)}: {problem}")
    return cluster_of(raws, logs), tuple(unread)


_KEY = re.compile(r"^([A-Z][\w -]*):\s*(.*)$")
_TAINT = re.compile(r"([^=:\s]+)(?:=([^:\s]*))?:(\w+)")


def nodes_described(content: str) -> Iterator[dict[str, Any]]:
    """Node objects with labels, annotations, taints, conditions, capacity and allocatable."""
    yield from map(_node, re.findall(r"(?ms)^Name:.*?(?=^Name:|\Z)", content))


def _sections(block: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    key = ""
    for line in block.splitlines():
        if (head := _KEY.match(line)) is not None:
            key, line = head[1], head[2]
        found.setdefault(key, []).append(line.strip())
    return found


def _pairs(lines: list[str], sign: str) -> dict[str, str]:
    return dict(re.split(rf"\s*{sign}\s*", line, maxsplit=1) for line in lines if sign in line)


def _node(block: str) -> dict[str, Any]:
    parts = defaultdict(list, _sections(block))
    system = _pairs(parts["System Info"], ":")
    metadata: dict[str, Any] = {"name": "".join(parts["Name"])}
    metadata |= {"labels": _pairs(parts["Labels"], "=")}
    metadata |= {"annotations": _pairs(parts["Annotations"], ":")}
    found = filter(None, map(_TAINT.fullmatch, parts["Taints"]))
    taints = [{"key": one[1], "value": one[2] or "", "effect": one[3]} for one in found]
    status: dict[str, Any] = {"conditions": list(_conditions(parts["Conditions"]))}
    status |= {key.lower(): _pairs(parts[key], ":") for key in ("Capacity", "Allocatable")}
    fields = {"kubeletVersion": "Kubelet Version", "osImage": "OS Image"}
    status |= {"nodeInfo": {key: system.get(name, "") for key, name in fields.items()}}
    spec = {"unschedulable": parts["Unschedulable"] == ["true"], "taints": taints}
    return {"kind": "Node", "metadata": metadata, "spec": spec, "status": status}


def _conditions(lines: list[str]) -> Iterator[dict[str, str]]:
    for line in lines:
        parts = re.split(r"\s{2,}", line)
        if len(parts) >= 2 and parts[1] in {"True", "False", "Unknown"}:
            kind, status, *rest = parts
            reason = rest[2] if len(rest) > 2 else ""
            yield {"type": kind, "status": status, "reason": reason, "message": " ".join(rest[3:])}


_CORE = meanings("method of the client")
"""Kind of the core API -> method of the client."""


def read_live(kubeconfig: str | None, context: str | None) -> Dump:
    """The output of `collect_command` on a live cluster. Kinds that the cluster does not have are
    omitted.

    Raises RuntimeError where the client is not installed, or the cluster does not answer.
    """
    try:
        from kubernetes import client, config
        from kubernetes.client.exceptions import ApiException
        from urllib3.exceptions import HTTPError
    except ImportError:
        raise RuntimeError(
            f"the Kubernetes client is not installed: `{install_command('preflight')}`"
        ) from None
    try:
        connect = cast("Any", config).new_client_from_config
        with connect(config_file=kubeconfig, context=context) as api:
            core, custom = client.CoreV1Api(api), client.CustomObjectsApi(api)
            offered: Any = client.ApisApi(api).get_api_versions()
            groups = {one.name: one.preferred_version.version for one in offered.groups}

            def asked(name: str, group: str, space: str = "") -> Any:
                try:
                    if group:
                        return custom.list_cluster_custom_object(group, groups[group], name)
                    ask = getattr(core, _CORE[name])
                    answer = ask(*filter(None, [space]), _preload_content=False)
                    return json.loads(answer.data)
                except ApiException as refused:
                    if getattr(refused, "status", None) == 403:
                        return {"kind": "NotRead", "metadata": {"name": f"{name} {space}".strip()}}
                    if getattr(refused, "status", None) == 404:
                        return None
                    raise

            kinds = [kind.partition(".") for kind in KINDS]
            raws = [asked(name, group) for name, _, group in kinds if not group or group in groups]
            raws += [asked("configmaps", "", space) for space in NAMESPACES]
    except (ApiException, HTTPError, config.ConfigException, OSError) as problem:
        raise RuntimeError(f"the cluster does not respond: {problem}") from None
    return cluster_of(raws)
