"""Whatever is declared legally: nothing overlaps, every number adds up, every artefact agrees."""

import random
from collections import Counter
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import given as _given
from hypothesis import strategies as st

from gpufleet.catalogue import Gpu, MigGeometry, load
from gpufleet.findings import has_errors
from gpufleet.fleet.config_names import (
    device_plugin_config_name,
    mig_config_name,
    registration_labels,
)
from gpufleet.partition.nearest import NearestLayout
from gpufleet.partition.partition import Partition, cut
from gpufleet.partition.placement import MigPlacement, PlacedInstance, Refusal, place
from gpufleet.render.gpu_operator_values import device_plugin_files, mig_parted_file
from gpufleet.render.slots import draw_partition, slot_segments
from gpufleet.spec.sharing import Sharing
from tests.property import upstream_rules
from tests.reading import yaml_data
from tests.unit.render.published_labels import published_labels

UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""A loaded machine must not fail the test."""


def given(*strategies: st.SearchStrategy[Any]) -> Any:
    return lambda test: UNHURRIED(_given(*strategies)(test))


GPUS = [gpu for gpu in load().gpus.values() if gpu.mig is not None]
SHAREABLE = [
    gpu for gpu in load().gpus.values() if gpu.vendor == "nvidia" and gpu.mps_max_clients > 0
]


def geometry_of(gpu: Gpu) -> MigGeometry:
    assert gpu.mig is not None
    return gpu.mig


@st.composite
def requests(draw: st.DrawFn) -> tuple[Gpu, dict[str, int]]:
    gpu = draw(st.sampled_from(GPUS))
    names = st.sampled_from(list(geometry_of(gpu).profiles))
    return gpu, draw(st.dictionaries(names, st.integers(0, 5), max_size=4))


@st.composite
def legal_layouts(draw: st.DrawFn, gpu: Gpu) -> dict[str, int]:
    """Instances added in a drawn order for as long as they fit."""
    geometry = geometry_of(gpu)
    counts: Counter[str] = Counter()
    for name in draw(st.lists(st.sampled_from(list(geometry.profiles)), min_size=1, max_size=8)):
        bigger = counts + Counter([name])
        if isinstance(place(geometry, bigger), MigPlacement):
            counts = bigger
    return dict(counts)


@st.composite
def mig_pools(draw: st.DrawFn) -> tuple[Gpu, int, dict[str, Any]]:
    gpu = draw(st.sampled_from(GPUS))
    gpus = draw(st.sampled_from([1, 2, 4, 8]))
    slicing = draw(
        st.none()
        | st.builds(
            lambda replicas, rename: {"replicas": replicas, "rename": rename},
            st.integers(2, 8),
            st.booleans(),
        )
    )
    if draw(st.booleans()):
        profile = draw(st.sampled_from(list(geometry_of(gpu).profiles)))
        most = geometry_of(gpu).profiles[profile].max_instances
        devices = {profile: draw(st.integers(1, most))}
        mig: dict[str, Any] = {"strategy": "single", "layouts": [{"devices": devices}]}
    else:
        sizes: list[int] = []
        while sum(sizes) < gpus and len(sizes) < 4:
            sizes.append(draw(st.integers(1, gpus - sum(sizes))))
            if draw(st.booleans()):
                break
        mig = {
            "strategy": "mixed",
            "layouts": [{"gpus": n, "devices": draw(legal_layouts(gpu))} for n in sizes],
        }
    if slicing is not None:
        mig["timeSlicing"] = slicing
    return gpu, gpus, {"mig": mig}


@st.composite
def whole_pools(draw: st.DrawFn) -> tuple[Gpu, int, dict[str, Any]]:
    gpu = draw(st.sampled_from(SHAREABLE))
    gpus = draw(st.integers(1, 16))
    way = draw(st.sampled_from(["exclusive", "timeSlicing", "mps"]))
    if way == "exclusive":
        return gpu, gpus, {"exclusive": {}}
    most = gpu.mps_max_clients if way == "mps" else 256
    sharing = {"replicas": draw(st.integers(2, most)), "rename": draw(st.booleans())}
    return gpu, gpus, {way: sharing}


pools = mig_pools() | whole_pools()


def compiled(pool: tuple[Gpu, int, dict[str, Any]]) -> Partition:
    gpu, gpus, sharing = pool
    partition, findings = cut(gpu, gpus, Sharing.model_validate(sharing), "sharing")
    assert partition is not None, findings
    assert not has_errors(findings)
    return partition


@given(requests(), st.randoms())
def test_order_changes_nothing(request: tuple[Gpu, dict[str, int]], order: random.Random) -> None:
    gpu, wanted = request
    shuffled = list(wanted.items())
    order.shuffle(shuffled)
    assert place(geometry_of(gpu), wanted) == place(geometry_of(gpu), dict(shuffled))


@given(requests())
def test_placements_are_legal_and_refusals_offer_legal_layouts(
    request: tuple[Gpu, dict[str, int]],
) -> None:
    gpu, wanted = request
    geometry = geometry_of(gpu)
    answer = place(geometry, wanted)
    if isinstance(answer, Refusal):
        assert answer.why
        for layout in answer.alternatives:
            assert isinstance(place(geometry, layout.devices), MigPlacement)
        return
    slots = [s for i in answer.instances for s in range(i.start, i.start + i.size)]
    assert len(slots) == len(set(slots))
    assert answer.devices == {n: c for n, c in wanted.items() if c}
    assert len(slots) == answer.used_memory == geometry.memory_slots - len(answer.free_slots)
    assert 0 <= answer.stranded_compute <= answer.unused_compute
    assert 0 <= answer.stranded_memory <= answer.unused_memory


@given(requests())
def test_what_is_said_to_fit_fits_beside_the_placed_instances(
    request: tuple[Gpu, dict[str, int]],
) -> None:
    gpu, wanted = request
    geometry = geometry_of(gpu)
    answer = place(geometry, wanted)
    if isinstance(answer, Refusal):
        return
    for name, count in answer.free.items():
        assert isinstance(place(geometry, {name: count}, answer.instances), MigPlacement)
        assert isinstance(place(geometry, {name: count + 1}, answer.instances), Refusal)
    for completion in answer.completions:
        filled = place(geometry, completion, answer.instances)
        assert isinstance(filled, MigPlacement)
        assert filled.free == {}


@given(requests())
def test_removing_an_instance_keeps_a_layout_legal(request: tuple[Gpu, dict[str, int]]) -> None:
    gpu, wanted = request
    if isinstance(place(geometry_of(gpu), wanted), Refusal):
        return
    for name, count in wanted.items():
        if count:
            fewer = {**wanted, name: count - 1}
            assert isinstance(place(geometry_of(gpu), fewer), MigPlacement)


@given(requests(), st.integers(0, 11))
def test_no_nearer_layout_was_missed(request: tuple[Gpu, dict[str, int]], pick: int) -> None:
    gpu, wanted = request
    geometry = geometry_of(gpu)
    answer = place(geometry, wanted)
    if isinstance(answer, MigPlacement) or not answer.alternatives:
        return
    names = [name for name, count in wanted.items() if count]
    name = names[pick % len(names)]
    one_less = {**wanted, name: wanted[name] - 1}
    if any(one_less.values()) and isinstance(place(geometry, one_less), MigPlacement):
        nearest: NearestLayout = answer.alternatives[0]
        assert nearest.changes == 1


@given(pools)
def test_advertised_numbers_add_up(pool: tuple[Gpu, int, dict[str, Any]]) -> None:
    gpu, gpus, _ = pool
    partition = compiled(pool)
    assert len(partition.gpus) == gpus
    assert [g.index for g in partition.gpus] == list(range(gpus))
    expected: Counter[str] = Counter()
    for layout in partition.gpus:
        if not layout.mig_enabled:
            factor = 1 if partition.mode == "mig" else partition.replicas
            shared = partition.rename and factor > 1
            expected["nvidia.com/gpu" + (".shared" if shared else "")] += factor
            continue
        for profile, count in layout.devices.items():
            plain = "nvidia.com/mig-" + profile.replace("+", ".").replace(",", ".")
            name = "nvidia.com/gpu" if partition.strategy == "single" else plain
            expected[name + (".shared" if partition.rename else "")] += count * partition.replicas
    assert dict(partition.advertised) == dict(expected)
    assert sum(share.per_node for share in partition.shares) == sum(partition.advertised.values())
    for share in partition.shares:
        if share.memory_bytes is not None and gpu.memory_bytes is not None:
            assert 0 < share.memory_bytes * share.replicas <= gpu.memory_bytes


@given(st.lists(pools, min_size=1, max_size=3))
def test_artefacts_read_by_upstream_rules_say_what_was_declared(
    declared: list[tuple[Gpu, int, dict[str, Any]]],
) -> None:
    named = {f"pool-{i}": (pool[0], compiled(pool)) for i, pool in enumerate(declared)}
    parted = upstream_rules.read_mig_parted(
        mig_parted_file({mig_config_name(n, p): (g, p) for n, (g, p) in named.items()})
    )
    plugin = device_plugin_files(
        {device_plugin_config_name(n, p): p for n, (_, p) in named.items()}
    )
    for name, (gpu, partition) in named.items():
        labels = registration_labels(name, gpu, partition)
        gpus = len(partition.gpus)
        if gpu.mig is None:
            assert "nvidia.com/mig.config" not in labels
            layouts: list[dict[str, int] | None] = [None] * gpus
        else:
            layouts = upstream_rules.layouts_of(parted[labels["nvidia.com/mig.config"]], gpus)
        assert layouts == [dict(g.devices) if g.mig_enabled else None for g in partition.gpus]
        config = plugin[labels["nvidia.com/device-plugin.config"]]
        assert upstream_rules.allocatable(layouts, yaml_data(config), partition.strategy) == dict(
            partition.advertised
        )
        published = published_labels(gpu, partition)
        assert all(len(value) <= 63 and "+" not in value for value in published.values())


@given(mig_pools(), mig_pools())
def test_a_changed_layout_changes_the_label(
    first: tuple[Gpu, int, dict[str, Any]], second: tuple[Gpu, int, dict[str, Any]]
) -> None:
    one, other = compiled(first), compiled(second)
    same = [dict(g.devices) for g in one.gpus] == [dict(g.devices) for g in other.gpus]
    if one.gpu == other.gpu and one.mig_enabled and other.mig_enabled:
        assert (mig_config_name("p", one) == mig_config_name("p", other)) == same


@given(pools)
def test_every_partition_can_be_drawn(pool: tuple[Gpu, int, dict[str, Any]]) -> None:
    partition = compiled(pool)
    text = draw_partition(pool[0], partition)
    for name in partition.advertised:
        assert name in text
    for layout in partition.gpus:
        if layout.placement is not None and pool[0].mig is not None:
            segments = slot_segments(pool[0].mig, layout.placement)
            assert sum(s.size for s in segments) == pool[0].mig.memory_slots


@given(requests())
def test_occupied_instances_are_kept(request: tuple[Gpu, dict[str, int]]) -> None:
    gpu, wanted = request
    geometry = geometry_of(gpu)
    first = place(geometry, wanted)
    if isinstance(first, Refusal):
        return
    there = [PlacedInstance(i.profile, i.start, i.size) for i in first.instances]
    again = place(geometry, {}, there)
    assert isinstance(again, MigPlacement)
    assert again.free == first.free
    assert again.free_slots == first.free_slots
