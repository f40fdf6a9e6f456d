"""Settings of a stack file: the fleet, and the connection to its cluster."""

import os
from functools import cache
from pathlib import Path
from typing import Any, Literal

import pulumi
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

SANDBOX_FOLDER = "GPUFLEET_SANDBOX"
"""Environment variable that names the sandbox's folder; default `.sandbox` next to Pulumi.yaml."""


@cache
def cluster_stack(name: str) -> pulumi.StackReference:
    """The stack that made the cluster: a program refers to it once."""
    return pulumi.StackReference(name)


class OpenShiftFailureDomain(BaseModel):
    """Place of machines in a failure domain; what is left out is the cluster's."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel)

    server: str | None = None
    datacenter: str | None = None
    network: str | None = None
    datastore: str | None = None
    folder: str | None = None
    resource_pool: str | None = None
    vm_group: str | None = None
    """DRS group of virtual machines, where the domain is a group of hosts."""


class OpenShiftPlace(BaseModel):
    """Place of an OpenShift cluster's machines on its vCenter, from its own MachineSets."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel)

    infrastructure_name: str | None = None
    """Name of the cluster's infrastructure. With `clusterStack`: its output of this name."""
    server: str
    """vCenter."""
    datacenter: str
    network: str
    """Port group of the machines."""
    datastore: str | None = None
    folder: str | None = None
    """Absolute: `/<datacenter>/vm/<folder>`."""
    resource_pool: str | None = None
    failure_domains: dict[str, OpenShiftFailureDomain] | None = None
    """Failure domain -> place, for pools that name it in `zones`."""


class OpenShiftAwsPlace(BaseModel):
    """Place of an OpenShift cluster's machines on AWS, from its own MachineSets."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel)

    infrastructure_name: str | None = None
    """Name of the cluster's infrastructure. With `clusterStack`: its output of this name."""
    iam_instance_profile: str
    ami_id: str | None = None
    """Image of Red Hat CoreOS in the cluster's region."""
    subnet_ids_by_zone: dict[str, str] | None = None
    subnet_names_by_zone: dict[str, str] | None = None
    """Zone -> value of the tag `Name` of a subnet."""
    security_group_ids: list[str] | None = None
    security_group_names: list[str] | None = None
    """Values of the tag `Name` of security groups."""


class OpenShiftGcpPlace(BaseModel):
    """Place of an OpenShift cluster's machines on Google Cloud, from its own MachineSets."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel)

    infrastructure_name: str | None = None
    """Name of the cluster's infrastructure. With `clusterStack`: its output of this name."""
    project_id: str
    network: str
    subnetwork: str
    service_account: str
    """E-mail of the service account of workers."""
    image: str | None = None
    """Disk image of Red Hat CoreOS."""
    network_project_id: str | None = None
    network_tags: list[str] | None = None


class VsphereJoin(BaseModel):
    """How machines join their cluster; the token is the secret setting `gpufleet:joinToken`."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel)

    method: str
    """`kubeadm`, `rke2`, `k3s` or `openshift`."""
    endpoint: str
    ca_cert_hashes: list[str] | None = None
    ca_certificate: str | None = None


class VsphereKubernetes(BaseModel):
    """The cluster of machines on vSphere, if gpufleet may query it."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel)

    kubeconfig: str
    """Path; its content never reaches the state."""
    context: str | None = None
    ready_seconds: int | None = None
    drain_seconds: int | None = None
    when_not_drained: str | None = None
    """`refuse` or `remove`."""


