"""GPUs of a node as text: one row of memory slots per distinct layout, instances as boxes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gpufleet.catalogue.gpu import Gpu, MigGeometry
from gpufleet.partition.partition import GpuLayout, Partition
from gpufleet.partition.placement import MigPlacement
from gpufleet.partition.shares import gib

_WIDTH = 72
"""Columns of a drawing without its right border: divisible by 4, 8 and 12 slots."""


SLICED = "time-sliced shares"
MOST_BOXES = 8
"""Shares of a GPU that are drawn one by one; more of them are one box."""
UNUSED = "unused"
"""Title of memory slots that no instance uses."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A run of memory slots: one instance, or slots nothing uses."""

    start: int
    size: int
    title: str
    """Profile, or `unused`."""
    detail: str
    """Attributes, compute instances or memory; empty for unused slots."""
    used: bool


def draw_partition(gpu: Gpu, partition: Partition) -> str:
    """Every distinct layout of a node's GPUs, with the resources that pods can request."""
    blocks: list[str] = []
    for layouts in alike(partition.gpus):
        head = f"{indices(layouts)}  {gpu.key}"
        placement = layouts[0].placement
        if placement is None or gpu.mig is None:
            shares = share_segments(gpu, partition)
            box = _box([(size, title, detail) for size, title, detail in widths(shares, _WIDTH)])
            blocks.append(f"{head}  {unpartitioned(partition)}\n{box}")
            continue
        used = balance(gpu.mig, placement) + sliced(partition)
        blocks.append(f"{head}  {used}\n{draw_slots(gpu.mig, placement)}")
    offered = offer(partition)
    return "\n\n".join([*blocks, f"one node offers: {offered}"])


def draw_slots(geometry: MigGeometry, placement: MigPlacement) -> str:
    """One GPU: boxes over numbered memory slots."""
    column = _WIDTH // geometry.memory_slots
    segments = slot_segments(geometry, placement)
    boxes = _box([(s.size * column, s.title, s.detail) for s in segments])
    numbers = "".join(f"{slot:<{column}}" for slot in range(geometry.memory_slots)).rstrip()
    return f"{boxes}\n {numbers}"


def slot_segments(geometry: MigGeometry, placement: MigPlacement) -> tuple[Segment, ...]:
    """Instances and unused runs from slot 0 on, without gaps."""
    segments: list[Segment] = []
    slot = 0
    instances = sorted((*placement.instances, *placement.occupied), key=lambda i: i.start)
    for instance in instances:
        if instance.start > slot:
            segments.append(Segment(slot, instance.start - slot, UNUSED, "", False))
        name, detail = _split_attributes(instance.profile)
        usable = geometry.profiles[instance.profile].usable_bytes
        if instance.compute_instances:
            detail = ", ".join(i.partition(".")[0] for i in instance.compute_instances)
        elif not detail and usable is not None:
            detail = gib(usable)
        segments.append(Segment(instance.start, instance.size, name, detail, True))
        slot = instance.start + instance.size
    if slot < geometry.memory_slots:
        segments.append(Segment(slot, geometry.memory_slots - slot, UNUSED, "", False))
    return tuple(segments)


def alike(gpus: Sequence[GpuLayout]) -> Iterator[list[GpuLayout]]:
    """GPUs grouped by layout, in order of the first index."""
    groups: dict[tuple[tuple[str, int], ...], list[GpuLayout]] = {}
    for gpu in gpus:
        groups.setdefault(tuple(sorted(gpu.devices.items())), []).append(gpu)
    yield from groups.values()


def indices(gpus: Sequence[GpuLayout]) -> str:
    """`GPU 0`, `GPUs 0-3` or `GPUs 0, 2, 5`."""
    numbers = [gpu.index for gpu in gpus]
    if len(numbers) == 1:
        return f"GPU {numbers[0]}"
    if numbers == list(range(numbers[0], numbers[-1] + 1)):
        return f"GPUs {numbers[0]}-{numbers[-1]}"
    return "GPUs " + ", ".join(map(str, numbers))


