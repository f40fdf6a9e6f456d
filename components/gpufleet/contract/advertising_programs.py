"""Programs that offer the same GPUs: the relation between the programs of one cluster.

Used by `compile`, `check` and the audit. A device plugin and the DRA driver work independently:
each offers every GPU, and the scheduler adds them up (NVIDIA/aicr#1327). With two device plugins
the kubelet keeps the devices of the one that registered last (NVIDIA/k8s-device-plugin#255).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gpufleet.cluster.fact import Fact, absent, known, unknown
from gpufleet.cluster.program import Program
from gpufleet.contract.contract_fact import ContractFact

OPERATOR, PLUGIN, DRA = "gpu-operator", "nvidia-device-plugin", "dra-driver-nvidia-gpu"
TWO_ADVERTISERS = ContractFact(
    "each offers every GPU, and the scheduler adds them up", "NVIDIA/aicr#1327"
)
TWO_PLUGINS = ContractFact(
    "the kubelet keeps the devices of the plugin that registered last, and none when it stops",
    "NVIDIA/k8s-device-plugin#255",
)


@dataclass(frozen=True, slots=True)
class Twice:
    """Two programs that offer the same GPUs."""

    one: Program
    """The program at which it is reported."""
    other: Program
    fix: str
    plugins: bool
    """Whether both are device plugins."""


def runs_plugin(program: Program) -> Fact[bool]:
    """Whether it runs NVIDIA's device plugin; unknown if unreadable values may decide it."""
    if program.name == PLUGIN:
        return _everywhere(program)
    if program.name != OPERATOR:
        return absent()
    by_claims = program.switch("gpuCluster.deployCR", False)
    if by_claims.is_unknown or by_claims.found is True:
        return by_claims if by_claims.is_unknown else absent()
    return program.switch("devicePlugin.enabled", True)


def serves_by_claims(program: Program) -> Fact[bool]:
    """Whether it is the DRA driver and serves GPUs, not only compute domains."""
    everywhere = _everywhere(program, "kubeletPlugin.") if program.name == DRA else absent()
    return program.switch("resources.gpus.enabled", True) if everywhere.found else everywhere


def _everywhere(program: Program, part: str = "") -> Fact[bool]:
    """Whether its values select no nodes; unknown if some cannot be read."""
    chosen_by = f"{part}nodeSelector", f"{part}affinity"
    if any(map(program.value, chosen_by)):
        return absent()
    if program.values is None or not program.complete or any(map(program.hides, chosen_by)):
        return unknown(program.place)
    return known(True, place=program.place)


def offered_twice(programs: Iterable[Program]) -> Iterator[Twice]:
    """Pairs of programs of one cluster that certainly offer the same GPUs."""
    found = tuple(programs)
    plugins = [one for one in found if runs_plugin(one).found is True]
    for driver in (one for one in found if serves_by_claims(one).found is True):
        for plugin in plugins:
            off = "write `devicePlugin: {enabled: false}` for the operator"
            if plugin.name == PLUGIN:
                off = "remove the chart"
            yield Twice(
                driver,
                plugin,
                f"{off}, or `resources: {{gpus: {{enabled: false}}}}` for the driver",
                plugins=False,
            )
    for chart in (one for one in plugins if one.name == PLUGIN):
        for operator in (one for one in plugins if one.name == OPERATOR):
            yield Twice(
                chart,
                operator,
                "write devicePlugin.enabled: false for the operator, or drop the chart",
                plugins=True,
            )