class VspherePlace(BaseModel):
    """A vCenter, and where in its inventory machines go."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel)

    server: str
    port: int | None = None
    insecure: bool | None = None
    credentials_key: str | None = None
    """Default `vsphere`: VSPHERE_USER and VSPHERE_PASSWORD."""
    ca_cert_file: str | None = None
    thumbprint_sha256: str | None = Field(default=None, alias="thumbprintSha256")
    datacenter: str
    compute_cluster: str
    resource_pool: str | None = None
    network: str | None = None
    network_adapter: str | None = None
    """`vmxnet3` or `e1000e`."""
    meta_data: dict[str, Any] | None = None
    """Part of cloud-init, not secret."""
    user_data_format: str | None = None
    """`cloudInit` or `ignition`."""
    join: VsphereJoin | None = None
    """Default: the template joins by itself."""
    kubernetes: VsphereKubernetes | None = None
    """With it a machine counts once its node is Ready, and is drained before it goes."""
    preflight: str | None = None
    """`preview` or `create`."""


class Connection(BaseModel):
    """Connection to the cluster's API server."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel)

    kubeconfig: Path | None = None
    """Kubeconfig file; relative to Pulumi.yaml. Default: the sandbox's."""
    context: str | None = None
    """Context of the kubeconfig. Default: its current one."""
    cluster_identifier: str = Field(default="sandbox", min_length=1)
    """Name that represents this cluster in the state. Address and certificates may change under
    it without anything being replaced; another name replaces everything. Default `sandbox`."""

    cluster_stack: str | None = None
    """Stack that made the cluster, `organization/project/stack`: what is not written here is read
    from its outputs of the same names, `kubeconfig` among them. Default: none."""
    node_role_arn: str | None = None
    """EKS: IAM role of the nodes."""
    subnet_ids_by_zone: dict[str, str] | None = None
    """EKS: zone -> private subnet. With `clusterStack`: the zones are still written here, each
    with the name of the output that holds the subnet's id."""
    vpc_id: str | None = None
    """EKS: network of the cluster."""
    cluster_security_group_id: str | None = None
    """EKS: security group that EKS made for the cluster."""
    project: str | None = None
    """GKE: Google Cloud project, where the spec names none."""
    location: str | None = None
    """GKE: zone of a zonal cluster. Default: the region."""
    service_account: str | None = None
    """GKE: e-mail of the nodes' service account. With `clusterStack`: its output
    `nodeServiceAccount`."""
    network_tags: list[str] | None = None
    """GKE: network tags of the nodes."""
    gpu_networks: dict[str, dict[Literal["network", "subnetwork"], str]] | None = None
    """GKE: networks of GPU interfaces, by the name pods use. With `clusterStack`: network and
    subnetwork are names of the outputs that hold them."""
    vsphere: VspherePlace | None = None
    """vSphere: place of machines, and how they join."""
    openshift: OpenShiftPlace | None = None
    """OpenShift on vSphere: where machines go."""
    openshift_aws: OpenShiftAwsPlace | None = None
    """OpenShift on AWS: where machines go."""
    openshift_gcp: OpenShiftGcpPlace | None = None
    """OpenShift on Google Cloud: where machines go."""

    def kubeconfig_file(self) -> Path:
        """Absolute path of the kubeconfig. Raises RunError without one."""
        root = Path(pulumi.get_root_directory())
        if self.kubeconfig is not None:
            file = root / self.kubeconfig.expanduser()
            advice = "correct gpufleet:connection.kubeconfig in the stack file"
        else:
            file = root / os.environ.get(SANDBOX_FOLDER, ".sandbox") / "kubeconfig"
            advice = "`make up` or `gpufleet sandbox up` brings up the sandbox and writes it"
        if not file.is_file():
            raise pulumi.RunError(f"there is no kubeconfig {file}: {advice}")
        return file

    def kubeconfig_text(self) -> Any:
        """The kubeconfig: a file's path, or the output `kubeconfig` of the cluster's stack."""
        if self.kubeconfig is None and self.cluster_stack is not None:
            return cluster_stack(self.cluster_stack).require_output("kubeconfig")
        return str(self.kubeconfig_file())


class Settings(BaseModel):
    """Everything this program reads."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel)

    fleet: dict[str, Any]
    """The FleetSpec; `gpufleet schema` describes it, GpuFleet validates it."""
    connection: Connection = Connection()


def load() -> Settings:
    """Read the stack's configuration. Raises RunError that names every misspelt or missing key."""
    config = pulumi.Config("gpufleet")
    given = {"fleet": config.get_object("fleet"), "connection": config.get_object("connection")}
    try:
        return Settings.model_validate({k: v for k, v in given.items() if v is not None})
    except ValidationError as problem:
        lines = [
            f"  gpufleet:{'.'.join(str(part) for part in detail['loc'])}: {detail['msg']}"
            for detail in problem.errors()
        ]
        raise pulumi.RunError("\n".join(["the stack file is wrong:", *lines])) from None
