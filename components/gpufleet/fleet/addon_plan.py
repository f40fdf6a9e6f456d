"""The plan of cluster-wide add-ons, from the pools and the overrides of the declaration."""

from collections.abc import Sequence
from dataclasses import dataclass

from gpufleet.catalogue import Catalogue
from gpufleet.cluster.pods import PodToleration
from gpufleet.contract.feature_discovery import DiscoveryOwner
from gpufleet.contract.mig_mode import needs_reset
from gpufleet.contract.owners import OwnedParts, Owner, cuts_mig, operator_installed
from gpufleet.contract.platform import PlatformValue
from gpufleet.contract.tolerations import needed
from gpufleet.fleet.model import (
    GPU_OPERATOR,
    GPU_TAINT,
    NETWORK_OPERATOR,
    NEURON_TAINT,
    TPU_TAINT,
    AddonPlan,
    DevicePluginPlan,
    NetworkPlan,
    NeuronPlan,
    OperatorPlan,
    Pool,
)
from gpufleet.fleet.neuron import is_neuron
from gpufleet.fleet.platform_rules import PlatformRules, platform_rules
from gpufleet.spec.base import Ownership
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.network_operator import RdmaResource
from gpufleet.spec.pool import Fabric

DEFAULT_RDMA = "rdma_shared_device_a"
"""Resource of RDMA pools that declare none: the name in NVIDIA's own examples."""


@dataclass(frozen=True, slots=True)
class AddonPlanner:
    """What the plan of a fleet's add-ons follows from."""

    spec: FleetSpec
    platform: PlatformValue
    pools: Sequence[Pool]
    parts: OwnedParts
    """The parts that the GPU Operator installs."""
    strategy: str
    """The cluster's MIG strategy."""
    discovery: DiscoveryOwner
    catalogue: Catalogue

    def plan(self) -> AddonPlan:
        """The plan."""
        operator, network = self._operator(), self._network()
        own = self.discovery is DiscoveryOwner.OWN_OPERATOR
        subscriptions = self._rules.subscriptions(self.spec, operator, network, own, self.catalogue)
        plugin, neuron = self._device_plugin(operator, network), self._neuron()
        return AddonPlan(operator, network, plugin, neuron, tuple(subscriptions))

    @property
    def _rules(self) -> PlatformRules:
        return platform_rules(self.platform)

    @property
    def _operated(self) -> list[Pool]:
        return [one for one in self.pools if not one.served_by_platform and not is_neuron(one.gpu)]

    @property
    def _tolerations(self) -> tuple[PodToleration, ...]:
        return needed(
            (taint.key, taint.effect)
            for pool in self._operated
            for taint in pool.taints
            if taint not in (GPU_TAINT, TPU_TAINT)
        )

    def _neuron(self) -> NeuronPlan:
        declared = self.spec.addons.neuron_device_plugin
        chart = self.catalogue.chart("neuron-helm-chart")
        served = [
            pool for pool in self.pools if is_neuron(pool.gpu) and not pool.served_by_platform
        ]
        return NeuronPlan(
            enabled=bool(served) if declared.enabled is None else declared.enabled,
            ownership=declared.ownership,
            version=declared.version or chart.version,
            namespace=chart.namespace,
            scheduler=declared.scheduler,
            node_problem_detector=declared.node_problem_detector,
            node_recovery=declared.node_recovery,
            tolerations=needed(
                (taint.key, taint.effect)
                for pool in served
                for taint in pool.taints
                if taint != NEURON_TAINT
            ),
        )

    def _operator(self) -> OperatorPlan:
        operated, parts = self._operated, self.parts
        declared = self.spec.addons.gpu_operator
        chart = self.catalogue.chart(GPU_OPERATOR)
        host = self._rules.operator_host(self.spec, operated)
        # A pool that was partitioned until now needs the MIG manager too, to switch MIG mode off.
        cuts = [
            partition
            for pool in operated
            for partition in (pool.partition, pool.previous and pool.previous.partition)
            if partition is not None
        ]
        mig = cuts_mig(cuts)
        licences = {p.vgpu.license_secret for p in cuts if p.vgpu is not None} - {None}
        return OperatorPlan(
            enabled=operator_installed(declared, parts, cuts),
            ownership=declared.ownership,
            version=declared.version or chart.version,
            namespace=self._rules.operator_namespace(GPU_OPERATOR, chart.namespace, self.catalogue),
            driver=parts.driver,
            toolkit=parts.toolkit,
            device_plugin=parts.device_plugin,
            mig_manager=mig
            if declared.mig_manager.enabled is None
            else declared.mig_manager.enabled,
            mig_strategy=self.strategy,
            dcgm_exporter=declared.dcgm_exporter.enabled is not False,
            node_feature_discovery=self.discovery is DiscoveryOwner.GPU_OPERATOR,
            tolerations=self._tolerations,
            license_secret=min(licences, key=str, default=None),
            driver_root=host.driver_root,
            toolkit_env=host.toolkit_env,
            mig_env={**_reboot(operated), **declared.mig_manager.env},
            separate_drivers=parts.driver
            and declared.driver.data_center is not None
            and len({pool.partition.vgpu is None for pool in operated}) > 1,
        )

    def _network(self) -> NetworkPlan:
        declared = self.spec.addons.network_operator
        chart = self.catalogue.chart(NETWORK_OPERATOR)
        with_rdma = rdma_pools(self.pools)
        rdma = declared.rdma
        if rdma is None:
            implied = with_rdma and not declared.sriov
            rdma = (RdmaResource(name=DEFAULT_RDMA),) if implied else ()
        there_already = any(nodes_exist_already(pool) for pool in with_rdma)
        return NetworkPlan(
            enabled=network_operator_present(self.spec, self.platform),
            ownership=declared.ownership,
            version=declared.version or chart.version,
            namespace=self._rules.operator_namespace(
                NETWORK_OPERATOR, chart.namespace, self.catalogue
            ),
            node_feature_discovery=self.discovery is DiscoveryOwner.NETWORK_OPERATOR,
            rdma=rdma,
            wait=there_already if declared.wait is None else declared.wait,
            there=self.platform.facts.network_parts,
            tolerations=self._tolerations,
        )

    def _device_plugin(self, operator: OperatorPlan, network: NetworkPlan) -> DevicePluginPlan:
        declared = self.spec.addons.device_plugin
        chart = self.catalogue.chart("nvidia-device-plugin")
        # The first installed chart includes Node Feature Discovery; the others use it.
        elsewhere = (
            self.discovery is DiscoveryOwner.CLUSTER
            or (operator.enabled and operator.node_feature_discovery)
            or (network.enabled and network.node_feature_discovery)
        )
        said = declared.node_feature_discovery.enabled
        return DevicePluginPlan(
            enabled=declared.enabled is True,
            ownership=declared.ownership,
            version=declared.version or chart.version,
            namespace=chart.namespace,
            mig_strategy=self.strategy,
            gpu_feature_discovery=declared.gpu_feature_discovery.enabled is not False,
            node_feature_discovery=not elsewhere if said is None else said,
            pools=tuple(
                pool.name
                for pool in self._operated
                if pool.partition.dra is None and pool.owners.device_plugin is Owner.PLUGIN_CHART
            ),
            tolerations=self._tolerations,
        )


