"""Every difference between two fleets with its class. A difference without a class is unknown."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pydantic.alias_generators import to_snake

from gpufleet.catalogue.edition import read_rows
from gpufleet.change.differences import ABSENT, file_differences, files_differ, written
from gpufleet.change.plan import FieldDifference, NodeChangeKind
from gpufleet.fleet.leaf_class import LeafClass, class_of
from gpufleet.fleet.model import Fleet
from gpufleet.fleet.platform_rules import platform_rules
from gpufleet.render.dra_driver_values import needs_dra_driver
from gpufleet.spec.addons import CHARTS, Addon
from gpufleet.spec.base import Ownership
from gpufleet.spec.pool import Fabric, Provisioner

_KINDS = {
    LeafClass.REPLACEMENT: NodeChangeKind.NEW_NODES,
    LeafClass.ROLLING: NodeChangeKind.NEW_NODES,
    LeafClass.RESTART: NodeChangeKind.RESTART,
    LeafClass.UNKNOWN: NodeChangeKind.UNKNOWN,
    LeafClass.REFUSED: NodeChangeKind.UNKNOWN,
    LeafClass.NEW_NODES: NodeChangeKind.LIVE,
    LeafClass.LIVE: NodeChangeKind.LIVE,
}
_RELOADS = ("addons.gpuOperator.version", "addons.gpuOperator.values")
"""Another image of the driver manager is another driver pod: a release of the operator reloads the
driver even if its version stays (NVIDIA, Upgrading the GPU Operator, Prerequisites)."""


def cluster_differences(old: Fleet, new: Fleet) -> tuple[FieldDifference, ...]:
    """Differences outside pools: fields, and rendered files."""
    found = [
        replace(
            one,
            leaf_class=LeafClass.COMPILED if _is_empty(one) else _of_cluster(one.field, old, new),
        )
        for one in written(old.spec, new.spec, without=frozenset({"pools"}))
    ]
    return (*found, *file_differences(old, new))


def _of_cluster(field: str, old: Fleet, new: Fleet) -> LeafClass:
    section, _, name = field.partition(".")
    addon = name.split(".")[0].split("[")[0]
    idle = section == "addons" and addon in ADDONS
    if idle and not any(installed(fleet, addon) for fleet in (old, new)):
        return LeafClass.NONE
    found = class_of(field, CLUSTER)
    drivers = any(fleet.addons.gpu_operator.driver for fleet in (old, new))
    if field in _RELOADS and drivers:
        return LeafClass.DRIVER
    if found is LeafClass.DRIVER and addon == "gpuOperator" and not drivers:
        return LeafClass.OPERAND
    return found


def pool_differences(
    old: Fleet,
    new: Fleet,
    name: str,
    kind: NodeChangeKind,
    cluster: Sequence[FieldDifference],
    inputs: Sequence[FieldDifference],
) -> tuple[FieldDifference, ...]:
    """Differences of a pool that both fleets have. `kind` follows from its compiled partitions, and
    `inputs` are the differences in the inputs of its resources."""
    one, two = old.pool(name), new.pool(name)
    rules = platform_rules(two.platform)
    existing = one.ownership is Ownership.EXISTING is two.ownership
    foreign = existing or rules.same_node_group(one, two)
    idle = kind is NodeChangeKind.UNTOUCHED and not inputs
    files = files_differ(old, new, name) and not foreign
    shared = any("/" in leaf.field for leaf in cluster)
    found: list[FieldDifference] = []
    for leaf in written(one.spec, two.spec, without=frozenset({"name"})):
        leaf_class = class_of(leaf.field, POOL)
        if foreign:
            leaf_class = LeafClass.LIVE
        elif idle and leaf_class is LeafClass.COMPILED:
            # Its inputs are equal; different files of the pool are a separate difference.
            leaf_class = LeafClass.LIVE if shared else LeafClass.NONE
        found.append(replace(leaf, leaf_class=leaf_class))
    if not foreign:
        classes = rules.cluster_classes(two)
        found += [replace(c, leaf_class=classes[c.field]) for c in cluster if c.field in classes]
    if idle and files:
        found.append(FieldDifference("files", "rendered", "rendered otherwise", LeafClass.UNKNOWN))
    return tuple(found)


def _is_empty(leaf: FieldDifference) -> bool:
    """Whether the difference is a section with only defaults on one side and none on the other:
    files and inputs show its effect."""
    return {leaf.old, leaf.new} == {"{}", ABSENT}


def raised(kind: NodeChangeKind, found: Sequence[FieldDifference]) -> NodeChangeKind:
    """The change of the nodes, from all differences."""
    classes = {one.leaf_class for one in found}
    kinds = [one for leaf_class, one in _KINDS.items() if leaf_class in classes]
    return max((kind, *kinds), key=list(NodeChangeKind).index)


# The add-ons that a fleet installs, as settings of the others have no effect; and classes of
# fields whose effect no input of a resource shows, or that do more than files show.
#
# For every other field the inputs and the rendered files are compared. Charts: an upgrade patches
# the objects that differ (helm/helm `pkg/kube/client.go`, `updateResource`), and the controllers of
# Deployments and DaemonSets replace pods whose template differs.

ADDONS = (*CHARTS, "nodeMonitoringAgent")
"""Sections of `addons` that install something."""


def _classes(of: str) -> Mapping[str, LeafClass]:
    rows = read_rows(Path(__file__).parent, "leaf_classes")
    return {row["path"]: LeafClass(row["class"]) for row in rows if row["of"] == of}


CLUSTER = _classes("cluster")
"""Path from the root of the declaration -> class, for fields outside pools. GDS and GDRCopy are
containers of the driver's pods (NVIDIA/gpu-operator v26.7.0
`assets/state-driver/0500_daemonset.yaml`), for which a registry and a proxy also apply."""
POOL = _classes("pool")
"""Path inside a pool -> class. The vGPU scheduler is a setting of hosts, which restart for it."""


def installed(fleet: Fleet, section: str) -> bool:
    """Whether the add-on of a section of `addons` may be installed. If only the platform decides
    that, an add-on counts as installed unless it is switched off."""
    plans, addon = fleet.addons, declared_addon(fleet, section)
    provisioners = {pool.provisioner for pool in fleet.pools}
    decided = {
        "gpuOperator": plans.gpu_operator.enabled,
        "networkOperator": plans.network_operator.enabled,
        "devicePlugin": plans.device_plugin.enabled,
        "neuronDevicePlugin": plans.neuron.enabled,
        "draDriver": needs_dra_driver(fleet),
        "karpenter": Provisioner.KARPENTER in provisioners,
        "clusterAutoscaler": Provisioner.CLUSTER_AUTOSCALER in provisioners,
        "efaDevicePlugin": any(pool.fabric is Fabric.EFA for pool in fleet.pools),
        "kueue": fleet.spec.queues is not None,
        "keda": addon.enabled is True,
    }
    return (decided.get(section, True) and addon.enabled is not False) or addon.enabled is True


def declared_addon(fleet: Fleet, section: str) -> Addon:
    """The declared settings of an add-on."""
    addon: Addon = getattr(fleet.spec.addons, to_snake(section))
    return addon
