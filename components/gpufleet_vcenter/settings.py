# pyright: standard
"""Settings of a vSphere GPU node: the inputs of the resource, parsed and validated together."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, TypeVar

from pulumi.output import Unknown
from pydantic import Field, StringConstraints, ValidationError, model_validator

from gpufleet.spec.base import SpecModel
from gpufleet.spec.platforms.vsphere import (
    MachineUuid,
    PciAddress,
    PciDeviceId,
    VsphereMachineOptions,
    VsphereNics,
    VspherePlaceOptions,
)
from gpufleet.spec.platforms.vsphere_devices import (
    LARGEST_DISK_GIB,
    MOST_NETWORKS,
    VsphereAdapter,
)
from gpufleet_vcenter.errors import VsphereError, said
from gpufleet_vcenter.guest_data import GUEST_DATA_LIMIT, StaticAddress, packed
from gpufleet_vcenter.properties import UNKNOWN

M = TypeVar("M", bound=SpecModel)

NVIDIA = 0x10DE
MELLANOX = 0x15B3
"""Vendor of ConnectX and BlueField (`lspci -nn` of a ConnectX-7: `15b3:1021`)."""


def device_kind(vendor: int, device: int) -> str:
    """The kind of a PCI device by one text: the device id of NVIDIA's GPUs, `20b5`; of another
    vendor `15b3:1021`. vCenter has ids as signed 16-bit numbers in places."""
    number = f"{device & 0xFFFF:04x}"
    return number if vendor & 0xFFFF == NVIDIA else f"{vendor & 0xFFFF:04x}:{number}"


Device = tuple[str, str, str]
"""A GPU, or a NIC by passthrough, as it is compared: its mode (`fixed`, `dynamic`, `vgpu`), its PCI
address, comma-separated kinds or profile, and its label."""


class FixedPassthrough(SpecModel):
    """Named PCI devices of one host: the machine can run there only."""

    mode: Literal["fixed"]
    pci_addresses: Annotated[tuple[PciAddress, ...], Field(min_length=1, max_length=16)]
    """Addresses on the host, `0000:3b:00.0`, 1 to 16."""


class DynamicPassthrough(SpecModel):
    """Any free devices of a kind (Dynamic DirectPath I/O, vSphere 7.0 and hardware version 17)."""

    mode: Literal["dynamic"]
    vendor: int = NVIDIA
    """PCI vendor id. Default NVIDIA's of GPUs."""
    device_ids: Annotated[tuple[PciDeviceId, ...], Field(min_length=1, max_length=8)]
    """PCI device ids of the vendor that will do, four hexadecimal digits each (`20b5`)."""
    label: str = Field(default="", max_length=80)
    """Hardware label the device must carry. Default: none."""
    count: int = Field(ge=1, le=16)
    """Devices of the machine, 1 to 16."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """Devices that will do, as `device_kind` names them."""
        return tuple(device_kind(self.vendor, int(one, 16)) for one in self.device_ids)


class SharedProfile(SpecModel):
    """vGPUs of one profile."""

    mode: Literal["vgpu"]
    profile: str = Field(min_length=1, max_length=80)
    """As the hosts offer it: `nvidia_a100d-10c`, `grid_a100d-3-40c`."""
    count: int = Field(default=1, ge=1, le=16)
    """vGPUs of the machine, 1 to 16. Default 1."""


GpuAttachment = Annotated[
    FixedPassthrough | DynamicPassthrough | SharedProfile, Field(discriminator="mode")
]


def devices_of(one: GpuAttachment) -> list[Device]:
    """Devices of a machine with this attachment."""
    if isinstance(one, FixedPassthrough):
        return [(one.mode, address, "") for address in one.pci_addresses]
    if isinstance(one, DynamicPassthrough):
        return [(one.mode, ",".join(sorted(one.kinds)), one.label)] * one.count
    return [(one.mode, one.profile, "")] * one.count


def nic_attachment(nics: VsphereNics) -> FixedPassthrough | DynamicPassthrough:
    """How a machine gets its NICs."""
    addresses, kinds = (
        [text.lower() for text in of] for of in (nics.pci_addresses, nics.device_ids)
    )
    if addresses:
        return FixedPassthrough.model_validate({"mode": "fixed", "pciAddresses": addresses})
    asked = {"label": nics.hardware_label, "count": nics.count, "deviceIds": kinds}
    return DynamicPassthrough.model_validate({"mode": "dynamic", "vendor": MELLANOX, **asked})


class KubernetesAccess(SpecModel):
    """The Kubernetes cluster that the machine is a node of, and the time-outs of its calls."""

    kubeconfig: str = Field(min_length=1, max_length=4096)
    """Path of a kubeconfig on the machine that runs Pulumi, `~` allowed. Its content never reaches
    the state."""
    context: str | None = Field(default=None, min_length=1, max_length=253)
    """Context to use. Default: the file's current one."""
    ready_seconds: int = Field(default=900, ge=1, le=86_400)
    """Longest a new machine may take to be a Ready node. Default 900."""
    drain_seconds: int = Field(default=900, ge=1, le=86_400)
    """Longest a node may take to be emptied before its machine is removed. Default 900."""
    when_not_drained: Literal["refuse", "remove"] = "refuse"
    """Action if a machine's node is not drained in time: the machine stays and the update fails, or
    it is removed with its pods. Default: refuse."""

    @model_validator(mode="after")
    def _is_a_path(self) -> Self:
        if "\n" in self.kubeconfig or "apiVersion" in self.kubeconfig:
            raise ValueError(said("fault/kubeconfig"))
        return self


