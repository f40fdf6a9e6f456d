"""Checks of the live cluster: whether the nodes exist and match the declaration."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gpufleet.components_base.answers import Answers, NotAnsweredError, Wiring
from gpufleet.documents.paths import value_at
from gpufleet.documents.shapes import mapping
from gpufleet.findings import error, info, warning
from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.fleet.reported_gpus import ReportedGpus, reported_gpus
from gpufleet.platforms.accounts.cluster_charts import ask_charts, ask_permissions, ask_version
from gpufleet.platforms.accounts.cluster_client import ClusterClient
from gpufleet.platforms.existing.labels import options_of, selector
from gpufleet.spec.base import Ownership
from gpufleet.spec.platforms.existing import LabelsBy

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
        nodes = cluster.listed("nodes", "pools", "the nodes of the cluster")
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
    place, there = f"{pool.path}.existing", {_name(one) for one in nodes}
    least, most = pool.nodes.minimum, pool.nodes.maximum
    missing = ", ".join(name for name in options_of(pool).nodes if name not in there)
    if missing:
        text, fix = f"the cluster has no node {missing}", "write names of `kubectl get nodes`"
        answers.findings.append(error("existing-node-missing", f"{place}.nodes", text, fix))
    elif not least <= len(nodes) <= most:
        text = f"{pool.name} has {len(nodes)} nodes, and {least} to {most} are declared"
        fix = "write the actual number, or select other nodes"
        answers.findings.append(
            warning("existing-nodes-other-count", f"{pool.path}.nodes", text, fix)
        )
    seen = Counter(_in_words(one) for one in nodes)
    for text, count in seen.items():
        told = f"{count} of the nodes of {pool.name}: {text}"
        answers.findings.append(
            info("existing-nodes-seen", place, told, "compare it with what you expect")
        )
    for one in nodes:
        for code, field, what, fix in _differences(pool, one, reported_gpus(one)):
            answers.findings.append(
                error(f"existing-node-{code}", f"{pool.path}.{field}", what, fix)
            )


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


def _differences(
    pool: Pool, node: Mapping[str, Any], gpus: ReportedGpus
) -> Iterator[tuple[str, str, str, str]]:
    """Differences between a node and its declaration: code, field, text, fix."""
    name, image, declared = _name(node), pool.image, pool.gpus_per_node
    other = gpus.product is not None and (gpus.gpu is None or gpus.gpu.key != pool.gpu.key)
    if other or gpus.count not in (None, declared):
        what = f"{name} reports {gpus.count or 'an unknown number of'} x {gpus.product or 'GPUs'}"
        fix = "write the actual GPU and gpusPerNode, or select other nodes"
        yield "other-gpus", "gpu", f"{what}, and {declared} x {pool.gpu.name} are declared", fix
    layout = {k[15:]: n for k, n in pool.advertised.items() if k.startswith("nvidia.com/mig-")}
    there = {key.replace("+", "."): count for key, count in gpus.slices.items()}
    if there and there != layout and POOL_LABEL not in gpus.labels:
        offers = ", ".join(f"{count} x {key}" for key, count in sorted(there.items()))
        what = f"{name} is partitioned by hand: it offers {offers}, not declared in {pool.name}"
        fix = "declare the actual layout, or drain the node: it is partitioned again"
        yield "divided", "sharing", what, fix
    if image is None:
        return
    operator = gpus.labels.get("nvidia.com/gpu.deploy.driver") == "true"
    if gpus.driver is not None and not image.driver and not operator:
        what = (
            f"{name} has driver {gpus.driver}, and with {image.key} the operator installs another"
        )
        fix = "name the image of nodes with a driver, such as `plain-driver` or `rke2-driver`"
        yield "has-driver", "image", what, fix
    runtime = str(value_at(node, "status.nodeInfo.containerRuntimeVersion") or "")
    socket = image.toolkit_env.get("CONTAINERD_SOCKET", "the usual socket")
    if runtime and not image.toolkit and ("k3s" in runtime) != ("k3s" in socket):
        what = f"{name} runs {runtime}, and with {image.key} the toolkit looks for it at {socket}"
        yield "other-runtime", "image", what, "name an image of the actual distribution"


def _name(found: Mapping[str, Any]) -> str:
    return str(mapping(found.get("metadata")).get("name"))
