"""VsphereGpuNodeGroup: the machines of one pool on vCenter."""

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict, cast

import pulumi

from gpufleet.arguments import GpuPoolArgs
from gpufleet.findings import error
from gpufleet.fleet import Pool, compile_data
from gpufleet.inputs import declared, refuse
from gpufleet.nodes.vsphere.node import VsphereGpuNode
from gpufleet.nodes.vsphere_first_boot import first_boot, judge_first_boot
from gpufleet.render.vsphere_node import machine_inputs, machine_names
from gpufleet.spec.vsphere import VsphereOptions
from gpufleet.vsphere_connection import VsphereConnectionArgs

_ENDPOINT = (
    "server",
    "port",
    "insecure",
    "caCertFile",
    "thumbprintSha256",
    "plainHttp",
    "credentialsKey",
)


class VsphereGpuNodeGroupArgs(TypedDict):
    """Inputs of `VsphereGpuNodeGroup`."""

    catalogue: str
    """Edition of facts, `"2026.11"`."""
    pool: GpuPoolArgs
    """The pool's declaration. Must be known before deployment."""
    connection: VsphereConnectionArgs
    """The vCenter, the place in its inventory, and the way into the cluster."""
    name_prefix: NotRequired[str]
    """First part of the machines' names. Default: `gpu`."""
    addons: NotRequired[dict[str, Any]]
    """`addons` of a FleetSpec, as the cluster has them: only judged. A vGPU pool must say which
    guest driver its nodes get. Default: those a fleet has."""


class VsphereGpuNodeGroup(pulumi.ComponentResource):
    """GPU machines on vCenter: `nodes.min` of them, named `<prefix>-<pool>-<ordinal>`.

    Fewer nodes remove the highest ordinals, and no machine is renumbered. Machines form lanes, as
    many as `vsphere.rolloutWidth`: each waits for the one before it in its lane, so that no more
    are made or replaced at once, and one that fails stops its own lane only.
    """

    node_names: pulumi.Output[list[str]]
    """Names of the machines and of their Kubernetes nodes, by ordinal."""
    provider_ids: pulumi.Output[list[str]]
    """`vsphere://<bios uuid>` of each, by ordinal."""
    instance_uuids: pulumi.Output[list[str]]
    """vCenter's instance uuid of each, by ordinal: what identifies a machine in vCenter."""

    def __init__(
        self,
        name: str,
        args: VsphereGpuNodeGroupArgs,
        opts: pulumi.ResourceOptions | None = None,
        *,
        compiled: Pool | None = None,
    ) -> None:
        """Make the machines.

        Args:
            name: Name of the component, unique in its stack.
            args: Declaration and connection.
            opts: Options.
            compiled: What the declaration means within its fleet, when the caller has compiled the
                whole fleet. Default: the pool on its own.

        Raises:
            InvalidArgumentsError: the declaration has an error; the text holds all of them.
        """
        component = f'VsphereGpuNodeGroup "{name}"'
        given = declared(component, VsphereGpuNodeGroupArgs, cast("Mapping[str, Any]", args))
        pool = compiled or _compile(component, given)
        connection: dict[str, Any] = given["connection"]
        names = _names(component, given.get("namePrefix", "gpu"), pool)
        if wrong := judge_first_boot(connection):
            refuse(component, wrong)
        inputs = machine_inputs(pool)
        super().__init__("gpufleet:index:VsphereGpuNodeGroup", name, {}, opts)
        self._spec: GpuPoolArgs = args["pool"]
        options = pool.spec.vsphere or VsphereOptions(cpus=1, memory_gib=4, template="none")
        made: list[VsphereGpuNode] = []
        for ordinal, node_name in enumerate(names):
            lane = ordinal - options.rollout_width
            made.append(
                VsphereGpuNode(
                    f"{name}-{ordinal}",
                    {
                        **inputs,
                        "owner": _owner(name, ordinal),
                        "name": node_name,
                        "endpoint": {k: connection[k] for k in _ENDPOINT if k in connection},
                        "place": _place(connection, options),
                        **first_boot(pool, connection, node_name),
                    },
                    pulumi.ResourceOptions(
                        parent=self, depends_on=[] if lane < 0 else [made[lane]]
                    ),
                )
            )
        self.nodes = tuple(made)
        self.node_names = pulumi.Output.from_input(list(names))
        self.provider_ids = pulumi.Output.all(*(node.provider_id for node in made))
        self.instance_uuids = pulumi.Output.all(*(node.instance_uuid for node in made))
        self.register_outputs(
            {
                "nodeNames": self.node_names,
                "providerIds": self.provider_ids,
                "instanceUuids": self.instance_uuids,
            }
        )

    @property
    def spec(self) -> GpuPoolArgs:
        """The pool's declaration, to hand on to other components: `GpuAddons` takes a list."""
        return self._spec


def _compile(component: str, given: Mapping[str, Any]) -> Pool:
    result = compile_data(
        {
            "catalogue": given["catalogue"],
            "platform": "vsphere",
            "cluster": {"name": "cluster"},
            "pools": [given["pool"]],
            "addons": given.get("addons", {}),
        }
    )
    if result.fleet is None or not result.deployable:
        refuse(component, result.findings)
    return result.fleet.pools[0]


def _names(component: str, prefix: str, pool: Pool) -> tuple[str, ...]:
    try:
        return machine_names(prefix, pool)
    except ValueError as problem:
        refuse(component, [error("vsphere-name-too-long", "namePrefix", str(problem))])


def _owner(name: str, ordinal: int) -> str:
    """Identity of a machine. The names of the project are its own: another stack with the same
    names on the same vCenter would be this one."""
    project = f"{pulumi.get_organization()}/{pulumi.get_project()}/{pulumi.get_stack()}"
    return f"{project}/{name}/{ordinal}"


def _place(connection: Mapping[str, Any], options: VsphereOptions) -> dict[str, Any]:
    place: dict[str, Any] = {
        "datacenter": connection["datacenter"],
        "cluster": connection["computeCluster"],
        "template": options.template,
        "resourcePool": connection.get("resourcePool"),
        "network": connection.get("network"),
        "datastore": options.datastore,
        "folder": options.folder,
        "hosts": list(options.hosts),
    }
    return {key: value for key, value in place.items() if value not in (None, [])}
