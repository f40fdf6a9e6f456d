"""Findings about a sharing declaration before partitioning: which GPU supports which mode.

Sources: NVIDIA/k8s-device-plugin (`api/config/v1`, `cmd/mps-control-daemon`), rules that the
plugin's code applies only on the node.
"""

from collections.abc import Iterator
from fractions import Fraction

from gpufleet.catalogue.gpu import Gpu
from gpufleet.findings import Finding, findings_in
from gpufleet.findings.row_rules import rules_in
from gpufleet.partition.shares import (
    GIB,
    MIB,
    RESOURCES,
    gib,
    mps_memory,
    mps_threads_percent,
)
from gpufleet.spec.sharing import Mps, Sharing

_finding, _rules = findings_in(__file__), rules_in(__file__)

SMALLEST_USEFUL_SHARE = GIB
"""Memory below which a share is suspicious: a CUDA context alone takes 0.3 to 0.5 GiB."""


def check(
    gpu: Gpu, sharing: Sharing, path: str, fraction: Fraction, memory: int | None
) -> list[Finding]:
    """Findings about the sharing mode on this GPU. `memory`: bytes of one device; None: not
    sourced."""
    mode = sharing.mode
    place = f"{path}.{mode}"
    if gpu.vendor not in RESOURCES:
        return [
            _finding("not-yet-supported", path, gpu=gpu.key, vendor=gpu.vendor, resources=RESOURCES)
        ]
    if found := [*_rules("mode", place, sharing=sharing, gpu=gpu)]:
        return found
    if sharing.mps is not None:
        return [
            *check_mps(gpu, sharing.mps.replicas, place, fraction, memory),
            *_check_client_limits(gpu, sharing.mps, place, memory),
        ]
    if sharing.time_slicing is not None:
        return small_shares(gpu.key, sharing.time_slicing.replicas, memory, place)
    if sharing.mig is not None:
        return check_mig(gpu, place, fraction)
    return []


def check_mps(
    gpu: Gpu,
    replicas: int,
    place: str,
    fraction: Fraction,
    memory: int | None,
    key: str = "replicas",
) -> list[Finding]:
    """Findings if the GPU cannot have `replicas` MPS clients. `key`: field with that number."""
    most = gpu.mps_max_clients
    if found := [*_rules("mps", place, gpu=gpu, replicas=replicas, fraction=str(fraction))]:
        return found
    if replicas > most:
        return [
            _finding(
                "mps-too-many-clients",
                f"{place}.{key}",
                value=replicas,
                limit=most,
                gpu=gpu.key,
                key=key,
            )
        ]
    return small_shares(gpu.key, replicas, memory, place, key)


def _check_client_limits(gpu: Gpu, mps: Mps, place: str, memory: int | None) -> Iterator[Finding]:
    """Limits of one client above those of its share, which have no effect.

    Source: NVIDIA Multi-Process Service, environment variables: a client only constrains the limit
    of the control daemon further. The daemon's limits: NVIDIA/k8s-device-plugin v0.20.0
    `cmd/mps-control-daemon/mps/daemon.go`.
    """
    share = None if memory is None else mps_memory(memory, mps.replicas) // MIB
    threads, asked = mps_threads_percent(mps.replicas), mps.pinned_memory_mib
    yield from _rules("clients", place, mps=mps, gpu=gpu, threads=threads, share=share)
    if asked is None or share is None or asked > share:
        return
    if asked * MIB < SMALLEST_USEFUL_SHARE:
        in_gib = asked * 1024
        yield _finding(
            "share-memory-small/pinned",
            place,
            fix=(f"write {in_gib} for {asked} GiB" if in_gib <= share else "write 1024 or more"),
            value=asked,
            smallest=gib(SMALLEST_USEFUL_SHARE),
            limit=SMALLEST_USEFUL_SHARE,
        )


def check_mig(gpu: Gpu, place: str, fraction: Fraction) -> list[Finding]:
    """Findings if this GPU cannot be partitioned at all."""
    published = dict(gpu.mig_published)
    return [*_rules("mig", place, gpu=gpu, fraction=str(fraction), published=published)]


def small_shares(
    what: str, replicas: int, memory: int | None, place: str, key: str = "replicas"
) -> list[Finding]:
    """A warning when an even share of the memory is known to be too small to be useful."""
    if memory is None:
        return []
    each = memory // replicas
    if each >= SMALLEST_USEFUL_SHARE:
        return []
    fitting = memory // SMALLEST_USEFUL_SHARE
    return [
        _finding(
            "share-memory-small",
            f"{place}.{key}",
            fix=(f"write `{key}: {fitting}` or fewer" if fitting >= 2 else "do not share it"),
            value=replicas,
            what=what,
            memory=gib(memory),
            each=gib(each),
            smallest=gib(SMALLEST_USEFUL_SHARE),
            bytes_each=each,
            limit=SMALLEST_USEFUL_SHARE,
        )
    ]
