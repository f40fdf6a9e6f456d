"""Samples of DCGM's exporter and kube-state-metrics as use of each device by each pod.

Sources: NVIDIA/dcgm-exporter 4.8 (labels `UUID`, `GPU_I_ID`, `GPU_I_PROFILE`, `modelName`, and
`namespace`, `pod` or their `exported_` forms); NVIDIA DCGM, profiling metrics: `SM_ACTIVE` is the
part of time and multiprocessors with at least one warp, `GR_ENGINE_ACTIVE` the part of time with
any work, so never below it; kubernetes/kube-state-metrics (`kube_pod_owner`,
`kube_replicaset_owner`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import ceil, isfinite

from gpufleet.cost.dump import Series

MIB = 1 << 20
MEMORY = "DCGM_FI_DEV_FB_USED"
COMPUTE = (
    ("DCGM_FI_PROF_SM_ACTIVE", 1.0),
    ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", 1.0),
    ("DCGM_FI_DEV_GPU_UTIL", 0.01),
)
"""Series of compute and the factor that makes each a part of 1, most telling first."""
BANDWIDTH = "DCGM_FI_PROF_DRAM_ACTIVE"
POD_OWNER = "kube_pod_owner"
SET_OWNER = "kube_replicaset_owner"
REQUESTS = "kube_pod_container_resource_requests"
REPORTED = (MEMORY, *(name for name, _ in COMPUTE), BANDWIDTH, POD_OWNER, SET_OWNER, REQUESTS)
QUERY = f'{{__name__=~"{"|".join(REPORTED)}"}}'
"""The range query whose result is read."""
_MIG_HAS_NO = "DCGM_FI_DEV_GPU_UTIL"
"""Counts nothing on MIG devices (NVIDIA/dcgm-exporter, documentation of MIG)."""
_MOST_OF_A_DEVICE = 1.1
"""Maximum part of a device in one sample: sizes of devices are rounded. Assumed."""

Device = tuple[str, str]
"""UUID of the GPU and id of the MIG instance, empty for the whole GPU."""
Pod = tuple[str, str]
"""Namespace and name."""


@dataclass(frozen=True, slots=True)
class DeviceUse:
    """Use of one device by one pod, while it held it."""

    pod: Pod
    device: Device
    model: str
    """Name of the GPU as DCGM writes it."""
    profile: str
    """MIG profile; empty for a whole GPU."""
    start: int
    end: int
    coverage: float
    """Part of that time for which there are samples of memory, and of compute where it is
    measured."""
    peak_memory: int
    """Bytes."""
    usual_memory: int
    """Bytes that 5 % of the samples are below."""
    compute: float | None
    """99th percentile of the part of the device's compute in use; None: not measured."""
    most_compute: float | None
    bandwidth: float | None
    """99th percentile of the part of the memory bandwidth in use; None: not measured."""
    shared: bool
    """Whether other pods may have used the device at the same time: its figures are then of all of
    them, as DCGM counts by device."""

    def exceeds(self, memory: int) -> bool:
        """Whether a sample is more than a device with this memory has: its unit is another one."""
        parts = (self.peak_memory / memory, self.most_compute or 0.0, self.bandwidth or 0.0)
        return max(parts) > _MOST_OF_A_DEVICE


@dataclass(frozen=True, slots=True)
class MeasuredWorkload:
    """Pods of one owner, over the whole time of the samples."""

    namespace: str
    kind: str
    """`Deployment`, `Job`, ...; `Pod` where no owner is known."""
    name: str
    uses: tuple[DeviceUse, ...]

    @property
    def pods_at_once(self) -> int:
        """Maximum number of pods that held devices at the same time."""
        return _most_at_once((use.start, use.end, use.pod) for use in self.uses)

    @property
    def coverage(self) -> float:
        """The least of its devices."""
        return min(use.coverage for use in self.uses)

    @property
    def hours(self) -> float:
        """From the first sample to the last."""
        return (max(u.end for u in self.uses) - min(u.start for u in self.uses)) / 3600


def workloads(series: Iterable[Series]) -> list[MeasuredWorkload]:
    """Use of devices by owner of the pods, in order of namespace and name."""
    known = [one for one in series if one.samples]
    owners = _owners(known)
    found: dict[tuple[str, str, str], list[DeviceUse]] = {}
    for use in device_uses(known):
        kind, name = owners.get(use.pod, ("Pod", use.pod[1]))
        found.setdefault((use.pod[0], kind, name), []).append(use)
    return [MeasuredWorkload(*key, tuple(uses)) for key, uses in sorted(found.items())]