class Endpoint(SpecModel):
    """A vCenter, and which credentials to use; never the credentials themselves."""

    server: str = Field(min_length=1, max_length=253)
    """Host name or address."""
    port: int = Field(default=443, ge=1, le=65_535)
    """Default 443."""
    insecure: bool = False
    """Accept any certificate. Default false."""
    ca_cert_file: str | None = None
    """PEM file of the authority that signed the certificate. Default: the system's."""
    thumbprint_sha256: (
        Annotated[str, StringConstraints(pattern=r"^([0-9A-F]{2}:){31}[0-9A-F]{2}$", to_upper=True)]
        | None
    ) = None
    """SHA-256 fingerprint the certificate must have, `AB:CD:…`. Default: not pinned."""
    credentials_key: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9]{0,30}$")] = "vsphere"
    """Which credentials: `vsphere` reads VSPHERE_USER and VSPHERE_PASSWORD, else the stack's secret
    settings `vsphere:user` and `vsphere:password`. Default vsphere."""
    plain_http: bool = False
    """Speak without TLS: only for a simulator on this machine. Default false."""

    @model_validator(mode="after")
    def _one_trust(self) -> Self:
        if self.insecure and (self.ca_cert_file or self.thumbprint_sha256):
            raise ValueError("insecure accepts every certificate: leave out caCertFile, thumbprint")
        if self.plain_http and self.server not in ("localhost", "127.0.0.1", "::1"):
            raise ValueError(f"plainHttp is for a simulator on this machine, not {self.server}")
        return self


class Place(VspherePlaceOptions):
    """Place in vCenter's inventory, by path or by name; an ambiguous name is an error."""

    datacenter: str = Field(min_length=1, max_length=200)
    cluster: str = Field(min_length=1, max_length=200)
    """Cluster, or standalone host."""
    resource_pool: str | None = Field(default=None, max_length=200)
    """Default: the cluster's root pool."""
    network: str | None = Field(default=None, max_length=200)
    """Network of the first adapter. Default: the template's."""
    adapter: Literal["vmxnet3", "e1000e"] | None = None
    """Type of the first adapter; another type is another adapter, with another MAC address.
    Default: the template's."""
    networks: Annotated[tuple[VsphereAdapter, ...], Field(max_length=MOST_NETWORKS)] = ()
    """All adapters, 1 to 10, in place of `network` and `adapter`. Default: from these two."""

    @property
    def adapters(self) -> tuple[tuple[str | None, str | None], ...]:
        """Network and type of each adapter that is declared; None: the template's."""
        if self.networks:
            return tuple((item.network, item.adapter) for item in self.networks)
        return ((self.network, self.adapter),)


