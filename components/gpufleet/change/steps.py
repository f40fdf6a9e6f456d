"""Steps of one node, and their duration.

Sources: NVIDIA mig-parted v0.15.0 `deployments/container` and `pkg/mig` (order of mig-manager,
reset before reboot), klueska in NVIDIA/gpu-operator#262 (cordon, drain, label, wait, uncordon).
"""

from decimal import Decimal

from gpufleet.catalogue.gpu import Gpu
from gpufleet.change.plan import Act, NodeChangeKind, Step
from gpufleet.contract.platform import PlatformValue
from gpufleet.partition.partition import Partition

DRAIN_SECONDS = 300
"""Time given to pods to leave: the GPU Operator's own default for draining (chart v26.7.0
`driver.upgradePolicy.drain.timeoutSeconds`)."""
RECUT_SECONDS = 120
"""Expected time of a change without a reboot. Our estimate; mig-manager may wait up to 5 minutes
for each of five operands to stop."""
REBOOT_SECONDS = 600
"""Expected time of a change with a reboot. Our estimate."""
PLUGIN_SECONDS = 0
"""Out of service while the plugin restarts: the kubelet keeps its devices for five minutes."""


def changes_mode(old: Partition, new: Partition) -> bool:
    """Whether MIG mode of any GPU of a node is switched."""
    return any(a.mig_enabled != b.mig_enabled for a, b in zip(old.gpus, new.gpus, strict=False))


def changes_layout(old: Partition, new: Partition) -> bool:
    """Whether any GPU of a node is partitioned differently."""
    return [dict(g.devices) for g in old.gpus] != [dict(g.devices) for g in new.gpus]


def kind_in_place(old: Partition, new: Partition) -> NodeChangeKind:
    """Kind of change between two partitions of the same machine."""
    if changes_layout(old, new) or changes_mode(old, new) or "mps" in {old.mode, new.mode}:
        same = old.mode == new.mode and old.replicas == new.replicas
        return (
            NodeChangeKind.UNTOUCHED
            if same and not changes_layout(old, new)
            else NodeChangeKind.RECUT
        )
    if dict(old.advertised) == dict(new.advertised):
        return NodeChangeKind.UNTOUCHED if old.strategy == new.strategy else NodeChangeKind.PLUGIN
    grows = all(new.advertised.get(name, 0) >= count for name, count in old.advertised.items())
    return NodeChangeKind.PLUGIN if grows else NodeChangeKind.RECUT


def steps(
    old: Partition,
    new: Partition,
    kind: NodeChangeKind,
    gpu: Gpu,
    platform: PlatformValue,
    *,
    reboots: bool,
) -> tuple[Step, ...]:
    """All operations on one node, in order."""
    labelling = platform.facts.relabelling
    label = Step(Act.LABEL, labelling.who, labelling.text)
    if kind is NodeChangeKind.PLUGIN:
        return (
            label,
            Step(
                Act.WAIT,
                "the device plugin",
                "it restarts and offers more of the same; running pods keep what they have",
            ),
        )
    if kind is not NodeChangeKind.RECUT:
        return ()
    return (
        Step(Act.CORDON, "you", "no pod may be scheduled while the node is emptied"),
        Step(
            Act.DRAIN,
            "you",
            "kubectl drain respects disruption budgets; nothing else takes pods off the GPUs, and "
            "a GPU in use cannot be partitioned",
        ),
        label,
        *_mode(old, new, gpu, platform, reboots=reboots),
        Step(
            Act.WAIT,
            labelling.waits,
            "until the node offers what is promised; else it stops and no later wave starts",
        ),
        Step(Act.UNCORDON, "you", "the node takes pods again"),
    )


def _mode(
    old: Partition, new: Partition, gpu: Gpu, platform: PlatformValue, *, reboots: bool
) -> tuple[Step, ...]:
    if not changes_layout(old, new):
        return ()
    who = "mig-manager"
    if not changes_mode(old, new):
        text = "destroys the instances and creates the new ones; MIG mode stays as it is"
        return (Step(Act.WAIT, who, text),)
    if gpu.mig is None or not gpu.mig.reset_needed:
        text = "switches MIG mode, which this GPU does without a reset once it is idle"
        return (Step(Act.WAIT, who, text),)
    reset = Step(Act.RESET, who, f"{gpu.key} switches MIG mode by a reset of all GPUs of the node")
    if platform.facts.reset_may_be_forbidden and reboots:
        return reset, Step(Act.REBOOT, who, "only if the hypervisor forbids the reset")
    return (reset,)


def expected_seconds(found: tuple[Step, ...]) -> int:
    """Time that a node is out of service if all goes well."""
    acts = {step.act for step in found}
    if Act.DRAIN not in acts:
        return PLUGIN_SECONDS
    return DRAIN_SECONDS + (REBOOT_SECONDS if Act.REBOOT in acts else RECUT_SECONDS)


def gpu_hours(nodes: int, gpus: int, seconds: int) -> Decimal:
    """GPU-hours that this number of nodes is out of service, to a hundredth."""
    return (Decimal(nodes * gpus * seconds) / 3600).quantize(Decimal("0.01"))
