"""Node Feature Discovery: the labels that make a node a GPU or an RDMA node. Exactly one runs it.

Both NVIDIA charts bundle it. If the Network Operator is installed, it must run it: it is installed
first, and its operands start only on labelled nodes.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import TYPE_CHECKING

from gpufleet.cluster.cluster import ClusterModel
from gpufleet.contract.contract_fact import ContractFact
from gpufleet.contract.operator_values import VALUES
from gpufleet.contract.platform import PlatformValue
from gpufleet.contract.relation import GPU_OPERATOR, NETWORK_OPERATOR, Broken
from gpufleet.documents.paths import value_at
from gpufleet.findings import Finding, findings_in
from gpufleet.spec.base import Ownership

if TYPE_CHECKING:
    from gpufleet.spec.addons import Addons

_finding = findings_in(__file__)

_KEY = "nfd.enabled"


class DiscoveryOwner(StrEnum):
    """Owner of Node Feature Discovery."""

    GPU_OPERATOR = "gpuOperator"
    NETWORK_OPERATOR = "networkOperator"
    OWN_OPERATOR = "ownOperator"
    """Red Hat's operator for it, on OpenShift, instead of NVIDIA's bundles."""
    CLUSTER = "cluster"
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
        return DiscoveryOwner.CLUSTER, _someone_else(addons, path)
    theirs = value_at(addons.network_operator.values, "nfd.enabled") if network_operator else False
    if network_operator and ours is not True:
        if theirs is False and ours is None:
            return DiscoveryOwner.GPU_OPERATOR, ()
        owner = DiscoveryOwner.CLUSTER if theirs is False else DiscoveryOwner.NETWORK_OPERATOR
        return owner, ()
    if network_operator and ours is True and theirs is not False:
        return DiscoveryOwner.GPU_OPERATOR, (_finding("node-feature-discovery-twice", path),)
    if ours is False:
        return DiscoveryOwner.CLUSTER, _someone_else(addons, path)
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
        finding = _finding("node-feature-discovery-twice/files", operator.field(_KEY))
        ours = ContractFact("the GPU Operator is configured to run it", finding.path)
        theirs = ContractFact("so is the Network Operator", network.field(_KEY))
        yield Broken.of(finding, operator, ours, theirs)


def _someone_else(addons: "Addons", path: str) -> tuple[Finding, ...]:
    if addons.gpu_operator.ownership is Ownership.EXISTING:
        return ()
    return (_finding("node-feature-discovery-not-installed", path),)
