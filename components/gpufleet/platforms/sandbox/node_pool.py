"""SimulatedGpuNodePool: GPU nodes of the sandbox."""

from typing import Any, NotRequired, TypedDict, cast

import pulumi

from gpufleet.arguments import GpuPoolArgs
from gpufleet.catalogue import load
from gpufleet.components_base.configurations import checked_labels
from gpufleet.components_base.core_objects import Node
from gpufleet.components_base.inputs import compiled_already, declared, refuse
from gpufleet.components_base.known_output import keep_known, known_later
from gpufleet.findings import error
from gpufleet.fleet import Pool, compile_data
from gpufleet.fleet.layout_waves import nodes_before
from gpufleet.platforms.sandbox.simulated_node import (
    HardwareUnknownError,
    SimulatedNode,
    simulated_nodes,
)

CLUSTER_ANNOTATION = "gpufleet.dev/cluster"


class SimulatedGpuNodePoolArgs(TypedDict):
    """Inputs of `SimulatedGpuNodePool`."""

    catalogue: str
    """Edition of facts, `"2026.11"`."""
    pool: GpuPoolArgs
    """The pool's declaration. Must be known before deployment."""
    name_prefix: NotRequired[str]
    """First part of the nodes' names, at most 63 characters with pool and number. Default:
    `sandbox`."""
    region: NotRequired[str]
    """Region the nodes claim to be in. Default: `sandbox`."""
    cluster_name: NotRequired[pulumi.Input[str]]
    """Cluster the nodes join, written to their annotation `gpufleet.dev/cluster`. Give the output
    of the resource that makes the cluster, and the nodes wait for it. Default: not written."""
    configurations: NotRequired[pulumi.Input[list[str]]]
    """Output `configurations` of the cluster's `GpuAddons`, from another stack: nodes that would
    choose anything else are refused. Default: not compared, the add-ons are of this program."""


class SimulatedGpuNodePool(pulumi.ComponentResource):
    """GPU nodes without hardware, for the sandbox: Node objects with the labels, taints and
    hardware description of the pool; the sandbox's operand simulators publish their capacity.

    Exactly `nodes.min` nodes are made. The provider must be the sandbox cluster's: on any other
    cluster the nodes would never become ready.
    """

    node_names: pulumi.Output[list[str]] = known_later()
    """Names of the Node objects, by ordinal."""
    advertised: pulumi.Output[dict[str, int]] = known_later()
    """Extended resources each node publishes once its operands have run."""
    usd_per_node_hour: pulumi.Output[str | None] = known_later()
    """What one such node costs an hour where it is sold. Absent when no price is known."""

    def __init__(
        self,
        name: str,
        args: SimulatedGpuNodePoolArgs,
        opts: pulumi.ResourceOptions | None = None,
        *,
        compiled: Pool | None = None,
    ) -> None:
        """Make the nodes.

        Args:
            name: Name of the component, unique in its stack.
            args: The declaration.
            opts: Options; `provider` or `providers` must hold the sandbox's Kubernetes provider.
            compiled: What the declaration means within its fleet, when the caller has compiled
                the whole fleet. Default: the pool on its own.

        Raises:
            InvalidArgumentsError: the declaration has an error; the text holds all of them.
        """
        component = f'SimulatedGpuNodePool "{name}"'
        declaration = declared(
            component,
            SimulatedGpuNodePoolArgs,
            cast("dict[str, Any]", args),
            unread=compiled_already(compiled),
        )
        pool = compiled or _compile(component, declaration)
        nodes = _nodes(component, pool, declaration)
        known = args.get("configurations")
        labels = [
            checked_labels(component, pool.name, node.metadata["labels"], known) for node in nodes
        ]
        super().__init__("gpufleet:index:SimulatedGpuNodePool", name, {}, opts)
        self._spec: GpuPoolArgs = args["pool"]
        made: list[Node] = []
        for i, node in enumerate(nodes):
            # With a layout change under way a node waits for the nodes of the wave before.
            before = [made[j] for j in nodes_before(pool, i)]
            # Made here, not in a method of its own: the SDK reads every frame above a resource.
            made.append(
                Node(
                    f"{name}-{i}",
                    metadata=_metadata(node, labels[i], args),
                    spec=node.spec,
                    opts=pulumi.ResourceOptions(parent=self, depends_on=before),
                )
            )
        names, advertised = [node.name for node in nodes], dict(pool.advertised)
        price = None if pool.hourly_usd is None else format(pool.hourly_usd.normalize(), "f")
        keep_known(self, node_names=names, advertised=advertised, usd_per_node_hour=price)
        self.nodes = tuple(made)
        self.register_outputs(
            {"nodeNames": names, "advertised": advertised, "usdPerNodeHour": price}
        )

    @property
    def spec(self) -> GpuPoolArgs:
        """The pool's declaration, to hand on to other components: `GpuAddons` takes a list."""
        return self._spec


def _metadata(node: SimulatedNode, labels: Any, args: SimulatedGpuNodePoolArgs) -> dict[str, Any]:
    metadata = {"name": node.name, **node.metadata, "labels": labels}
    if "cluster_name" in args:
        metadata["annotations"] = {
            **metadata["annotations"],
            CLUSTER_ANNOTATION: args["cluster_name"],
        }
    return metadata


def _compile(component: str, declaration: dict[str, Any]) -> Pool:
    result = compile_data(
        {
            "catalogue": declaration["catalogue"],
            "platform": "sandbox",
            "cluster": {"name": "sandbox"},
            "pools": [declaration["pool"]],
        }
    )
    if result.fleet is None or not result.deployable:
        refuse(component, result.findings)
    return result.fleet.pools[0]


def _nodes(component: str, pool: Pool, declaration: dict[str, Any]) -> tuple[SimulatedNode, ...]:
    try:
        return simulated_nodes(
            pool,
            load(declaration["catalogue"]),
            prefix=declaration.get("namePrefix", "sandbox"),
            region=declaration.get("region", "sandbox"),
        )
    except HardwareUnknownError as unknown:
        refuse(component, [error("simulated-hardware-unknown", pool.path, str(unknown))])
