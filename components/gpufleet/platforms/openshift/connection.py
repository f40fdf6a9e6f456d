"""What pools on OpenShift are wired to: the cluster's place on its vCenter."""

from collections.abc import Iterator, Mapping
from typing import Any, NotRequired, TypedDict

import pulumi

from gpufleet.findings import Finding, error
from gpufleet.fleet import Pool
from gpufleet.platforms.openshift.machine_set_manifest import CREDENTIALS, USER_DATA, MachinePlace


class OpenShiftConnectionArgs(TypedDict):
    """Where an OpenShift cluster's machines are on its vCenter, as its own MachineSets say it."""

    infrastructure_name: pulumi.Input[str]
    """Name of the cluster's infrastructure, `lab-x7k2p`: `oc get infrastructure cluster -o
    jsonpath={.status.infrastructureName}`."""
    server: pulumi.Input[str]
    """vCenter."""
    datacenter: pulumi.Input[str]
    """Datacenter."""
    network: pulumi.Input[str]
    """Port group of the machines."""
    datastore: NotRequired[pulumi.Input[str]]
    """Datastore of the disks. Default: the template's."""
    folder: NotRequired[pulumi.Input[str]]
    """Folder of the machines, absolute: `/<datacenter>/vm/<folder>`. Default: the template's."""
    resource_pool: NotRequired[pulumi.Input[str]]
    """Resource pool, `/<datacenter>/host/<cluster>/Resources`. Default: the template's."""
    credentials_secret: NotRequired[pulumi.Input[str]]
    """Secret with the vCenter's credentials, in `openshift-machine-api`. Default
    `vsphere-cloud-credentials`, which every cluster has."""
    user_data_secret: NotRequired[pulumi.Input[str]]
    """Secret with the workers' Ignition, in `openshift-machine-api`. Default `worker-user-data`,
    which every cluster has."""


def machine_place(connection: Mapping[str, Any]) -> MachinePlace:
    """A connection, in the spelling of files, as rendering takes it."""
    return MachinePlace(
        infrastructure=connection["infrastructureName"],
        server=connection["server"],
        datacenter=connection["datacenter"],
        network=connection["network"],
        datastore=connection.get("datastore"),
        folder=connection.get("folder"),
        resource_pool=connection.get("resourcePool"),
        credentials=connection.get("credentialsSecret", CREDENTIALS),
        user_data=connection.get("userDataSecret", USER_DATA),
    )


def validate_place(pool: Pool, connection: Mapping[str, Any], place: str) -> Iterator[Finding]:
    """What the machine API would refuse of the connection, as far as its values are known.

    `place` is the path of the connection.
    """
    datacenter = connection.get("datacenter")
    own = None if pool.spec.openshift is None else pool.spec.openshift.folder
    folder, where = connection.get("folder"), f"{place}.folder"
    if own is not None:
        folder, where = own, f"{pool.path}.openshift.folder"
    if not isinstance(folder, str) or not isinstance(datacenter, str):
        return
    if not folder.startswith(f"/{datacenter}/vm/"):
        yield error(
            "openshift-folder-not-absolute",
            where,
            f"{folder!r} is not below /{datacenter}/vm/, and the machine API takes absolute paths",
            f"write /{datacenter}/vm/{folder.strip('/').rsplit('/', 1)[-1]}",
            found=folder,
        )
