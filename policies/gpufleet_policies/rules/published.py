"""Resources that nodes of a pool publish: from the pool, the operator, layouts and sharing."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from gpufleet.catalogue import Gpu
from gpufleet.catalogue.gpu import MigGeometry
from gpufleet.cluster.container import GPU
from gpufleet.cluster.fact import Fact, absent, unknown
from gpufleet.cluster.nvidia import (
    MigEntry,
    MigLayouts,
    NvidiaConfig,
    OperatorChoices,
    SharingConfig,
)
from gpufleet.cluster.pool import Maker, NodePool
from gpufleet.contract.relation import DEVICE_PLUGIN
from gpufleet.findings.finding import Provenance
from gpufleet.partition.grant import UNDIVIDED, Division, Grant, grant
from gpufleet.partition.profile_name import resource_of, total
from gpufleet.rules.context import RuleContext, once
from gpufleet_policies.readers.blocks import word
from gpufleet_policies.readers.nvidia_configs import parsed
from gpufleet_policies.rules.checked import MIG_LABEL

PLUGIN_LABEL = "nvidia.com/device-plugin.config"

Layout = Mapping[str, int]
_WITHOUT_MIG: Layout = {}


@dataclass(frozen=True, slots=True)
class AdvertisedDevices:
    """Extended resources of one node, with the device behind each."""

    grants: tuple[Grant, ...]
    """Grant of one unit of each resource."""
    layouts: tuple[Layout, ...]
    """Profiles of each GPU; empty: a whole GPU."""
    because: str

    @property
    def resources(self) -> Mapping[str, int]:
        """Resource -> units of a node."""
        counts: Counter[str] = Counter()
        for one in self.grants:
            counts[one.resource] += one.per_node
        return counts

    @property
    def replicas(self) -> Mapping[str, int]:
        """Resource -> pods that share each device; 1 where it is one pod's own."""
        return {one.resource: one.replicas for one in self.grants}


def strategy(context: RuleContext, pool: NodePool | None = None) -> Fact[str]:
    """MIG strategy of the cluster, or of the nodes of a pool; unknown where several installations,
    or configurations of the device plugin, disagree."""
    if context.surroundings is None:
        return unknown("mig.strategy")
    pools = context.declared(NodePool) if pool is None else (pool,)
    labels = {one.labels.get(PLUGIN_LABEL) for one in pools} or {None}
    found = {
        _in_force(context, choice, label)
        for choice in context.declared(OperatorChoices)
        for label in labels
    }
    if len({one.found for one in found}) > 1 or any(one.is_unknown for one in found):
        return unknown("mig.strategy")
    return found.pop() if found else absent("mig.strategy")


def _in_force(context: RuleContext, choices: OperatorChoices, label: str | None) -> Fact[str]:
    """The strategy of an installation on nodes with a label: an option or variable of the device
    plugin counts before its configuration (NVIDIA/k8s-device-plugin README, v0.17.0 api/config/v1
    UpdateFromCLIFlags). The GPU Operator always sets the variable."""
    own, chosen = choices.mig_strategy, choices.plugin_config_default
    if choices.installs != DEVICE_PLUGIN or (
        own.is_known and own.provenance is not Provenance.DEFAULT
    ):
        return own
    key = chosen.found if label is None else label
    if key is None:
        return unknown("config.default") if chosen.is_unknown else own
    return _configured(context).get(key, unknown("mig.strategy"))


@once
def _configured(context: RuleContext) -> Mapping[str, Fact[str]]:
    """Key of each configuration of the device plugin -> its MIG strategy."""
    return {
        one.key: word(parsed(one.text), "flags.migStrategy").or_default("none")
        if one.complete
        else unknown(one.place)
        for one in context.declared(NvidiaConfig)
        if one.kind == "device-plugin"
    }


def layout_name(context: RuleContext, pool: NodePool) -> str | None:
    """The mig-parted config of its nodes; None where it cannot be decided."""
    if MIG_LABEL in pool.labels:
        return pool.labels[MIG_LABEL]
    if not pool.labels_known:
        return None
    defaults = {
        choice.mig_config_default.value
        for choice in context.declared(OperatorChoices)
        if choice.mig_config_default.is_known
    }
    return defaults.pop() if len(defaults) == 1 else None


