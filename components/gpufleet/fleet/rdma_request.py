"""Requests of pods for the NICs that the Network Operator serves."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from gpufleet.fleet.addon_plan import rdma_pools
from gpufleet.fleet.model import NetworkPlan, Pool
from gpufleet.fleet.nic_cluster_policy import all_networks
from gpufleet.spec.fleet_spec import FleetSpec

NETWORKS = "k8s.v1.cni.cncf.io/networks"
"""Annotation of a pod: networks that it joins in addition to the cluster network."""


@dataclass(frozen=True, slots=True)
class RdmaRequest:
    """Requests of a pool's pods for its NICs."""

    resources: Mapping[str, str] = field(default_factory=dict[str, str])
    """Extended resource -> quantity."""
    annotations: Mapping[str, str] = field(default_factory=dict[str, str])


def rdma_request(pool: Pool, spec: FleetSpec, plan: NetworkPlan) -> RdmaRequest:
    """The RDMA device, and the declared networks: empty for pools whose NICs gpufleet does not
    serve.

    A network of host devices takes one device of its resource for each pod. Pods join networks by
    an annotation of Multus (k8snetworkplumbingwg/multus-cni v4, "how to use"; examples of NVIDIA's
    Network Operator documentation)."""
    if not rdma_pools([pool]):
        return RdmaRequest()
    declared = spec.addons.network_operator
    taken = Counter(one.resource_name for one in declared.host_device)
    counts = {f"{one.prefix or 'rdma'}/{one.name}": 1 for one in plan.rdma}
    counts |= {f"{one.prefix}/{one.name}": max(1, taken[one.name]) for one in declared.sriov}
    joined = ", ".join(f"{one.namespace}/{one.name}" for _, one in all_networks(declared))
    return RdmaRequest(
        {name: str(count) for name, count in counts.items()},
        {NETWORKS: joined} if joined else {},
    )
