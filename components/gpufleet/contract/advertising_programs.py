"""Programs that offer the same GPUs: the relation between what is installed in one cluster.

Asked by `compile`, `check` and the audit. A device plugin and the DRA driver know nothing of each
other: each offers every GPU, and the scheduler adds them up (NVIDIA/aicr#1327). Of two device
plugins the kubelet keeps the devices of that which registered last
(NVIDIA/k8s-device-plugin#255).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gpufleet.cluster.fact import Fact, absent, known
from gpufleet.cluster.program import Program

OPERATOR, PLUGIN, DRA = "gpu-operator", "nvidia-device-plugin", "dra-driver-nvidia-gpu"
TWO_ADVERTISERS = "each offers every GPU, and the scheduler adds them up"
TWO_PLUGINS = (
    "the kubelet keeps the devices of the plugin that registered last, and none when it stops"
)


@dataclass(frozen=True, slots=True)
class Twice:
    """Two programs that offer the same GPUs."""

    one: Program
    """Where it is reported."""
    other: Program
    message: str
    """What the other one does."""
    limit: str
    fix: str
    plugins: bool
    """Whether both are device plugins."""


def runs_plugin(program: Program) -> Fact[bool]:
    """Whether it runs NVIDIA's device plugin; unknown where its values may say either."""
    if program.name == PLUGIN:
        own = program.values or {}
        selects = bool(own.get("nodeSelector") or own.get("affinity"))
        return absent() if selects else known(True, place=program.place)
    if program.name != OPERATOR:
        return absent()
    by_claims = program.switch("gpuCluster.deployCR", False)
    if by_claims.is_unknown or by_claims.found is True:
        return by_claims if by_claims.is_unknown else absent()
    return program.switch("devicePlugin.enabled", True)


def serves_by_claims(program: Program) -> Fact[bool]:
    """Whether it is the DRA driver and serves GPUs, not compute domains alone."""
    selects = program.value("kubeletPlugin.nodeSelector") or program.value("kubeletPlugin.affinity")
    if program.name != DRA or selects:
        return absent()
    return program.switch("resources.gpus.enabled", True)


def offered_twice(programs: Iterable[Program]) -> Iterator[Twice]:
    """Pairs of programs of one cluster that certainly offer the same GPUs."""
    found = tuple(programs)
    plugins = [one for one in found if runs_plugin(one).found is True]
    for driver in (one for one in found if serves_by_claims(one).found is True):
        for plugin in plugins:
            whose = "its own chart" if plugin.name == PLUGIN else "the GPU Operator"
            off = (
                "remove the chart"
                if plugin.name == PLUGIN
                else "write `devicePlugin: {enabled: false}` for the operator"
            )
            yield Twice(
                driver,
                plugin,
                f"the device plugin of {whose} serves the GPUs that this driver serves",
                TWO_ADVERTISERS,
                f"{off}, or `resources: {{gpus: {{enabled: false}}}}` for the driver",
                plugins=False,
            )
    charts = [one for one in plugins if one.name == PLUGIN]
    for chart in charts:
        for operator in (one for one in plugins if one.name == OPERATOR):
            yield Twice(
                chart,
                operator,
                "the GPU Operator runs a device plugin too",
                TWO_PLUGINS,
                "write devicePlugin.enabled: false for the operator, or drop the chart",
                plugins=True,
            )
