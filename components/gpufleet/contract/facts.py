"""What the contract knows about a pool and its cluster, and how a finding tells its reasons."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpufleet.catalogue import Catalogue
from gpufleet.catalogue.gpu import Gpu
from gpufleet.catalogue.model import Chart, InstanceType, NodeImage
from gpufleet.contract.contract_fact import ContractFact
from gpufleet.contract.platform import PlatformValue
from gpufleet.partition.partition import Partition
from gpufleet.spec.base import Ownership
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.pool import Fabric, GpuPool, Provisioner


def chain(*facts: ContractFact | None) -> list[dict[str, str]]:
    """The evidence of a finding: its facts in the order in which one leads to the next."""
    return [{"fact": one.fact, "source": one.source} for one in facts if one is not None]


@dataclass(frozen=True, slots=True)
class ContractPool:
    """One pool, as far as other layers have to agree with it."""

    name: str
    path: str
    spec: GpuPool
    platform: PlatformValue
    provisioner: Provisioner
    gpu: Gpu
    gpus_per_node: int
    instances: tuple[InstanceType, ...]
    """Rows of the catalogue; empty for own hardware."""
    partition: Partition
    image: NodeImage | None
    """What is left of the image once the platform's own stack is off."""
    taints: tuple[tuple[str, str, str], ...]
    """Key, value and effect of every taint of its nodes."""
    served_by_platform: bool
    plugin_chart: bool = False
    """Whether the device plugin's own chart serves it, instead of the GPU Operator."""

    @property
    def operated(self) -> bool:
        """Whether the GPU Operator's operands, or the plugin's own chart, serve its nodes."""
        return self.gpu.vendor == "nvidia" and not self.served_by_platform

    @property
    def fabric(self) -> Fabric:
        """Network between its nodes."""
        return self.spec.fabric

    @property
    def advertised(self) -> Mapping[str, int]:
        """Extended resources each node publishes."""
        return self.partition.advertised

    @property
    def existing(self) -> bool:
        """Whether someone else made the nodes."""
        return self.spec.ownership is Ownership.EXISTING

    @property
    def image_fact(self) -> ContractFact:
        """What the image brings."""
        if self.image is None:
            return ContractFact(f"{self.name} runs on an unknown image", f"{self.path}.image")
        return image_fact(self.name, self.image)


def image_fact(pool: str, image: NodeImage) -> ContractFact:
    """What an image brings to the nodes of a pool."""
    named = {"driver": image.driver, "toolkit": image.toolkit, "device plugin": image.device_plugin}
    has = ", ".join(name for name, there in named.items() if there) or "no part of the GPU stack"
    return ContractFact(
        f"{pool} runs image {image.key}, which brings {has}", f"catalogue image {image.key}"
    )


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """The cluster that all pools share."""

    spec: FleetSpec
    platform: PlatformValue
    pools: tuple[ContractPool, ...]
    operator_chart: Chart
    network_chart: Chart
    catalogue: Catalogue

    @property
    def operated(self) -> tuple[ContractPool, ...]:
        """Pools on whose nodes the GPU Operator's operands run."""
        return tuple(pool for pool in self.pools if pool.operated)
