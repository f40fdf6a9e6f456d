"""Node Feature Discovery: the labels that make a node a GPU or an RDMA node. Exactly one runs it.

Both NVIDIA charts bundle it. If the Network Operator is installed, it must run it: it is installed
first, and its operands start only on labelled nodes.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import TYPE_CHECKING

from gpufleet.cluster.cluster import ClusterModel
from gpufleet.contract.contract_fact import ContractFact, chain
from gpufleet.contract.operator_values import VALUES
from gpufleet.contract.platform import PlatformValue
from gpufleet.contract.relation import GPU_OPERATOR, NETWORK_OPERATOR, Broken
from gpufleet.documents.paths import value_at
from gpufleet.findings import Finding, error, findings_in
from gpufleet.spec.base import Ownership

if TYPE_CHECKING:
    from gpufleet.spec.addons import Addons

_finding = findings_in(__file__)

NETWORK_VALUES = "addons.networkOperator.values"
_BUNDLED = ContractFact(
    "both charts bundle Node Feature Discovery and run it by default",
    "gpu-operator chart v26.7.0, network-operator chart 26.4.1",
)


TWICE = "node-feature-discovery-twice"
_BOTH = "the GPU Operator and the Network Operator would both run Node Feature Discovery"
_FIGHT = "two workers on a node conflict over one port and one set of labels"


class DiscoveryOwner(StrEnum):
    """Owner of Node Feature Discovery."""

    GPU_OPERATOR = "gpuOperator"
    NETWORK_OPERATOR = "networkOperator"
    OWN_OPERATOR = "ownOperator"
    """Red Hat's operator for it, on OpenShift, instead of NVIDIA's bundles."""
    SOMEBODY_ELSE = "somebodyElse"
    """The cluster has its own: as declared."""


def decide_discovery(
    addons: "Addons", platform: PlatformValue, network_operator: bool
) -> tuple[DiscoveryOwner, tuple[Finding, ...]]:
    """The owner, given whether the Network Operator is in the cluster, and contradictions."""
    operator = addons.gpu_operator
    typed = operator.node_feature_discovery.enabled
    written = value_at(operator.values, "nfd.enabled")
    ours = written if isinstance(written, bool) else typed
    path = (
        f"{VALUES}.nfd.enabled"
        if isinstance(written, bool)
        else "addons.gpuOperator.nodeFeatureDiscovery.enabled"
    )
    if platform.facts.lifecycle_manager:
        if ours is not False:
            return DiscoveryOwner.OWN_OPERATOR, ()
        return DiscoveryOwner.SOMEBODY_ELSE, _someone_else(addons, path)
    theirs = value_at(addons.network_operator.values, "nfd.enabled") if network_operator else False
    if network_operator and ours is not True:
        if theirs is False and ours is None:
            return DiscoveryOwner.GPU_OPERATOR, ()
        owner = DiscoveryOwner.SOMEBODY_ELSE if theirs is False else DiscoveryOwner.NETWORK_OPERATOR
        return owner, ()
    if network_operator and ours is True and theirs is not False:
        facts = chain(
            ContractFact("the GPU Operator is configured to run it", path),
            ContractFact(
                "the Network Operator is in the cluster, and nothing switches its own off",
                f"{NETWORK_VALUES}.nfd.enabled",
            ),
            _BUNDLED,
            ContractFact(_FIGHT, path),
        )
        return DiscoveryOwner.GPU_OPERATOR, (
            error(
                TWICE,
                path,
                _BOTH,
                "remove the line: the Network Operator is installed first, with it",
                facts=facts,
            ),
        )
    if ours is False:
        return DiscoveryOwner.SOMEBODY_ELSE, _someone_else(addons, path)
    return DiscoveryOwner.GPU_OPERATOR, ()


def validate_discovery(cluster: ClusterModel) -> Iterator[Broken]:
    """Both charts with their own, in files. `decide_discovery` checks declarations."""
    runs = [
        next((one for one in cluster.programs(name) if one.switch(_KEY, True).found is True), None)
        for name in (GPU_OPERATOR, NETWORK_OPERATOR)
    ]
    operator, network = runs
    if cluster.complete or operator is None or network is None:
        return
    if operator.written_at(_KEY) and network.written_at(_KEY):
        yield Broken(
            code=TWICE,
            at=operator,
            place=operator.field(_KEY),
            message=_BOTH,
            fix=f"write {_KEY}: false: the Network Operator is installed first, with it",
            facts=(
                ContractFact("the GPU Operator is configured to run it", operator.field(_KEY)),
                ContractFact("so is the Network Operator", network.field(_KEY)),
                ContractFact(_FIGHT, _BUNDLED.source),
            ),
        )


_KEY = "nfd.enabled"


def _someone_else(addons: "Addons", path: str) -> tuple[Finding, ...]:
    if addons.gpu_operator.ownership is Ownership.EXISTING:
        return ()
    return (
        _finding(
            "node-feature-discovery-by-somebody-else",
            path,
            facts=chain(
                ContractFact("the GPU Operator is configured not to run it", path),
                ContractFact("no Network Operator brings it", "addons.networkOperator"),
                ContractFact(
                    "a GPU node is one with the label feature.node.kubernetes.io/pci-10de.present",
                    "NVIDIA/gpu-operator v26.7.0 controllers/state_manager.go",
                ),
            ),
        ),
    )
