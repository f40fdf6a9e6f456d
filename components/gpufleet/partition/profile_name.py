"""NVIDIA's spelling of MIG profiles: parser, and search of the most similar profile.

Grammar: NVIDIA/go-nvlib `pkg/nvlib/device/mig_profile.go` and NVIDIA/mig-parted `pkg/types`.
"""

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

_GRAMMAR = re.compile(
    r"(?:(?P<c>[1-9][0-9]*)c\.)?(?P<g>[1-9][0-9]*)g\.(?P<gb>[0-9]+)gb"
    r"(?P<attributes>[+-][A-Za-z0-9.,]+)?"
)
_ATTRIBUTE = re.compile(r"[A-Za-z](?:[A-Za-z0-9.]*[A-Za-z0-9])?")


@dataclass(frozen=True, slots=True)
class ProfileName:
    """The parts of `1c.3g.40gb+me`."""

    compute_instance_slices: int | None
    """The `1c.` prefix: one compute instance of that many slices inside the GPU instance. None
    without a prefix: the compute instance takes the whole GPU instance."""
    compute_slices: int
    nominal_gb: int
    attributes: str
    """Everything from the sign on, `+me`, `-me`, or empty."""

    @property
    def gpu_instance(self) -> str:
        """The GPU instance profile this name lives in: the name without its prefix."""
        return f"{self.compute_slices}g.{self.nominal_gb}gb{self.attributes}"


@lru_cache(maxsize=512)
def parse(name: str) -> ProfileName | None:
    """The parts of a profile name; None: NVIDIA's tools refuse its spelling."""
    match = _GRAMMAR.fullmatch(name)
    if match is None:
        return None
    attributes = match["attributes"] or ""
    listed = attributes[1:].split(",") if attributes else []
    if len(set(listed)) != len(listed) or not all(_ATTRIBUTE.fullmatch(a) for a in listed):
        return None
    prefix = match["c"]
    return ProfileName(
        int(prefix) if prefix else None, int(match["g"]), int(match["gb"]), attributes
    )


def similar(name: str, known: Iterable[str], limit: int = 3) -> tuple[str, ...]:
    """The known profiles closest to a name, best first.

    Closest in meaning (same attributes, then compute slices, then memory) when the name can be
    read, else closest in spelling.
    """
    names = tuple(known)
    wanted = parse(name)
    if wanted is None:
        return tuple(difflib.get_close_matches(name.lower(), names, n=limit, cutoff=0.5))

    def distance(candidate: str) -> tuple[bool, int, int, str]:
        other = parse(candidate)
        assert other is not None, f"the catalogue holds the unreadable profile name {candidate}"
        return (
            other.attributes != wanted.attributes,
            abs(other.compute_slices - wanted.compute_slices),
            abs(other.nominal_gb - wanted.nominal_gb),
            candidate,
        )

    return tuple(sorted(names, key=distance)[:limit])