def balance(geometry: MigGeometry, placement: MigPlacement) -> str:
    """Used parts of the GPU, free parts, and parts that no instance can use, as text."""
    text = (
        f"{placement.used_compute} of {geometry.compute_slices} compute slices, "
        f"{placement.used_memory} of {geometry.memory_slots} memory slots"
    )
    if placement.free:
        room = ", ".join(f"{count} x {name}" for name, count in placement.free.items())
        text += f"; room for {room} (each alone)"
    if placement.stranded_compute:
        text += f"; {placement.stranded_compute} compute stranded"
    return text


def unpartitioned(partition: Partition) -> str:
    """State of a GPU without MIG layout, as text."""
    share = next((one for one in partition.shares if one.profile is None), None)
    if share is not None and share.replicas > 1:
        return f"{share.replicas} {'MPS clients' if partition.mode == 'mps' else SLICED}"
    if partition.vgpu is not None:
        return f"one vGPU {partition.vgpu.type.name}"
    if partition.dra is not None and partition.dra.on_demand:
        return "whole until MIG devices are claimed"
    return "whole"


def share_segments(gpu: Gpu, partition: Partition) -> list[tuple[str, str]]:
    """The boxes of a GPU without MIG, two lines each: one for each share if there are few."""
    share = next((one for one in partition.shares if one.profile is None), None)
    if share is None or not 1 < share.replicas <= MOST_BOXES:
        return [whole_gpu(gpu, partition)]
    memory = "" if share.memory_bytes is None else gib(share.memory_bytes)
    return [(f"share {number}", memory) for number in range(1, share.replicas + 1)]


def widths(boxes: Sequence[tuple[str, str]], whole: int) -> list[tuple[int, str, str]]:
    """The boxes with their widths, which together are `whole`."""
    edges = [whole * number // len(boxes) for number in range(len(boxes) + 1)]
    return [(end - start, *box) for start, end, box in zip(edges, edges[1:], boxes, strict=False)]


def whole_gpu(gpu: Gpu, partition: Partition) -> tuple[str, str]:
    """The two lines in the box of a GPU without MIG."""
    share = next((s for s in partition.shares if s.profile is None), None)
    memory = "" if share is None or share.memory_bytes is None else gib(share.memory_bytes)
    if share is None or share.replicas == 1:
        made = partition.vgpu
        return (f"whole {gpu.key}" if made is None else f"vGPU {made.type.name}"), memory
    way = "MPS clients" if partition.mode == "mps" else SLICED
    return f"{share.replicas} {way}", f"{memory} each" if memory else ""


def offer(partition: Partition) -> str:
    """Advertised resources of a node, as text; if there are none, the device classes of claims."""
    advertised = [f"{name} x {count}" for name, count in partition.advertised.items()]
    claimed = [f"claims of {share.resource}" for share in partition.shares]
    return ", ".join(advertised or claimed)


def sliced(partition: Partition) -> str:
    """Sharing of MIG slices, as text; empty: not shared."""
    if partition.replicas == 1 or not partition.mig_enabled:
        return ""
    return f"; each slice in {partition.replicas} time-sliced shares"


def _split_attributes(profile: str) -> tuple[str, str]:
    for sign in "+-":
        base, found, tail = profile.partition(sign)
        if found:
            return base, sign + tail
    return profile, ""


def _box(cells: Sequence[tuple[int, str, str]]) -> str:
    """Boxes of the given widths side by side: title and detail on two lines, truncated to fit."""
    top = "┌" + "┬".join("─" * (width - 1) for width, _, _ in cells) + "┐"
    low = "└" + "┴".join("─" * (width - 1) for width, _, _ in cells) + "┘"
    titles = [_inside(width - 1, title, title) for width, title, _ in cells]
    details = [_inside(width - 1, title, detail) for width, title, detail in cells]
    return "\n".join([top, *(f"│{'│'.join(row)}│" for row in (titles, details)), low])


def _inside(width: int, title: str, text: str) -> str:
    return "░" * width if title == UNUSED else f"{text[:width]:^{width}}"
