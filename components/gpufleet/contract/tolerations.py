"""Which taints the nodes have, and whether what must run there tolerates them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from gpufleet.contract.facts import ClusterFacts, ContractFact, ContractPool, chain
from gpufleet.contract.operator_values import VALUES
from gpufleet.documents.paths import value_at
from gpufleet.findings import Finding, error, warning
from gpufleet.spec.addons import GpuOperator
from gpufleet.spec.base import Ownership
from gpufleet.spec.pool import Fabric

GPU_KEY = "nvidia.com/gpu"
WHERE = ("daemonsets.tolerations", "node-feature-discovery.worker.tolerations")
"""Lists of the GPU Operator chart v26.7.0: its operands, and the worker that finds GPU nodes."""


@dataclass(frozen=True, slots=True, order=True)
class KeyToleration:
    """A toleration in Kubernetes' words: of a key with any value."""

    key: str
    effect: str

    def as_dict(self) -> dict[str, str]:
        """As manifests and Helm values write it."""
        return {"key": self.key, "operator": "Exists", "effect": self.effect}


GPU_TOLERATION = KeyToleration(GPU_KEY, "NoSchedule")
"""What every list of `WHERE` has by itself."""


def needed(taints: Iterable[tuple[str, str, str]]) -> tuple[KeyToleration, ...]:
    """What the operands must tolerate next to the GPU taint, so that they run on these nodes.

    PreferNoSchedule keeps no one away for good.
    """
    wanted = {
        KeyToleration(key, effect) for key, _, effect in taints if effect != "PreferNoSchedule"
    }
    return tuple(sorted(wanted - {GPU_TOLERATION}))


def validate_tolerations(cluster: ClusterFacts) -> Iterator[Finding]:
    """Findings about taints that keep the operands away."""
    operated = _operated(cluster)
    if _unstated(cluster.spec.addons.gpu_operator):
        wanting = [(pool, needed(pool.taints)) for pool in operated]
        yield from (_unknown(pool, wanted) for pool, wanted in wanting if wanted)
        operated = ()
    for written in _written_lists(cluster, operated):
        for pool in written.pools:
            missing = [one for one in needed(pool.taints) if not _covered(one, written.given)]
            if missing:
                yield _kept_away(pool, written, missing)


def _operated(cluster: ClusterFacts) -> tuple[ContractPool, ...]:
    return () if cluster.spec.addons.gpu_operator.enabled is False else cluster.operated


def _unstated(operator: GpuOperator) -> bool:
    """Whether someone else's operator is there, and nothing says what it tolerates."""
    existing = operator.ownership is Ownership.EXISTING
    return existing and value_at(operator.values, WHERE[0]) is None


@dataclass(frozen=True, slots=True)
class _WrittenList:
    """A list of tolerations in raw values, which replaces the one gpufleet would write."""

    path: str
    given: Sequence[object]
    who: str
    """Whose pods have these tolerations."""
    pools: tuple[ContractPool, ...]
    """Where they must run."""


def _written_lists(
    cluster: ClusterFacts, operated: tuple[ContractPool, ...]
) -> Iterator[_WrittenList]:
    addons = cluster.spec.addons
    worker = "the worker that finds GPU nodes"
    by_chart = tuple(pool for pool in cluster.operated if pool.plugin_chart)
    claimed = tuple(pool for pool in cluster.pools if pool.partition.dra is not None)
    rdma = tuple(pool for pool in cluster.pools if pool.fabric is Fabric.RDMA)
    operator, plugin = addons.gpu_operator.values, addons.device_plugin.values
    network, dra = addons.network_operator.policy, addons.dra_driver.values
    plugin_path = "addons.devicePlugin.values"
    for values, path, key, who, pools in (
        (operator, VALUES, WHERE[0], "the operator's operands", operated),
        (operator, VALUES, WHERE[1], worker, operated),
        (plugin, plugin_path, "tolerations", "the device plugin", by_chart),
        (plugin, plugin_path, "nfd.worker.tolerations", worker, by_chart),
        (network, "addons.networkOperator.policy", "tolerations", "NIC drivers", rdma),
        (dra, "addons.draDriver.values", "kubeletPlugin.tolerations", "the DRA driver", claimed),
    ):
        given = value_at(values, key)
        if isinstance(given, Sequence) and not isinstance(given, str):
            yield _WrittenList(f"{path}.{key}", cast("Sequence[object]", given), who, pools)


def _covered(wanted: KeyToleration, given: Sequence[object]) -> bool:
    """Whether a written list tolerates it, whatever the taint's value."""
    for one in given:
        if not isinstance(one, Mapping):
            continue
        said = cast("Mapping[str, object]", one)
        key, effect = said.get("key"), said.get("effect")
        if said.get("operator") == "Exists" and (
            key in {None, "", wanted.key} and effect in {None, "", wanted.effect}
        ):
            return True
    return False


def _kept_away(
    pool: ContractPool, written: _WrittenList, missing: Sequence[KeyToleration]
) -> Finding:
    shown = ", ".join(f"{one.key}:{one.effect}" for one in missing)
    return error(
        "operands-do-not-tolerate",
        written.path,
        f"nodes of {pool.name} are tainted {shown}, and {written.who} would not run there",
        "add the tolerations, or leave the list out: gpufleet then writes what the pools need",
        missing=[one.as_dict() for one in missing],
        facts=chain(
            ContractFact(f"{pool.name} is tainted {shown}", f"{pool.path}.taints"),
            ContractFact("this list replaces the one gpufleet writes", written.path),
            ContractFact(
                "a DaemonSet makes no pod for a node whose taints it does not tolerate: no event, "
                "no error, no GPU",
                "NVIDIA/k8s-device-plugin#1934",
            ),
            ContractFact(
                "pods that ask for a GPU stay Pending with `untolerated taint` as the only sign",
                "NVIDIA/k8s-device-plugin#421",
            ),
        ),
    )


def _unknown(pool: ContractPool, wanted: Sequence[KeyToleration]) -> Finding:
    shown = ", ".join(f"{one.key}:{one.effect}" for one in wanted)
    return warning(
        "operands-may-not-tolerate",
        f"{pool.path}.taints",
        f"the GPU Operator that is already there must tolerate {shown}, or {pool.name} never "
        "advertises a GPU",
        f"say what it tolerates in {VALUES}.{WHERE[0]}, and see to it",
        tolerations=[one.as_dict() for one in wanted],
        facts=chain(
            ContractFact(f"{pool.name} is tainted {shown}", f"{pool.path}.taints"),
            ContractFact("someone else configures the operator", "addons.gpuOperator.ownership"),
            ContractFact(
                f"by default its operands tolerate {GPU_KEY} only", "gpu-operator chart v26.7.0"
            ),
        ),
    )