def device_uses(series: Iterable[Series]) -> list[DeviceUse]:
    """Use of each device by each pod that held it."""
    known = list(series)
    by_name: dict[str, dict[tuple[Pod, Device], _Samples]] = {}
    for one in known:
        name, pod = one.labels.get("__name__", ""), _pod(one.labels)
        uuid = one.labels.get("UUID", "")
        if not pod[1] or not uuid:
            continue
        key = (pod, (uuid, one.labels.get("GPU_I_ID", "")))
        samples = by_name.setdefault(name, {}).setdefault(key, _Samples(dict(one.labels), {}))
        samples.add(one.samples)
    held = {key: samples for key, samples in by_name.get(MEMORY, {}).items() if samples.values}
    of_shares = {_pod(one.labels) for one in known if _asks_for_share(one.labels)}
    step = _step(held.values())
    spans: dict[Device, list[tuple[int, int, Pod]]] = {}
    for (pod, device), samples in held.items():
        spans.setdefault(device, []).append((min(samples.values), max(samples.values) + step, pod))
    return [
        _use(pod, device, samples, by_name, step, spans[device], pod in of_shares)
        for (pod, device), samples in sorted(held.items(), key=lambda item: item[0])
    ]


@dataclass(slots=True)
class _Samples:
    labels: Mapping[str, str]
    values: dict[int, float]

    def add(self, samples: Iterable[tuple[int, float]]) -> None:
        """The larger of two values of one moment: two servers may scrape one exporter. A value that
        is not a number, or is negative, is not measured."""
        for moment, value in samples:
            if isfinite(value) and value >= 0:
                self.values[moment] = max(value, self.values.get(moment, value))


def _use(
    pod: Pod,
    device: Device,
    memory: _Samples,
    by_name: Mapping[str, Mapping[tuple[Pod, Device], _Samples]],
    step: int,
    spans: Iterable[tuple[int, int, Pod]],
    asks_for_share: bool,
) -> DeviceUse:
    key, profile = (pod, device), memory.labels.get("GPU_I_PROFILE", "")
    start, end = min(memory.values), max(memory.values) + step
    compute = None
    for name, factor in COMPUTE:
        measured = by_name.get(name, {}).get(key)
        if measured is None or not measured.values or (profile and name == _MIG_HAS_NO):
            continue
        compute = [value * factor for value in measured.values.values()]
        break
    bandwidth = by_name.get(BANDWIDTH, {}).get(key)
    mib = list(memory.values.values())
    fewest = min(len(mib), len(mib if compute is None else compute))
    return DeviceUse(
        pod=pod,
        device=device,
        model=memory.labels.get("modelName", ""),
        profile=profile,
        start=start,
        end=end,
        coverage=min(1.0, fewest * step / (end - start)),
        peak_memory=ceil(Fraction(max(mib)) * MIB),
        usual_memory=int(Fraction(quantile(mib, 0.05)) * MIB),
        compute=None if compute is None else quantile(compute, 0.99),
        most_compute=None if compute is None else max(compute),
        bandwidth=None
        if bandwidth is None or not bandwidth.values
        else quantile(list(bandwidth.values.values()), 0.99),
        shared=asks_for_share
        or any(other != pod and first < end and start < stop for first, stop, other in spans),
    )


def quantile(values: list[float], part: float) -> float:
    """The smallest value that at least this part of the values does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, ceil(part * len(ordered)) - 1)]


def _step(held: Iterable[_Samples]) -> int:
    """The usual distance between two samples, in seconds; a minute without samples."""
    gaps = sorted(
        later - earlier for samples in held for earlier, later in pairwise(sorted(samples.values))
    )
    return gaps[len(gaps) // 2] if gaps else 60


def _pod(labels: Mapping[str, str]) -> Pod:
    """The pod that held the device: the exporter's own is next to an `exported_` one."""
    prefix = "exported_" if labels.get("exported_pod") else ""
    return labels.get(f"{prefix}namespace", ""), labels.get(f"{prefix}pod", "")


def _asks_for_share(labels: Mapping[str, str]) -> bool:
    """Whether it is a request for a share of a device, as kube-state-metrics writes it."""
    resource = labels.get("resource", "")
    return (
        labels.get("__name__") == REQUESTS
        and resource.startswith("nvidia_com_")
        and resource.endswith("_shared")
    )


def _owners(series: Iterable[Series]) -> dict[Pod, tuple[str, str]]:
    """Pod -> kind and name of the object that makes it, through ReplicaSets."""
    direct: dict[Pod, tuple[str, str]] = {}
    sets: dict[tuple[str, str], tuple[str, str]] = {}
    for one in series:
        labels, name = one.labels, one.labels.get("__name__")
        prefix = "exported_" if labels.get("exported_namespace") else ""
        owner = (labels.get("owner_kind", ""), labels.get("owner_name", ""))
        if owner[0] in {"", "<none>"}:
            continue
        if name == POD_OWNER:
            direct[_pod(labels)] = owner
        elif name == SET_OWNER:
            sets[(labels.get(f"{prefix}namespace", ""), labels.get("replicaset", ""))] = owner
    return {
        pod: sets.get((pod[0], owner[1]), owner) if owner[0] == "ReplicaSet" else owner
        for pod, owner in direct.items()
    }


def _most_at_once(spans: Iterable[tuple[int, int, object]]) -> int:
    """Maximum number of different things that are there at one moment."""
    joined: dict[object, tuple[int, int]] = {}
    for start, end, thing in spans:
        first, last = joined.get(thing, (start, end))
        joined[thing] = (min(start, first), max(end, last))
    edges = [edge for start, end in joined.values() for edge in ((start, 1), (end, -1))]
    most = present = 0
    for _, change in sorted(edges):
        present += change
        most = max(most, present)
    return most
