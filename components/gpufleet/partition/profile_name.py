"""NVIDIA's spelling of MIG profiles: parser, and search of the most similar profile.

Grammar: NVIDIA/go-nvlib `pkg/nvlib/device/mig_profile.go` and NVIDIA/mig-parted `pkg/types`.
"""

import re
from collections.abc import Iterable, Mapping
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
        import difflib  # only errors need it

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


# Declared profile names: their names as resources, and sums of their layouts.


def divides(profile: str) -> bool:
    """Whether a name means a compute instance smaller than its GPU instance (`1c.3g.40gb`)."""
    name = parse(profile)
    return (
        name is not None
        and name.compute_instance_slices is not None
        and name.compute_instance_slices < name.compute_slices
    )


def total(devices: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """The sum of several layouts, by profile name."""
    counts: dict[str, int] = {}
    for layout in devices:
        for name, count in layout.items():
            counts[name] = counts.get(name, 0) + count
    return dict(sorted(counts.items()))


def gpu_instance_of(profile: str) -> str:
    """The GPU instance profile of a declared name: itself without a `1c.` prefix."""
    parsed = parse(profile)
    return profile if parsed is None else parsed.gpu_instance


def resource_of(profile: str) -> str:
    """Resource of a profile under the mixed strategy: `nvidia.com/mig-1g.10gb.me`."""
    return "nvidia.com/mig-" + profile.replace("+", ".").replace(",", ".")


def tenants(profile: str, gpus_devices: Iterable[Mapping[str, int]]) -> int:
    """Maximum number of compute instances that share the memory of one GPU instance of this name;
    1 without a
    `<c>c.` prefix."""
    parsed = parse(profile)
    if parsed is None or parsed.compute_instance_slices in {None, parsed.compute_slices}:
        return 1
    assert parsed.compute_instance_slices is not None
    room = parsed.compute_slices // parsed.compute_instance_slices
    return max(1, min(room, max((d.get(profile, 0) for d in gpus_devices), default=1)))


def written(devices: Mapping[str, int]) -> str:
    """A layout as the declaration writes it: `{1g.10gb: 2, 3g.40gb: 1}`."""
    return "{" + ", ".join(f"{name}: {count}" for name, count in devices.items()) + "}"
