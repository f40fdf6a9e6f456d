"""Reading a request: names resolved, compute instances packed into GPU instances."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpufleet.catalogue.gpu import MigGeometry
from gpufleet.partition.limits import Reason
from gpufleet.partition.profile_name import parse, similar


@dataclass(slots=True)
class MigRequest:
    """What was asked for, in the geometry's own names."""

    counts: dict[str, int] = field(default_factory=dict[str, int])
    """GPU instances by the geometry's own names."""
    inside: dict[str, list[list[str]]] = field(default_factory=dict[str, list[list[str]]])
    """GPU instance profile -> the compute instances of each GPU instance that is divided."""
    unknown: dict[str, int] = field(default_factory=dict[str, int])
    renamed: dict[str, str] = field(default_factory=dict[str, str])
    reasons: list[Reason] = field(default_factory=list[Reason])


def read_request(geometry: MigGeometry, devices: Mapping[str, int]) -> MigRequest:
    """The request, with a reason for every name or count that cannot be meant."""
    request = MigRequest()
    parts: dict[str, list[tuple[int, str]]] = {}
    for name, count in sorted(devices.items()):
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:  # pyright: ignore[reportUnnecessaryIsInstance]
            found = "a truth value" if isinstance(count, bool) else repr(count)
            message = f"{name}: {found} is not a count, whole numbers from 0 on are"
            request.reasons.append(Reason("count-invalid", message, count, 0, name))
            continue
        if count == 0:
            continue
        own, slices = _resolve(geometry, name)
        profile = geometry.profiles.get(own)
        if profile is None:
            request.unknown[name] = request.unknown.get(name, 0) + count
            near = similar(name.removeprefix("nvidia.com/mig-"), geometry.profiles)
            nearest = f", nearest is {near[0]}" if near else ""
            request.reasons.append(
                Reason(
                    "profile-unknown",
                    f"there is no profile {name}{nearest} (it has {', '.join(geometry.profiles)})",
                    name,
                    tuple(geometry.profiles),
                    name,
                    near,
                )
            )
            continue
        if slices is not None and slices > profile.compute_slices:
            message = (
                f"{name}: a compute instance of {slices} slices does not fit into {own}, which has "
                f"{profile.compute_slices}"
            )
            request.reasons.append(
                Reason("compute-instance-too-large", message, slices, profile.compute_slices, name)
            )
            continue
        if slices is None or slices == profile.compute_slices:
            if own != name:
                request.renamed[name] = own
            request.counts[own] = request.counts.get(own, 0) + count
            continue
        resolved = f"{slices}c.{own}"
        if resolved != name:
            request.renamed[name] = resolved
        parts.setdefault(own, []).extend((slices, resolved) for _ in range(min(count, 64)))
    for own, instances in parts.items():
        room = geometry.profiles[own].compute_slices
        request.inside[own] = _share_instances(instances, room)
        request.counts[own] = request.counts.get(own, 0) + len(request.inside[own])
    return request


def _resolve(geometry: MigGeometry, name: str) -> tuple[str, int | None]:
    """The geometry's own profile name and the compute slices of a `<c>c.` prefix."""
    if name in geometry.profiles:
        return name, None
    parsed = parse(name)
    if parsed is None:
        return geometry.alternate_names.get(name, name), None
    plain = parsed.gpu_instance
    return geometry.alternate_names.get(plain, plain), parsed.compute_instance_slices


def _share_instances(instances: list[tuple[int, str]], room: int) -> list[list[str]]:
    """Compute instances packed into GPU instances of `room` slices, largest first into the first
    that has room. With at most seven slices this is the smallest number of GPU instances."""
    shared: list[tuple[int, list[str]]] = []
    for slices, name in sorted(instances, key=lambda part: (-part[0], part[1])):
        for i, (left, names) in enumerate(shared):
            if left >= slices:
                names.append(name)
                shared[i] = (left - slices, names)
                break
        else:
            shared.append((room - slices, [name]))
    return [names for _, names in shared]
