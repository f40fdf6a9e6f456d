"""Machine types as hardware: GPU model and count, or unknown."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from gpufleet.catalogue import UnknownKeyError, load
from gpufleet.cluster.fact import Fact, Provenance, absent, known, unknown

_GPU_FAMILY = re.compile(r"^(?:[pg][0-9]+[a-z]*\.|a[2-9]x?-|g[2-9]-)")
"""Families of NVIDIA machines on AWS and Google; for types newer than the catalogue."""
_FORM = re.compile(r"[a-z][a-z0-9-]*\.[a-z0-9-]+|(?:[a-z]+[0-9][a-z]*|custom)(?:-.*)?")
"""How these two name machines: of others, the GPUs are not known."""


@dataclass(frozen=True, slots=True)
class Machines:
    """Common facts of a list of machine types."""

    gpu: Fact[str]
    """Key of the catalogue; absent: no NVIDIA GPU; unknown: several, or an unlisted type."""
    gpus_per_node: Fact[int]
    """Of the largest machine type."""
    carries_gpus: Fact[bool]
    """Unknown where only some of them do."""


NO_MACHINES = Machines(absent("machine"), absent("machine"), unknown("machine"))
"""Nothing is reported about the machine."""


@lru_cache(maxsize=2048)
def machines(names: tuple[str, ...], place: str = "") -> Machines:
    """The hardware of a pool of any of these machine types."""
    found = [_row(name) for name in names]
    carrying = [one for one in found if one is not None]
    if not carrying and not any(map(_FORM.fullmatch, names)):
        return NO_MACHINES
    if not carrying:
        return Machines(absent(place), absent(place), known(False, place=place))
    if len(carrying) < len(found):
        return Machines(unknown(place), unknown(place), unknown(place))
    keys = {gpu for gpu, _ in carrying}
    counts = [count for _, count in carrying]
    one_gpu = keys.pop() if len(keys) == 1 else None
    largest = None if None in counts else max(c for c in counts if c is not None)
    return Machines(
        unknown(place) if one_gpu is None else known(one_gpu, place=place),
        unknown(place) if largest is None else known(largest, place=place),
        known(True, place=place),
    )


def _row(name: str) -> tuple[str | None, int | None] | None:
    """GPU and count of a type; None for types without NVIDIA GPUs."""
    row = load().sold(name)
    if row is None:
        return (None, None) if _GPU_FAMILY.match(name) else None
    if load().gpu(row.accelerator.gpu).vendor != "nvidia":
        return None
    return row.accelerator.gpu, row.accelerator.count


def accelerated(machine_type: Any, accelerator: str, count: int) -> tuple[Fact[str], str | None]:
    """GPU key of Google's accelerator type, and the catalogue's row for machine and accelerator.

    The row prices N1 machines, whose accelerators are attached; other machines are rows themselves.
    """
    catalogue, row = load(), str(machine_type)
    if row not in catalogue.instances:
        attached = f"n1-standard-*+{accelerator}x{count}"
        row = attached if row.startswith("n1-") and attached in catalogue.instances else ""
    gpu = _by_accelerator(accelerator)
    found: Fact[str] = unknown("guestAccelerators") if gpu is None else known(gpu)
    return found, row or None


@lru_cache(maxsize=256)
def _by_accelerator(accelerator: str) -> str | None:
    for row in load().instances.values():
        if row.gke_accelerator_type == accelerator:
            return row.accelerator.gpu
    return None


def gpu_by_name(names: Iterable[str]) -> Fact[str]:
    """The GPU that a label value or type name means; unknown where it is ambiguous."""
    for name in names:
        try:
            return known(load().find_gpu(name).key, Provenance.EXPLICIT)
        except UnknownKeyError:
            continue
    return unknown("gpu")
