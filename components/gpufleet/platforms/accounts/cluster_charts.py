"""Whether the charts of a fleet can be installed in a cluster: its version, existing programs,
permissions, and free capacity."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from gpufleet.components_base.answers import Answers, NotAnsweredError
from gpufleet.documents.quantities import quantity
from gpufleet.documents.shapes import items, mapping
from gpufleet.findings import findings_in
from gpufleet.fleet.model import GPU_OPERATOR, Fleet
from gpufleet.platforms.accounts.cluster_client import ClusterClient
from gpufleet.render.fleet_release import FleetRelease
from gpufleet.render.releases import releases
from gpufleet.spec.addons import CHARTS
from gpufleet.spec.cluster import minor_of

_finding = findings_in(__file__)

Objects = Sequence[Mapping[str, Any]]
OPERANDS = 10
"""Maximum number of pods of the GPU Operator on one node: driver, toolkit, device plugin, GPU
Feature Discovery, DCGM and its exporter, MIG manager, status exporter, validator, and the worker of
Node Feature Discovery (NVIDIA/gpu-operator v26.7.0 `assets`)."""
PARTS = (
    ("create", "", "namespaces", None),
    ("create", "apiextensions.k8s.io", "customresourcedefinitions", None),
    ("create", "rbac.authorization.k8s.io", "clusterroles", None),
    ("create", "apps", "deployments", None),
    ("create", "", "secrets", None),
)
"""Kinds in charts, and the Secrets in which Helm stores its releases."""
_DONE = {"create": "created", "patch": "patched"}
_DISCOVERY, _EXPORTER = "node-feature-discovery", "dcgm-exporter"
_PLUGIN = re.compile(r"(nvidia|hami).*device-plugin")


def ask_version(cluster: ClusterClient, fleet: Fleet, answers: Answers) -> None:
    """Compare the API server's minor version with the fleet's."""
    wanted = fleet.spec.cluster.kubernetes_version
    answer = cluster.answer("version")
    if answer is None:
        return
    release, place = str(answer["gitVersion"]), "cluster.kubernetesVersion"
    found = ".".join(map(str, minor_of(release.lstrip("v"))))
    if found != wanted:
        answers.findings.append(
            _finding("cluster-version-differs", place, release=release, found=found, limit=wanted)
        )


def ask_permissions(
    cluster: ClusterClient,
    wanted: Iterable[tuple[str, str, str, str | None]],
    path: str,
    what: str,
    answers: Answers,
) -> None:
    """Check the permissions of the current user for `what`: verb, group, plural, namespace. The
    deployment may run as another user, so a missing permission is a warning."""
    for verb, group, plural, namespace in wanted:
        kind = f"{plural}.{group}".rstrip(".")
        known = {"verb": verb, "group": group or None, "plural": plural, "namespace": namespace}
        answer = cluster.answer("permission", path=path, kind=kind, done=_DONE[verb], **known)
        kind += "" if namespace is None else f" in {namespace}"
        if answer is not None and answer["status"].get("allowed") is not True:
            answers.findings.append(
                _finding("permission-missing", path, verb=verb, kind=kind, what=what, found=plural)
            )


def ask_charts(
    cluster: ClusterClient, fleet: Fleet, nodes: Objects, gpu_nodes: Objects, answers: Answers
) -> None:
    """Check existing programs, permissions and capacity; `gpu_nodes` are the nodes of the pools."""
    charts = {one.chart.name: one for one in releases(fleet)}
    if not charts:
        return
    with suppress(NotAnsweredError):
        for kind in ("deployments", "daemonsets"):
            for one in cluster.ask(kind)["items"]:
                _other(one, charts, answers)
    with suppress(NotAnsweredError):
        _room(cluster, charts, nodes, gpu_nodes, answers)
    ask_permissions(cluster, PARTS, "addons", "the charts need", answers)


def _other(one: Mapping[str, Any], charts: Mapping[str, FleetRelease], answers: Answers) -> None:
    """A program that would be installed and that already runs. Helm records an object's release in
    annotations (helm/helm v3 `pkg/action/validate.go`)."""
    metadata = mapping(one.get("metadata"))
    name, namespace = str(metadata.get("name")), metadata.get("namespace")
    program = str(mapping(metadata.get("labels")).get("app.kubernetes.io/name"))
    serves = [charts[key] for key in (GPU_OPERATOR, "nvidia-device-plugin") if key in charts]
    ours = charts.get(program)
    if serves and (_PLUGIN.search(name) or _EXPORTER in name):
        ours = serves[0]
    elif program == _DISCOVERY:
        ours = charts.get(GPU_OPERATOR)
    if ours is None:
        return
    notes = mapping(metadata.get("annotations"))
    by = [notes.get(f"meta.helm.sh/release-{key}") for key in ("namespace", "name")]
    owner = (by[0] or namespace, by[1] or ours.chart.name)
    if owner == (ours.namespace, ours.chart.name):
        return
    sections = {chart: f"addons.{section}" for section, chart in CHARTS.items()}
    place = sections.get(ours.chart.name, "monitoring")
    found = f"{namespace}/{name}"
    if _EXPORTER in name:
        finding = _finding("existing-program/exporter", place, found=found, place=place)
    elif _PLUGIN.search(name):
        finding = _finding("existing-program/plugin", place, found=found, place=place)
    else:
        finding = _finding("existing-program", place, program=program, found=found, place=place)
    answers.findings.append(finding)


def _room(
    cluster: ClusterClient,
    charts: Mapping[str, FleetRelease],
    nodes: Objects,
    gpu_nodes: Objects,
    answers: Answers,
) -> None:
    """Whether controllers can run on some node, and operands on the nodes of the pools."""
    if not any(_is_usable(one) and not _keeps_away(one) for one in nodes):
        answers.findings.append(_finding("no-room-for-charts"))
    own = {one.namespace for one in charts.values()}
    pods = Counter(
        mapping(one.get("spec")).get("nodeName")
        for one in cluster.ask("pods")["items"]
        if mapping(one.get("metadata")).get("namespace") not in own
        and mapping(one.get("status")).get("phase") not in ("Succeeded", "Failed")
    )
    for one in gpu_nodes:
        name = mapping(one.get("metadata")).get("name")
        most = quantity(str(mapping(mapping(one.get("status")).get("allocatable")).get("pods")))
        if GPU_OPERATOR in charts and most is not None and most - pods[name] < OPERANDS:
            answers.findings.append(
                _finding(
                    "no-room-on-node", most=most, pods=pods[name], operands=OPERANDS, found=name
                )
            )
        elif not _is_usable(one):
            answers.findings.append(_finding("no-room-on-node/unusable", found=name))


def _is_usable(node: Mapping[str, Any]) -> bool:
    conditions = map(mapping, items(mapping(node.get("status")).get("conditions")))
    ready = [one.get("status") for one in conditions if one.get("type") == "Ready"]
    return mapping(node.get("spec")).get("unschedulable") is not True and ready in ([], ["True"])


def _keeps_away(node: Mapping[str, Any]) -> bool:
    taints = map(mapping, items(mapping(node.get("spec")).get("taints")))
    return any(one.get("effect") in ("NoSchedule", "NoExecute") for one in taints)
