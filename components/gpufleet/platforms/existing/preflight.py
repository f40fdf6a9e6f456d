"""Questions to the live cluster: are the nodes there, what do they report, who else serves them."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from gpufleet.components_base.answers import Answers, NotAnsweredError, Wiring
from gpufleet.documents.quantities import quantity
from gpufleet.documents.shapes import mapping
from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.platforms.accounts.cluster_client import ClusterClient
from gpufleet.platforms.existing.labels import PRODUCT_LABEL, options_of, products, selector
from gpufleet.spec.base import Ownership
from gpufleet.spec.platforms.existing import LabelsBy

Nodes = Sequence[Mapping[str, Any]]
_PLUGIN, _MIG = "nvidia-device-plugin", "nvidia.com/mig-"


def ask(fleet: Fleet, wiring: Wiring) -> Answers:
    """What the cluster of the kubeconfig answers; read-only.

    Raises:
        CannotAskError: the client library is not installed.
    """
    del wiring
    answers = Answers()
    try:
        cluster = ClusterClient(answers, "the cluster", "log in to it")
        nodes = cluster.nodes("pools")
    except NotAnsweredError:
        return answers
    for pool in fleet.pools:
        _pool(pool, _chosen(pool, nodes), answers)
    _permissions(cluster, fleet, answers)
    _others(cluster, fleet, answers)
    return answers


def _chosen(pool: Pool, nodes: Nodes) -> Nodes:
    """Nodes that the declaration means, as far as names and labels say it."""
    options, wanted = options_of(pool), selector(pool)
    if options.nodes:
        return [one for one in nodes if _name(one) in options.nodes]
    if options.name_pattern is not None:
        return [one for one in nodes if re.fullmatch(options.name_pattern, _name(one))]
    if wanted:
        return [one for one in nodes if all(_labels(one).get(k) in v for k, v in wanted.items())]
    return [one for one in nodes if _gpus(one) or PRODUCT_LABEL in _labels(one)]


def _pool(pool: Pool, nodes: Nodes, answers: Answers) -> None:
    place, names = f"{pool.path}.existing", {_name(one) for one in nodes}
    missing = [name for name in options_of(pool).nodes if name not in names]
    if missing:
        answers.error(
            "existing-node-missing",
            f"{place}.nodes",
            f"the cluster has no node {', '.join(missing)}",
            "write the names that `kubectl get nodes` shows",
            missing=missing,
        )
    elif not pool.nodes.minimum <= len(nodes) <= pool.nodes.maximum:
        answers.warning(
            "existing-nodes-other-count",
            f"{pool.path}.nodes",
            f"{len(nodes)} nodes are those of {pool.name}, and {pool.nodes.minimum} to "
            f"{pool.nodes.maximum} are declared",
            "write what is there, or choose other nodes",
            found=len(nodes),
        )
    for one in nodes:
        _node(pool, one, answers)


def _node(pool: Pool, node: Mapping[str, Any], answers: Answers) -> None:
    product, name = _labels(node).get(PRODUCT_LABEL), _name(node)
    bare = (product or "").partition("-MIG-")[0].removesuffix("-SHARED")
    if product is not None and bare not in products(pool):
        answers.error(
            "existing-node-other-gpu",
            f"{pool.path}.gpu",
            f"{name} reports {product}, and {pool.name} is of {pool.gpu.name}",
            "write the GPU that is there, or choose other nodes",
            found=product,
        )
    count = _gpus(node)
    if count is not None and count != pool.gpus_per_node:
        answers.error(
            "existing-node-other-count",
            f"{pool.path}.gpusPerNode",
            f"{name} reports {count} GPUs, and {pool.gpus_per_node} are declared",
            f"write gpusPerNode: {count}, or choose other nodes",
            found=count,
        )
    _divided(pool, node, answers)
    driver = _labels(node).get("nvidia.com/cuda.driver-version.full")
    if driver is None or pool.image is None or pool.image.driver:
        return
    if _labels(node).get("nvidia.com/gpu.deploy.driver") != "true":
        answers.error(
            "existing-node-has-driver",
            f"{pool.path}.image",
            f"{name} has driver {driver} already, and with {pool.image.key} the operator installs "
            "one: its pod cannot unload the driver in use",
            "name the image of nodes with a driver, such as `plain-driver` or `rke2-driver`",
            found=driver,
        )


def _divided(pool: Pool, node: Mapping[str, Any], answers: Answers) -> None:
    """MIG devices that the administrator made, against those of the pool."""
    if POOL_LABEL in _labels(node):
        return
    capacity = mapping(mapping(node.get("status")).get("capacity"))
    there = {k: str(v) for k, v in capacity.items() if k.startswith(_MIG) and str(v) != "0"}
    declared = {k: str(v) for k, v in pool.advertised.items() if k.startswith(_MIG)}
    if not there or there == declared:
        return
    offers = ", ".join(f"{k} x {v}" for k, v in sorted(there.items()))
    report = answers.warning if declared else answers.error
    report(
        "existing-node-divided",
        f"{pool.path}.sharing",
        f"{_name(node)} is divided already and offers {offers}; {pool.name} declares "
        f"{', '.join(f'{k} x {v}' for k, v in sorted(declared.items())) or 'no MIG layout'}",
        "declare the layout that is there, or drain the node: the MIG manager divides it again"
        if declared
        else "declare the layout that is there, or take it away: whole GPUs are not offered",
        found=offers,
    )


def _permissions(cluster: ClusterClient, fleet: Fleet, answers: Answers) -> None:
    needs = {
        LabelsBy.APPLY: ("patch", "", "nodes"),
        LabelsBy.RULE: ("create", "nfd.k8s-sigs.io", "nodefeaturerules"),
    }
    for pool in fleet.pools:
        writer = options_of(pool).writer
        if writer not in needs or pool.ownership is not Ownership.MANAGED:
            continue
        verb, group, plural = needs[writer]
        try:
            allowed = cluster.may(verb, group, plural, None, f"{pool.path}.existing")
        except NotAnsweredError:
            continue
        if not allowed:
            answers.error(
                "existing-labels-not-allowed",
                f"{pool.path}.existing.labelsBy",
                f"you may not {verb} {plural}, and the labels of {pool.name} are written so",
                f"be allowed {verb} {plural}, or write `labelsBy: commands`",
            )


def _others(cluster: ClusterClient, fleet: Fleet, answers: Answers) -> None:
    """Device plugins that somebody else runs beside the operator's."""
    if not fleet.addons.gpu_operator.device_plugin:
        return
    try:
        found = [one for one in cluster.daemon_sets("addons") if _PLUGIN in _name(one)]
    except NotAnsweredError:
        return
    namespace = fleet.addons.gpu_operator.namespace
    there = [one for one in found if mapping(one["metadata"]).get("namespace") != namespace]
    for one in there:
        where = f"{mapping(one['metadata']).get('namespace')}/{_name(one)}"
        answers.error(
            "existing-device-plugin",
            "addons.gpuOperator",
            f"DaemonSet {where} runs a device plugin, and the operator would run another: the "
            "second to register replaces the first",
            "remove it, or name an image whose nodes have a device plugin",
            found=where,
        )


def _gpus(node: Mapping[str, Any]) -> int | None:
    """GPUs as GPU Feature Discovery counts them, else whole ones of a node that is not shared."""
    counted = _labels(node).get("nvidia.com/gpu.count", "")
    if counted.isdigit():
        return int(counted)
    if POOL_LABEL in _labels(node) or _labels(node).get(PRODUCT_LABEL, "").endswith("-SHARED"):
        return None
    capacity = mapping(mapping(node.get("status")).get("capacity")).get("nvidia.com/gpu")
    whole = None if capacity is None else quantity(str(capacity))
    return None if whole is None else int(whole)


def _labels(node: Mapping[str, Any]) -> dict[str, str]:
    return {k: str(v) for k, v in mapping(mapping(node.get("metadata")).get("labels")).items()}


def _name(found: Mapping[str, Any]) -> str:
    return str(mapping(found.get("metadata")).get("name"))
