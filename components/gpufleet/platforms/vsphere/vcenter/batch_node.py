"""VsphereGpuNodeBatch: the machines of a group that are new, made together."""

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi

from gpufleet.platforms.vsphere.vcenter.node import formerly, generation, secrets_of

OWNER = "gpufleet:vsphere:MachineOwner"
BATCH = "gpufleet:vsphere:MachineBatch"
"""Types: the package's plugin serves them (`platforms/vsphere/resources.py`)."""


class VsphereGpuNodeOwner(pulumi.CustomResource):
    """Id of a group of machines: which stack, of which backend, they belong to.

    Removing it removes all machines that carry the id and that no resource removed before.
    """

    life: pulumi.Output[str]
    """The id, made once."""

    def __init__(
        self,
        name: str,
        group: str,
        common: Mapping[str, Any],
        width: int,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """Make the id.

        Args:
            name: Name of the resource.
            group: Owner of the group: each machine's owner begins with it.
            common: Inputs of a machine that all have in common.
            width: Machines that are removed at the same time.
            opts: Options.
        """
        given = {"group": group, "common": dict(common), "width": width, "life": None}
        super().__init__(OWNER, name, given, opts)


class VsphereGpuNodeBatch(pulumi.CustomResource):
    """Makes machines that `VsphereGpuNode` resources then find and take over.

    The resources must depend on it. It never touches a machine that a resource has taken over:
    changing, replacing and removing those is theirs.
    """

    def __init__(
        self,
        name: str,
        group: str,
        common: Mapping[str, Any],
        nodes: Sequence[Mapping[str, Any]],
        width: int,
        preflight: str,
        life: pulumi.Input[str],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """Make the machines.

        Args:
            name: Name of the resource.
            group: Owner of the group: each machine's owner begins with it.
            common: Inputs of a machine that all have in common.
            nodes: Inputs of each machine that are its own, `name` and `owner` among them.
            width: Machines that are made at the same time.
            preflight: `preview`: vCenter is asked in the preview whether new machines can be made;
                `create`: not before they are.
            life: Id of the stack.
            opts: Options.
        """
        listed = [
            {
                **node,
                **secrets_of(node),
                "generation": generation({**common, **node}),
            }
            for node in nodes
        ]
        super().__init__(
            BATCH,
            name,
            {
                "group": group,
                "common": dict(common),
                "nodes": listed,
                "width": width,
                "preflight": preflight,
                "life": life,
            },
            formerly("VsphereGpuNodeBatch", opts),
        )