def _reboot(operated: Sequence[Pool]) -> dict[str, str]:
    """A reboot by the MIG manager for pools of our own virtual machines, which may refuse the reset
    that switches MIG mode (GPU Operator documentation, MIG: "In a CSP environment"; its script
    tries the reset first). Nodes that gpufleet does not create reboot only if declared."""
    may_refuse = any(
        needs_reset(pool.gpu)
        and pool.platform.facts.reset_may_be_forbidden
        and not pool.platform.facts.nodes_exist
        and pool.ownership is not Ownership.EXISTING
        and cuts_mig([pool.partition, *([pool.previous.partition] if pool.previous else [])])
        for pool in operated
    )
    return {"WITH_REBOOT": "true"} if may_refuse else {}


def network_operator_present(spec: FleetSpec, platform: PlatformValue) -> bool:
    """Whether the cluster has the Network Operator: as declared, else if it has RDMA pools."""
    declared = spec.addons.network_operator.enabled
    if declared is not None:
        return declared
    served = platform.facts.rdma_by_network_operator
    return served and any(pool.fabric is Fabric.RDMA for pool in spec.pools)


def rdma_pools(pools: Sequence[Pool]) -> list[Pool]:
    """Pools whose NICs the Network Operator serves."""
    return [
        pool
        for pool in pools
        if pool.fabric is Fabric.RDMA and pool.platform.facts.rdma_by_network_operator
    ]


def nodes_exist_already(pool: Pool) -> bool:
    """Whether nodes of the pool exist before the add-ons: gpufleet does not create them, and at
    least one always runs."""
    existing = pool.ownership is Ownership.EXISTING or pool.platform.facts.nodes_exist
    return existing and pool.nodes.minimum > 0