def geometry(context: RuleContext, pool: NodePool) -> MigGeometry | None:
    """MIG geometry of the pool's GPU; None without MIG, or where the GPU is not known."""
    gpu = context.catalogue.gpus.get(pool.gpu.found or "")
    return None if gpu is None else gpu.mig


def layouts_of(context: RuleContext, pool: NodePool, name: str) -> tuple[Layout, ...] | None:
    """Profiles of each GPU of a node under a config; None where it is not known."""
    if not pool.gpus_per_node.is_known:
        return None
    count = pool.gpus_per_node.value
    if name in ("all-disabled", "all-enabled"):
        return (_WITHOUT_MIG,) * count
    declared = [one.layouts[name] for one in context.declared(MigLayouts) if name in one.layouts]
    if declared:
        return _applied(context, pool, declared[-1], count)
    shape = geometry(context, pool)
    if shape is None:
        return None
    if name == "all-balanced":
        return (dict(shape.balanced),) * count
    profile = name.removeprefix("all-")
    if name.startswith("all-") and profile in shape.profiles:
        return ({profile: shape.profiles[profile].max_instances},) * count
    return None


def _applied(
    context: RuleContext, pool: NodePool, entries: tuple[MigEntry, ...], count: int
) -> tuple[Layout, ...] | None:
    own: list[Layout] = [{} for _ in range(count)]
    for entry in entries:
        if entry.filters and not _matches(context, pool, entry.filters):
            continue
        indices = range(count) if entry.all_devices else entry.indices
        for index in indices:
            if 0 <= index < count:
                own[index] = dict(entry.devices) if entry.enabled else {}
    return tuple(own)


def _matches(context: RuleContext, pool: NodePool, filters: tuple[str, ...]) -> bool:
    if not pool.gpu.is_known:
        return True
    ids = {one.lower() for one in context.catalogue.gpu(pool.gpu.value).pci_device_ids}
    return any(one.lower().partition(":")[0] in ids for one in filters)


def sharing_for(context: RuleContext, pool: NodePool) -> tuple[SharingConfig, ...] | None:
    """Sharing configurations of its nodes; None where it cannot be decided."""
    if context.surroundings is None:
        return None
    configs = context.declared(SharingConfig)
    key = pool.labels.get(PLUGIN_LABEL)
    if key is not None:
        found = tuple(config for config in configs if config.key == key)
        return found if found or key in _configured(context) else None
    if not configs:
        return ()
    if not pool.labels_known:
        return None
    defaults = {
        choice.plugin_config_default.value
        for choice in context.declared(OperatorChoices)
        if choice.plugin_config_default.is_known
    }
    return tuple(config for config in configs if config.key in defaults)


@once
def published(context: RuleContext, pool: NodePool) -> AdvertisedDevices | None:
    """Resources that a node of the pool publishes; None where any part is not known."""
    if pool.compiled is not None:
        compiled = pool.compiled
        return AdvertisedDevices(compiled.shares, compiled.layouts, "the fleet's declaration")
    if not pool.gpus_per_node.is_known:
        return None
    if pool.maker is Maker.GKE:
        return _on_gke(context, pool)
    name = layout_name(context, pool)
    layouts: tuple[Layout, ...] = (_WITHOUT_MIG,) * pool.gpus_per_node.value
    if name is not None:
        found = layouts_of(context, pool, name)
        if found is None:
            return None
        layouts = found
    elif not _without_mig(context, pool):
        return None
    devices = _counted(strategy(context, pool), layouts)
    sharing = sharing_for(context, pool)
    if devices is None or sharing is None:
        return None
    because = f"mig-parted config {name}" if name and any(layouts) else "its hardware"
    found = _granted(context, pool, devices, sharing)
    return None if found is None else AdvertisedDevices(found, layouts, because)


