"""Everything that a case table of the rules has, as texts and as resources of a program."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import yaml

from gpufleet.documents.limits import UnreadableDocumentError
from gpufleet.documents.reading import read_go, read_go_stream
from tests.policies.cases import CASES, Thing
from tests.policies.configurations.rule_cases import CASES as CONFIGURATIONS
from tests.policies.configurations.test_user_reports import REPORTS
from tests.policies.configurations.test_wrapped import release

VALUES = {
    "gpu-operator-values": "gpu-operator",
    "network-operator-values": "network-operator",
    "device-plugin-values": "nvidia-device-plugin",
    "dra-driver-values": "dra-driver-nvidia-gpu",
    "dcgm-exporter-values": "dcgm-exporter",
    "karpenter-values": "karpenter",
    "keda-values": "keda",
    "kueue-values": "kueue",
}
"""Kind of values -> the chart they are of."""
IN_CONFIG_MAPS = ("device-plugin", "mig-parted", "rdma-shared-config", "sriov-config")
"""Kinds whose document a ConfigMap holds."""


MACHINES = {
    "A100-80GB": "p4de.24xlarge",
    "A100-40GB": "p4d.24xlarge",
    "H100-80GB": "p5.48xlarge",
    "H200-141GB": "p5en.48xlarge",
    "L4": "g6.12xlarge",
    "T4": "g4dn.12xlarge",
}
"""GPU -> a machine of AWS that has it and no other."""


@dataclass(frozen=True)
class Sample:
    """One text, with the resources that are the same objects in a program."""

    name: str
    group: str
    kind: str
    """Kind that `--as` names; empty: none is named."""
    text: str | None
    """None: only a program has these resources."""
    where: Mapping[str, Any] = field(default_factory=dict[str, Any], hash=False)
    """GPU, selection and context of `check`."""
    resources: tuple[Thing, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any], hash=False)

    def __str__(self) -> str:
        return self.name

    @property
    def is_mended(self) -> bool:
        """Whether it has no fault, or no longer one: the fronts report nothing about it."""
        return self.name.removesuffix("-held").endswith(("-fine", "-good"))

    @property
    def file(self) -> str:
        """The name of a file with the text: a values file has the name of its chart."""
        values = f"{VALUES[self.kind]}-values" if self.kind in VALUES else ""
        return f"{values or self.kind or 'file'}.yaml"


@cache
def samples() -> tuple[Sample, ...]:
    """All of them, in a fixed order."""
    return tuple(_samples())


def _samples() -> Iterator[Sample]:
    for kind, rows in CONFIGURATIONS.items():
        for number, (code, broken, fine, where) in enumerate(rows):
            for which, text in (("broken", broken), ("fine", fine)):
                if isinstance(text, str):
                    name = f"{kind}-{number}-{code}-{which}"
                    yield from _of_text(name, kind, kind, text, where)
    for number, report in enumerate(REPORTS):
        name = f"report-{number}-{report.source}"
        yield from _of_text(name, "reports", report.kind, report.text, report.circumstances)
    for name, kind, text, where in _OTHERS:
        yield from _of_text(name, "others", kind, text, where)
    for number, case in enumerate(CASES):
        for which, thing in (("good", case.good), ("bad", case.bad)):
            name = f"case-{number}-{case.rule}-{which}"
            things = (*case.alongside, thing)
            yield Sample(name, "policies", "", None, {}, things, dict(case.settings))


_POLICY = "apiVersion: nvidia.com/v1\nkind: ClusterPolicy\nmetadata: {name: c}\nspec: {}\n"
_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: "
_PLUGIN = "version: v1\nsharing: {timeSlicing: {resources: [{name: gpu, replicas: 4}]}}\n"
_OTHERS: tuple[tuple[str, str, str, Mapping[str, Any]], ...] = (
    ("no key of a ConfigMap", "mig-parted", f"{_MAP}{{a: x, b: y}}", {}),
    ("a ConfigMap with a number", "mig-parted", f"{_MAP}{{config.yaml: 1}}", {}),
    ("a manifest of others", "device-plugin", f"{_POLICY}---\n{_POLICY}", {}),
    ("a wrong context", "device-plugin", _PLUGIN, {"context": {"gpuz": 1, "env": 3}, "gpu": "X1"}),
    ("another chart", "device-plugin-values", release("cert-manager", "{}"), {}),
    (
        "a variable",
        "gpu-operator-values",
        release("gpu-operator", "{driver: {version: '${VERSION}'}}"),
        {},
    ),
)
"""Texts for the rules of every kind, which the tables of the kinds do not have."""


def _of_text(
    name: str, group: str, kind: str, text: str, where: Mapping[str, Any]
) -> Iterator[Sample]:
    """The text, and where it is a bare configuration also what holds it."""
    resources = resources_of(kind, text)
    pool = _pool_of(where, _first(text)) if resources else None
    yield Sample(name, group, kind, text, where, resources if pool is None else (*resources, pool))
    holder = _holder(kind, text)
    if holder is not None:
        kind, content = holder
        held = yaml.safe_dump(content, sort_keys=False)
        # Findings about the program that reads the bare text are not about its holder.
        yield Sample(f"{name}-held", group, kind, held, {}, resources_of(kind, held))


def _pool_of(where: Mapping[str, Any], data: Any) -> Thing | None:
    """A pool in a program with the fact that `--gpu` states for a file; it selects its layout."""
    machine = MACHINES.get(str(where.get("gpu")))
    if machine is None or "context" in where or "select" in where:
        return None
    sizes = {"minSize": 0, "maxSize": 2, "desiredSize": 0}
    layouts = data.get("mig-configs") if isinstance(data, dict) else None
    chosen = next(iter(layouts), "none") if isinstance(layouts, dict) else "none"
    labels = {"nvidia.com/mig.config": str(chosen)}
    properties = {"instanceTypes": [machine], "scalingConfig": sizes, "labels": labels}
    return Thing("aws:eks/nodeGroup:NodeGroup", properties, "pool")


def _holder(kind: str, text: str) -> tuple[str, Any] | None:
    """Kind and content of an object that holds a configuration as text, with any keys."""
    data = _first(text)
    if not isinstance(data, dict) or {"metadata", "data"} & set(data):
        return None  # an object
    if kind == "device-plugin":
        return "device-plugin-values", {"config": {"map": {"a": text}}}
    if kind == "mig-parted":
        held = {"create": True, "name": "m", "data": {"config.yaml": text}}
        return "gpu-operator-values", {"migManager": {"config": held}}
    if kind == "dra-config" and "apiVersion" in data:
        is_domain = str(data.get("kind", "")).startswith("ComputeDomain")
        driver = "compute-domain.nvidia.com" if is_domain else "gpu.nvidia.com"
        name = "compute-domain-default-channel.nvidia.com" if is_domain else driver
        request = {"name": "a", "exactly": {"deviceClassName": name}}
        config = {"requests": ["a"], "opaque": {"driver": driver, "parameters": data}}
        return "dra-config", {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": "a"},
            "spec": {"devices": {"requests": [request], "config": [config]}},
        }
    return None


def _first(text: str) -> Any:
    try:
        return read_go(text).data
    except UnreadableDocumentError:
        return None


def resources_of(kind: str, text: str) -> tuple[Thing, ...]:
    """The objects of a text as resources of a program."""
    return tuple(_resources(kind, text))


def _resources(kind: str, text: str) -> Iterator[Thing]:
    """The objects of a text; of a bare configuration the object that would hold it."""
    first = _first(text)
    if first is None and kind in VALUES:
        first = {}  # the chart's own values
    try:
        documents = [one.data for one in read_go_stream(text)]
    except UnreadableDocumentError:
        return
    if isinstance(first, dict) and "apiVersion" not in first:
        if kind in VALUES:
            properties = {"chart": VALUES[kind], "values": first}
            yield Thing("kubernetes:helm.sh/v3:Release", properties, "r")
            return
        if kind in IN_CONFIG_MAPS:
            holder = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "config"}}
            properties = {**holder, "data": {"config.yaml": text}}
            yield Thing("kubernetes:core/v1:ConfigMap", properties, "r")
            return
    items = [item for one in documents for item in items_of(one)]
    for number, item in enumerate(items):
        version = item["apiVersion"]
        group = version if "/" in version else f"core/{version}"
        yield Thing(f"kubernetes:{group}:{item['kind']}", item, f"r{number}")


def items_of(document: Any) -> Iterator[dict[str, Any]]:
    if not isinstance(document, dict) or not isinstance(document.get("kind"), str):
        return
    if document["kind"].endswith("List") and isinstance(document.get("items"), list):
        for item in document["items"]:
            yield from items_of(item)
    elif isinstance(document.get("apiVersion"), str):
        yield document if "metadata" in document else {**document, "metadata": {"name": "a"}}


def state_of(things: tuple[Thing, ...]) -> str:
    """A state file with the resources."""
    resources = [
        {"urn": urn_of(one), "type": one.type, "custom": True, "inputs": one.properties}
        for one in things
    ]
    return json.dumps({"version": 3, "deployment": {"resources": resources}}, default=str)


def urn_of(thing: Thing) -> str:
    """Unique among the resources of a sample."""
    return f"urn:pulumi:dev::p::{thing.type}::{thing.name}"


def manifests_of(things: tuple[Thing, ...]) -> str | None:
    """A file of manifests with the resources; None if one is no manifest, or has no name in it."""
    for one in things:
        metadata = one.properties.get("metadata")
        if not one.is_manifest or not isinstance(metadata, dict) or "name" not in metadata:
            return None
    # JSON: YAML 1.1 writes texts without quotes that other readers take for numbers.
    return "\n---\n".join(json.dumps(one.properties, default=str) for one in things)
