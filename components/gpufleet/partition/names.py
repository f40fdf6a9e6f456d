"""Declared profile names: their names as resources, and sums of their layouts."""

from collections.abc import Iterable, Mapping

from gpufleet.partition.profile_name import parse


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
