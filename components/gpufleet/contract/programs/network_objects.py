"""Custom resources of the Network Operator, alone and against each other."""

from collections.abc import Mapping, Sequence
from typing import Any

from gpufleet.contract.programs.go_json import shown
from gpufleet.contract.programs.json_document import json_problem
from gpufleet.contract.programs.network_names import is_rdma_resource
from gpufleet.contract.programs.nic_policy import (
    CODES,
    NODE_SECTIONS,
    policy_problems,
    special_code,
    validate_policy,
)
from gpufleet.contract.programs.node_selector import selects_within
from gpufleet.contract.programs.validation import CheckReport
from gpufleet.contract.schemas import report_problems
from gpufleet.documents.document import GoDocument
from gpufleet.documents.paths import child, mapping_at, value_at
from gpufleet.documents.shapes import as_list, as_mapping

NAME = "nic-cluster-policy"
LONGEST_NODE_POLICY = 30
KINDS = ("NicClusterPolicy", "NicNodePolicy", "MacvlanNetwork", "HostDeviceNetwork", "IPoIBNetwork")

Objects = Sequence[tuple[str, dict[str, Any]]]


def objects_of(document: Mapping[str, Any]) -> Objects | None:
    """(path, object) of every custom resource; None where the document is none and holds none."""
    if _kind(document) in KINDS:
        return [("", dict(document))]
    items = as_list(document.get("items"))
    if document.get("kind") != "List" or items is None:
        return None
    found = [(child("items", i), as_mapping(item)) for i, item in enumerate(items)]
    return [(path, item) for path, item in found if item is not None]


def validate_objects(objects: Objects, version: tuple[int, ...], report: CheckReport) -> None:
    """Validate custom resources for an operator of this version."""
    for path, item in objects:
        kind = _kind(item)
        if kind not in KINDS:
            continue
        spec, place = as_mapping(item.get("spec")) or {}, child(path, "spec")
        name = value_at(item, "metadata.name")
        naming = child(child(path, "metadata"), "name")
        if kind in ("NicClusterPolicy", "NicNodePolicy"):
            validate_policy(spec, place, version, report)
        if kind == "NicClusterPolicy" and name != NAME:
            report.say("nic-policy-name", naming, value=shown(name))
        if kind == "NicNodePolicy" and len(str(name or "")) > LONGEST_NODE_POLICY:
            report.say(
                "nic-node-policy-name",
                naming,
                value=name,
                limit=LONGEST_NODE_POLICY,
                characters=len(str(name)),
            )
        if kind in ("MacvlanNetwork", "IPoIBNetwork"):
            _validate_ipam(spec.get("ipam"), child(place, "ipam"), report)
        if kind == "HostDeviceNetwork":
            _validate_host_device(spec, place, report)
        report_problems(policy_problems(item), CODES, report, path, special_code)
    _validate_together(objects, report)


def _kind(item: Mapping[str, Any]) -> str:
    kind = item.get("kind")
    return kind if isinstance(kind, str) else ""


def _validate_ipam(ipam: Any, path: str, report: CheckReport) -> None:
    if not isinstance(ipam, str) or not ipam.strip():
        return
    problem = json_problem(GoDocument(None, text=ipam))
    if problem is not None:
        report.say("network-ipam-not-json", path, problem=problem)


def _validate_host_device(spec: Mapping[str, Any], place: str, report: CheckReport) -> None:
    name = spec.get("resourceName")
    bare = name.removeprefix("nvidia.com/") if isinstance(name, str) else None
    if bare is not None and bare != name and is_rdma_resource(bare):
        report.say(
            "host-device-network-prefix", child(place, "resourceName"), value=shown(name), bare=bare
        )
    elif bare is None or not is_rdma_resource(bare):
        report.say(
            "host-device-network-name",
            child(place, "resourceName"),
            value=shown(name),
            name=shown(name if name is not None else ""),
        )


def _validate_together(objects: Objects, report: CheckReport) -> None:
    cluster = [item for _, item in objects if item.get("kind") == "NicClusterPolicy"]
    nodes = [(path, item) for path, item in objects if item.get("kind") == "NicNodePolicy"]
    whole = as_mapping(cluster[0].get("spec")) if cluster else None
    for path, item in nodes:
        spec = as_mapping(item.get("spec")) or {}
        for section in NODE_SECTIONS:
            if spec.get(section) is not None and (whole or {}).get(section) is not None:
                report.say(
                    "nic-node-policy-section-twice",
                    child(child(path, "spec"), section),
                    section=section,
                )
    for index, (path, item) in enumerate(nodes):
        for first, other in nodes[:index]:
            if _overlap(item, other):
                report.say(
                    "nic-node-policy-overlap",
                    child(child(path, "spec"), "nodeSelector"),
                    first=first,
                )


def _overlap(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether every node of one selector is surely a node of the other."""
    a, b = (mapping_at(item, "spec.nodeSelector") for item in (one, other))
    return selects_within(a, b) or selects_within(b, a)