class NodeSettings(VsphereMachineOptions):
    """All inputs of one machine of a group, whose pool the component has validated."""

    owner: str = Field(min_length=1, max_length=400)
    """`organisation/project/stack/group/ordinal`: part of the machine's id."""
    generation: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{12}$")]
    """Digest of the inputs that replace the machine: part of the machine's id."""
    life: str = Field(default="", max_length=64)
    """Id of the stack, made once and kept in its state: part of the machine's id. Default: unknown,
    as outside a deployment."""
    adopt: MachineUuid | None = None
    """Instance uuid of a machine of gpufleet that another stack made, and that becomes this one.
    Default: none; such a machine is never touched."""
    endpoint: Endpoint
    place: Place
    name: Annotated[
        str, StringConstraints(pattern=r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$", max_length=63)
    ]
    """Name of the machine and of the Kubernetes node."""
    memory_mib: int = Field(ge=1024, le=25_165_824, multiple_of=4)
    """All of it is reserved: a machine with GPUs cannot overcommit. Multiple of 4."""
    disk_gib: int | None = Field(default=None, ge=1, le=LARGEST_DISK_GIB)
    """First disk; not smaller than the template's. Default: the template's."""
    gpu: GpuAttachment
    gpu_memory_gib: int = Field(ge=1, le=1024)
    """Memory of each physical GPU as sold: sizes the MMIO window."""
    user_data: str | None = Field(default=None, repr=False)
    """cloud-init user data, or Ignition: secret, never in outputs. Default: none."""
    boot_sha256: str = Field(default="", max_length=64)
    """Digest of the first-boot data without expiring parts, such as a join token: if given, it
    decides in place of the data whether the machine is replaced. Default: the data decides."""
    user_data_format: Literal["cloudInit", "ignition"] = "cloudInit"
    vendor_data: str | None = Field(default=None, repr=False)
    """cloud-init vendor data, which user data overrides: secret, never in outputs. Default:
    none."""
    meta_data: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Further meta data of cloud-init, such as `network` for static addresses; not secret. Default:
    none."""
    addresses: tuple[StaticAddress, ...] = ()
    """Static addresses of its adapters. Default: DHCP."""
    kubernetes: KubernetesAccess | None = None
    """The cluster: a new machine counts once its node is Ready, and a node is drained before its
    machine is removed. Default: the cluster is not read."""

    @property
    def attachments(self) -> tuple[GpuAttachment, ...]:
        """GPUs, and NICs by passthrough."""
        return (self.gpu, *(() if self.nics is None else (nic_attachment(self.nics),)))

    @property
    def devices(self) -> list[Device]:
        """GPUs and NICs that the machine is to have."""
        return [device for one in self.attachments for device in devices_of(one)]

    @property
    def fixed_addresses(self) -> tuple[str, ...]:
        """PCI addresses on the host of all devices that are named."""
        return tuple(what for mode, what, _ in self.devices if mode == "fixed")

    @property
    def dynamic(self) -> tuple[DynamicPassthrough, ...]:
        """Devices that are named by their kind."""
        return tuple(one for one in self.attachments if isinstance(one, DynamicPassthrough))

    @property
    def group(self) -> str:
        """Owner of the whole group: the owner without its last part."""
        return self.owner.rpartition("/")[0]

    @model_validator(mode="after")
    def _fits_the_guest(self) -> Self:
        if self.vendor_data and self.user_data_format == "ignition":
            raise ValueError("vendorData is cloud-init's, and the first-boot data is Ignition")
        for name, text in (("userData", self.user_data), ("vendorData", self.vendor_data)):
            size = 0 if text is None else len(packed(text))
            if size > GUEST_DATA_LIMIT:
                raise ValueError(said("fault/size", name=name, size=size, limit=GUEST_DATA_LIMIT))
        return self


def normalised(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Properties as declared: whole floats become integers, nulls are absent, and unknown values
    are `UNKNOWN`, for which the SDK has an object (pulumi 3.272.0, `output.py`).

    The engine passes every number as a float, and pyVmomi refuses a float for an int.
    """
    return {key: _normal(value) for key, value in properties.items() if value is not None}


def _normal(value: Any) -> Any:
    if isinstance(value, Unknown):
        return UNKNOWN
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return normalised(value)
    if isinstance(value, (list, tuple)):
        return [_normal(item) for item in value]
    return value


def problems_of(model: type[SpecModel], given: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Errors: property and reason, never a value."""
    try:
        model.model_validate(given)
    except ValidationError as invalid:
        return [
            (".".join(map(str, row["loc"])), _reason(row))
            for row in invalid.errors(include_input=False, include_url=False)
        ]
    return []


def _reason(row: Any) -> str:
    """pydantic's text, except for the text that quotes the input."""
    if row["type"] == "union_tag_invalid":
        return f"{row['ctx']['discriminator']} must be one of {row['ctx']['expected_tags']}"
    return row["msg"].removeprefix("Value error, ")


def parsed(model: type[M], given: Mapping[str, Any], what: str) -> M:
    """The inputs, read.

    Args:
        what: What they are for, for the error: `the vCenter cannot be addressed`.

    Raises:
        VsphereError: they are not usable; the text names each problem and no secret.
    """
    if wrong := problems_of(model, given):
        listed = "; ".join(f"{path or 'inputs'}: {reason}" for path, reason in wrong)
        raise VsphereError("vsphere-fault", f"{what}: {listed}")
    return model.model_validate(given)
