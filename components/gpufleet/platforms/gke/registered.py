"""Inputs of the resources that create nodes on GKE; the effect of a difference in one is in
`input_classes.jsonl`.

Inputs that need a new node pool are in the catalogue's rows of Google's provider. The provider
updates the others in place (hashicorp/terraform-provider-google e03b762
`google/services/container/resource_container_node_pool.go`). Labels and taints change on existing
nodes, and so do network tags (Google's GKE documentation, Update Kubernetes node labels and taints
for node pools). For every other setting of nodes it is assumed that GKE creates the nodes again, by
the upgrade settings (same documentation, Manage cluster lifecycle changes).
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from gpufleet.fleet.leaf_class import LeafClass
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.platforms.gke.compute_class import compute_class
from gpufleet.platforms.gke.gpu_networks import gpu_networks
from gpufleet.platforms.gke.imported import kept_as_made
from gpufleet.platforms.gke.node_pool_arguments import (
    SIZES_IGNORED,
    node_pools,
    workload_policies,
)
from gpufleet.platforms.gke.shape import gke_shape


def registered(fleet: Fleet, pool: Pool) -> dict[str, Mapping[str, Any]]:
    """Name of each resource -> its inputs. The kinds of networks represent the networks."""
    prefix, cluster = fleet.spec.resource_prefix, fleet.spec.cluster
    place = {"cluster": cluster.name, "location": cluster.region, "project": cluster.project}
    networks = [one.name for one in gke_shape(pool).networks]
    own = {
        subnet.interface.name: {"network": network.name, "subnetwork": subnet.cidr}
        for network in gpu_networks(fleet.spec, [pool])
        for subnet in network.subnets
    }
    found: dict[str, Mapping[str, Any]] = {}
    for step, arguments in node_pools(pool, prefix, fleet.spec.tags).items():
        inputs: dict[str, Any] = {**arguments, **place}
        if networks:
            inputs["networkConfig"] = {
                **inputs.get("networkConfig", {}),
                "additionalNodeNetworkConfigs": [
                    own.get(one, {"network": one}) for one in networks
                ],
            }
        config: dict[str, Any] = dict(inputs["nodeConfig"])
        if "taints" in config:
            config["taints"] = sorted(config["taints"], key=str)
        inputs["nodeConfig"] = config
        ignored: Sequence[str] = SIZES_IGNORED
        if pool.spec.import_id is not None:
            ignored = kept_as_made(pool, config)
        found[_named("nodePool", step)] = _without(inputs, ignored)
    for step, policy in workload_policies(pool, prefix, cluster.region or "").items():
        found[_named("placement", step)] = policy
    manifest = compute_class(pool, prefix)
    return found if manifest is None else {**found, "computeClass": manifest}


def locations_class(old: object, new: object) -> LeafClass:
    """Effect of a difference in the zones of a node pool: nodes of a zone that stays stay too."""
    more = isinstance(old, list) and isinstance(new, list)
    grown = more and set(cast("list[str]", old)) <= set(cast("list[str]", new))
    return LeafClass.NEW_NODES if grown else LeafClass.ROLLING


def _named(kind: str, step: str) -> str:
    return f"{kind}/{step}" if step else kind


def _without(inputs: Mapping[str, Any], paths: Sequence[str]) -> dict[str, Any]:
    kept = {key: value for key, value in inputs.items() if key not in paths}
    config = kept.get("nodeConfig")
    if isinstance(config, Mapping):
        items = cast("Mapping[str, Any]", config).items()
        kept["nodeConfig"] = {k: v for k, v in items if f"nodeConfig.{k}" not in paths}
    return kept