def _without_mig(context: RuleContext, pool: NodePool) -> bool:
    """Whether nothing can partition these GPUs. Another program may install an operator for it."""
    if geometry(context, pool) is not None:
        return False
    if pool.gpu.is_known:
        return not context.catalogue.gpu(pool.gpu.value).has_mig
    names = pool.instance_types.value if pool.instance_types.is_known else ()
    rows = [context.catalogue.instances.get(name) for name in names]
    return bool(rows) and all(
        row is not None and not context.catalogue.gpu(row.accelerator.gpu).has_mig for row in rows
    )


_Devices = list[tuple[str, str | None, int]]
"""Resource before shares are renamed, MIG profile, devices of a node."""


def _counted(chosen: Fact[str], layouts: tuple[Layout, ...]) -> _Devices | None:
    cut = [layout for layout in layouts if layout]
    if not cut:
        return [(GPU, None, len(layouts))]
    if not chosen.is_known:
        return None
    if chosen.value == "none":
        return [(GPU, None, len(layouts))]
    whole, slices = len(layouts) - len(cut), total(cut)
    if chosen.value == "single":
        return [(GPU, profile, count) for profile, count in slices.items()]
    named = [(resource_of(profile), profile, count) for profile, count in slices.items()]
    return [*([(GPU, None, whole)] if whole else []), *named]


def _granted(
    context: RuleContext, pool: NodePool, devices: _Devices, sharing: tuple[SharingConfig, ...]
) -> tuple[Grant, ...] | None:
    divisions: dict[str, Division] = {}
    for config in sharing:
        for entry in config.resources:
            if entry.name not in {resource for resource, _, _ in devices}:
                continue
            if entry.replicas is None or not config.rename_by_default.is_known:
                return None
            rename = config.rename_by_default.value
            divisions[entry.name] = Division(entry.replicas, config.mode == "mps", rename)
    gpu, size = _device(context, pool)
    return tuple(
        grant(
            gpu,
            count,
            profile=profile,
            resource=resource,
            device_bytes=size if profile is None else None,
            division=divisions.get(resource, UNDIVIDED),
        )
        for resource, profile, count in devices
    )


def _device(context: RuleContext, pool: NodePool) -> tuple[Gpu | None, int | None]:
    """The GPU of a pool, and its memory where it is not a whole one: a vGPU, or a part that a cloud
    sells. Of several machine types the largest counts."""
    if pool.vgpu_profile.is_known:
        # Its grammar is in the module of the geometry: imported only for pools with a vGPU type.
        from gpufleet.partition.vgpu import parse_type

        found = parse_type(pool.vgpu_profile.value)
        return None, None if found is None else found.gigabytes << 30
    gpu = context.catalogue.gpus.get(pool.gpu.value) if pool.gpu.is_known else None
    types = pool.instance_types.value if pool.instance_types.is_known else ()
    rows = [row for name in types if (row := context.catalogue.instances.get(name)) is not None]
    sizes = [context.catalogue.device_memory(row) for row in rows if row.accelerator.count]
    return gpu, max((size for size in sizes if size is not None), default=None)


def _on_gke(context: RuleContext, pool: NodePool) -> AdvertisedDevices | None:
    """GKE publishes slices and shares both as nvidia.com/gpu."""
    count = pool.gpus_per_node.value
    layouts: tuple[Layout, ...] = (_WITHOUT_MIG,) * count
    shared = pool.shared
    if shared.partition.is_unknown or shared.replicas.is_unknown:
        return None
    profile, parts = shared.partition.found, 1
    if profile is not None:
        sizes = _partitions(context, pool)
        if profile not in sizes:
            return None
        parts = sizes[profile]
        layouts = ({profile: parts},) * count
    gpu, size = _device(context, pool)
    one = grant(
        gpu,
        count * parts,
        profile=profile,
        resource=GPU,
        device_bytes=size if profile is None else None,
        division=Division(shared.replicas.found or 1, is_mps=shared.strategy.found == "mps"),
    )
    return AdvertisedDevices((one,), layouts, "the node pool's accelerators")


def _partitions(context: RuleContext, pool: NodePool) -> Mapping[str, int]:
    if not pool.instance_types.is_known:
        return {}
    row = context.catalogue.instances.get(pool.instance_types.value[0])
    return {} if row is None else row.offered_partition_sizes
