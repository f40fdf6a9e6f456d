"""Checks of the live cluster: whether the nodes exist and match the declaration."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gpufleet.components_base.answers import Answers, NotAnsweredError, Wiring
from gpufleet.documents.paths import value_at
from gpufleet.documents.shapes import mapping
from gpufleet.findings import Finding, findings_in, rules_in
from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.fleet.reported_gpus import ReportedGpus, reported_gpus
from gpufleet.platforms.accounts.cluster_charts import ask_charts, ask_permissions, ask_version
from gpufleet.platforms.accounts.cluster_client import ClusterClient
from gpufleet.platforms.existing.labels import options_of, selector
from gpufleet.spec.base import Ownership
from gpufleet.spec.platforms.existing import LabelsBy

_finding, _rules = findings_in(__file__), rules_in(__file__)

Nodes = Sequence[Mapping[str, Any]]
_WRITES = {
    LabelsBy.APPLY: [("patch", "", "nodes", None)],
    LabelsBy.RULE: [("create", "nfd.k8s-sigs.io", "nodefeaturerules", None)],
    LabelsBy.COMMANDS: [],
}


def ask(fleet: Fleet, wiring: Wiring) -> Answers:
    """Facts of the cluster in the kubeconfig; read-only.

    Raises:
        CannotAskError: the client library is not installed.
    """
    del wiring
    answers = Answers()
    try:
        cluster = ClusterClient(answers, "the cluster", "log in to it")
        nodes = cluster.ask("nodes")["items"]
    except NotAnsweredError:
        return answers
    ask_version(cluster, fleet, answers)
    chosen = [_chosen(pool, nodes) for pool in fleet.pools]
    for pool, those in zip(fleet.pools, chosen, strict=True):
        _pool(pool, those, answers)
        if pool.ownership is Ownership.MANAGED:
            wanted, place = (
                _WRITES.get(options_of(pool).writer, []),
                f"{pool.path}.existing.labelsBy",
            )
            ask_permissions(cluster, wanted, place, "labels need (or `commands`)", answers)
    ask_charts(cluster, fleet, nodes, [one for those in chosen for one in those], answers)
    return answers


def _chosen(pool: Pool, nodes: Nodes) -> Nodes:
    """Nodes of the declaration, as far as names and labels select them."""
    options, wanted = options_of(pool), selector(pool)
    if options.nodes:
        return [one for one in nodes if _name(one) in options.nodes]
    if options.name_pattern is not None:
        return [one for one in nodes if re.fullmatch(options.name_pattern, _name(one))]
    gpus = [(one, reported_gpus(one)) for one in nodes]
    if wanted:
        return [one for one, g in gpus if all(g.labels.get(k) in v for k, v in wanted.items())]
    return [one for one, g in gpus if g.present]


def _pool(pool: Pool, nodes: Nodes, answers: Answers) -> None:
    there = {_name(one) for one in nodes}
    missing = [name for name in options_of(pool).nodes if name not in there]
    answers.findings += _rules("nodes", pool.path, pool=pool, missing=missing, found=len(nodes))
    for words, count in Counter(map(_in_words, nodes)).items():
        answers.findings.append(
            _finding("existing-nodes-seen", pool.path, count=count, pool=pool.name, words=words)
        )
    for one in nodes:
        answers.findings += _differences(pool, one, reported_gpus(one))


def _in_words(node: Mapping[str, Any]) -> str:
    gpus, info = reported_gpus(node), mapping(value_at(node, "status.nodeInfo"))
    parts = {
        "GPUs": f"{gpus.count or 'unknown'} x {gpus.product or 'unknown'}",
        "driver": gpus.driver,
        "RDMA": gpus.labels.get("feature.node.kubernetes.io/rdma.capable"),
        "kernel": info.get("kernelVersion"),
        "runtime": info.get("containerRuntimeVersion"),
    }
    return ", ".join(f"{key} {value or 'unknown'}" for key, value in parts.items())


def _differences(pool: Pool, node: Mapping[str, Any], gpus: ReportedGpus) -> Iterator[Finding]:
    there = {key.replace("+", "."): count for key, count in gpus.slices.items()}
    environment = dict[str, str]() if pool.image is None else pool.image.toolkit_env
    return _rules(
        "node",
        pool.path,
        pool=pool,
        gpus=gpus,
        name=_name(node),
        count=gpus.count or "an unknown number of",
        product=gpus.product or "GPUs",
        there=there,
        layout={k[15:]: n for k, n in pool.advertised.items() if k.startswith("nvidia.com/mig-")},
        offers=[f"{count} x {key}" for key, count in sorted(there.items())],
        ours=POOL_LABEL in gpus.labels,
        operator=gpus.labels.get("nvidia.com/gpu.deploy.driver") == "true",
        runtime=str(value_at(node, "status.nodeInfo.containerRuntimeVersion") or ""),
        socket=environment.get("CONTAINERD_SOCKET", "the usual socket"),
    )


def _name(found: Mapping[str, Any]) -> str:
    return str(mapping(found.get("metadata")).get("name"))
