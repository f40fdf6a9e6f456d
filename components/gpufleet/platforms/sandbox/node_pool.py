"""SimulatedGpuNodePool: GPU nodes of the sandbox."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pulumi

from gpufleet.arguments.wired_components import SimulatedGpuNodePoolArgs
from gpufleet.catalogue import Catalogue, load
from gpufleet.components_base.cluster_objects import ManifestObject
from gpufleet.components_base.component import GpuPoolComponent, Options, PoolPlan, accepted
from gpufleet.components_base.configurations import checked_labels, validate_known_labels
from gpufleet.components_base.inputs import declared
from gpufleet.findings import Finding, error
from gpufleet.fleet import Pool
from gpufleet.fleet.layout_waves import nodes_before
from gpufleet.platforms.declarations import compiled_pool
from gpufleet.platforms.sandbox.simulated_node import (
    HardwareUnknownError,
    SimulatedNodeManifest,
    simulated_nodes,
)

DEFAULT = "sandbox"
"""Prefix of names, and region."""
CLUSTER_ANNOTATION = "gpufleet.dev/cluster"


@dataclass(frozen=True, kw_only=True)
class SimulatedPoolPlan(PoolPlan):
    """The nodes of one pool."""

    nodes: tuple[SimulatedNodeManifest, ...]
    cluster_name: pulumi.Input[str] | None
    configurations: pulumi.Input[list[str]] | None


class SimulatedGpuNodePool(GpuPoolComponent[SimulatedPoolPlan]):
    """GPU nodes without hardware, for the sandbox: Node objects with the labels, taints and
    hardware description of the pool; the sandbox's operand simulators publish their capacity.

    Exactly `nodes.min` nodes are created. The provider must be the sandbox cluster's: on any other
    cluster the nodes would never become ready.
    """

    node_names: pulumi.Output[list[str]]
    """Names of the Node objects, by ordinal."""
    advertised: pulumi.Output[dict[str, int]]
    """Extended resources each node publishes once its operands have run."""
    usd_per_node_hour: pulumi.Output[str | None]
    """Price of one such node an hour on its cloud. Absent when no price is known."""

    def __init__(self, name: str, args: SimulatedGpuNodePoolArgs, opts: Options = None) -> None:
        self._construct(name, _planned(self.label(name), args), opts)

    def _make(self, name: str, plan: SimulatedPoolPlan) -> Mapping[str, object]:
        pool, made = plan.pool, list[ManifestObject]()
        for i, node in enumerate(plan.nodes):
            # During a layout change a node waits for the nodes of the previous wave.
            before = [made[j] for j in nodes_before(pool, i)]
            labels = checked_labels(
                self.label(name), pool.name, node.metadata["labels"], plan.configurations
            )
            # Created here, not in a separate method: the SDK reads every frame above a resource.
            made.append(
                ManifestObject(
                    f"{name}-{i}",
                    {
                        "apiVersion": "v1",
                        "kind": "Node",
                        "metadata": _metadata(node, labels, plan.cluster_name),
                        "spec": node.spec,
                    },
                    pulumi.ResourceOptions(parent=self, depends_on=before),
                )
            )
        self.nodes = tuple(made)
        price = None if pool.hourly_usd is None else format(pool.hourly_usd.normalize(), "f")
        return {
            "node_names": [node.name for node in plan.nodes],
            "advertised": dict(pool.advertised),
            "usd_per_node_hour": price,
        }


def simulated_pool_plan(
    pool: Pool,
    catalogue: Catalogue,
    prefix: str,
    region: str,
    cluster_name: pulumi.Input[str] | None,
    configurations: pulumi.Input[list[str]] | None = None,
) -> tuple[SimulatedPoolPlan, list[Finding]]:
    """The nodes of a pool, and errors that prevent their creation."""
    try:
        nodes = simulated_nodes(pool, catalogue, prefix=prefix, region=region)
        findings: list[Finding] = []
    except HardwareUnknownError as unknown:
        nodes = ()
        findings = [error("simulated-hardware-unknown", pool.path, str(unknown))]
    for node in nodes:
        findings += validate_known_labels(node.metadata["labels"], configurations, pool.name)
    plan = SimulatedPoolPlan(
        pool=pool, nodes=nodes, cluster_name=cluster_name, configurations=configurations
    )
    return plan, findings


def _planned(component: str, args: SimulatedGpuNodePoolArgs) -> SimulatedPoolPlan:
    given = declared(component, SimulatedGpuNodePoolArgs, args)
    fleet = compiled_pool(component, "sandbox", given)
    plan, findings = simulated_pool_plan(
        fleet.pools[0],
        load(given["catalogue"]),
        given.get("namePrefix", DEFAULT),
        given.get("region", DEFAULT),
        given.get("clusterName"),
        given.get("configurations"),
    )
    return replace(plan, warnings=accepted(component, [*fleet.findings, *findings]))


def _metadata(
    node: SimulatedNodeManifest,
    labels: pulumi.Input[Mapping[str, str]],
    cluster_name: pulumi.Input[str] | None,
) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": node.name, **node.metadata, "labels": labels}
    if cluster_name is not None:
        metadata["annotations"] = {**metadata["annotations"], CLUSTER_ANNOTATION: cluster_name}
    return metadata
