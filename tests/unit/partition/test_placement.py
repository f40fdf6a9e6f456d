import itertools
import time
from collections import Counter

import pytest

from gpufleet.catalogue import Evidence, Gpu, MigGeometry, load
from gpufleet.partition.placement import MigPlacement, PlacedInstance, Refusal, place
from tests.examples import sweep
from tests.unit.partition import brute_force

PARTITIONABLE = [gpu for gpu in load().gpus.values() if gpu.mig is not None]


def geometry_of(key: str) -> MigGeometry:
    geometry = load().gpu(key).mig
    assert geometry is not None
    return geometry


def shape(geometry: MigGeometry) -> tuple[object, ...]:
    """Everything that decides what fits, names aside."""
    return (
        geometry.compute_slices,
        geometry.memory_slots,
        tuple(
            (
                p.compute_slices,
                p.memory_slots,
                p.starts,
                p.max_instances,
                p.name.endswith(("+me", "+me.all")),
                tuple(p.engines.get(e) for e in ("nvdec", "nvenc", "jpeg", "ofa")),
            )
            for p in geometry.profiles.values()
        ),
    )


ONE_PER_SHAPE = list({shape(gpu.mig): gpu for gpu in PARTITIONABLE if gpu.mig}.values())


COMPARED = sweep(ONE_PER_SHAPE, "gpufleet/partition/*.py", "gpus.jsonl", "mig.jsonl")


def placed(answer: MigPlacement | Refusal) -> MigPlacement:
    assert isinstance(answer, MigPlacement), answer
    return answer


def refused(answer: MigPlacement | Refusal) -> Refusal:
    assert isinstance(answer, Refusal), answer
    return answer


def every_multiset(geometry: MigGeometry) -> list[dict[str, int]]:
    """All multisets within the maximum counts; on GPUs with many variants, of up to five
    instances, one more than any of them holds."""
    names = list(geometry.profiles)
    if len(names) <= 7:
        ranges = (range(p.max_instances + 1) for p in geometry.profiles.values())
        return [dict(zip(names, counts, strict=True)) for counts in itertools.product(*ranges)]
    assert geometry.compute_slices == 4
    return [
        dict(Counter(chosen))
        for size in range(6)
        for chosen in itertools.combinations_with_replacement(names, size)
    ]


def assert_legal(geometry: MigGeometry, placement: MigPlacement) -> None:
    taken: list[int] = []
    for instance in (*placement.instances, *placement.occupied):
        profile = geometry.profiles[instance.profile]
        assert instance.start in profile.starts
        assert instance.size == profile.memory_slots
        taken += range(instance.start, instance.start + instance.size)
    assert len(taken) == len(set(taken)), "instances overlap"
    assert set(taken) <= set(range(geometry.memory_slots))
    counts = Counter(i.profile for i in (*placement.instances, *placement.occupied))
    assert brute_force.limits_hold(geometry, counts)


@pytest.mark.parametrize("gpu", COMPARED, ids=lambda gpu: gpu.key)
def test_equals_brute_force_on_every_multiset(gpu: Gpu) -> None:
    geometry = gpu.mig
    assert geometry is not None
    legal = {brute_force.multiset(found) for found in brute_force.placed_sets(geometry)}
    checked = 0
    for wanted in every_multiset(geometry):
        answer = place(geometry, wanted)
        counts = frozenset((n, c) for n, c in wanted.items() if c)
        assert isinstance(answer, MigPlacement) == (counts in legal), wanted
        if isinstance(answer, MigPlacement):
            assert answer.devices == dict(counts)
            assert_legal(geometry, answer)
            checked += 1
        else:
            assert answer.reasons
            for layout in answer.alternatives:
                assert frozenset(layout.devices.items()) in legal
    assert checked == len(legal), "some legal layout was not among the multisets"


def test_every_partitionable_gpu_has_a_shape_that_was_compared() -> None:
    compared = {shape(gpu.mig) for gpu in ONE_PER_SHAPE if gpu.mig is not None}
    assert len(PARTITIONABLE) == 14
    assert {shape(gpu.mig) for gpu in PARTITIONABLE if gpu.mig is not None} == compared


@pytest.mark.parametrize("key", ["A100-80GB", "B300-269GB"])
def test_plain_seven_slice_parts_have_77_layouts_of_which_28_are_full(key: str) -> None:
    geometry = geometry_of(key)
    plain = [n for n in geometry.profiles if "+" not in n]
    answers = [
        place(geometry, wanted)
        for wanted in every_multiset(geometry)
        if all(count == 0 or name in plain for name, count in wanted.items())
    ]
    legal = [answer for answer in answers if isinstance(answer, MigPlacement)]
    assert len(legal) - 1 == 77  # the empty GPU aside
    by_counts = {frozenset(answer.devices.items()) for answer in legal}
    full = [
        counts
        for counts in by_counts
        if not any(
            frozenset((Counter(dict(counts)) + Counter([name])).items()) in by_counts
            for name in plain
        )
    ]
    assert len(full) == 28


@pytest.mark.parametrize("gpu", ONE_PER_SHAPE, ids=lambda gpu: gpu.key)
def test_what_is_left_equals_brute_force(gpu: Gpu) -> None:
    geometry = gpu.mig
    assert geometry is not None
    seen: set[frozenset[tuple[str, int]]] = set()
    for found in brute_force.placed_sets(geometry):
        counts = brute_force.multiset(found)
        if counts in seen:
            continue
        seen.add(counts)
        answer = placed(place(geometry, dict(counts)))
        there = tuple((i.profile, i.start) for i in answer.instances)
        more = list(brute_force.placed_sets(geometry, there))
        alongside = {brute_force.multiset(m) for m in more}
        full = {
            m
            for m in alongside
            if not any(
                frozenset((Counter(dict(m)) + Counter([n])).items()) in alongside
                for n in geometry.profiles
            )
        }
        assert {frozenset(c.items()) for c in answer.completions} == full - {frozenset()}
        for name in geometry.profiles:
            alone = [dict(m)[name] for m in alongside if set(dict(m)) == {name}]
            assert answer.free.get(name, 0) == max(alone, default=0)
        compute = max(sum(geometry.profiles[n].compute_slices for n, _ in m) for m in more)
        memory = max(sum(geometry.profiles[n].memory_slots for n, _ in m) for m in more)
        assert answer.stranded_compute == answer.unused_compute - compute
        assert answer.stranded_memory == answer.unused_memory - memory


def test_equals_brute_force_beside_every_state_of_an_a30() -> None:
    geometry = geometry_of("A30-24GB")
    wanted = every_multiset(geometry)
    for state in list(brute_force.placed_sets(geometry)):
        alongside = {brute_force.multiset(m) for m in brute_force.placed_sets(geometry, state)}
        occupied = [PlacedInstance(n, s, geometry.profiles[n].memory_slots) for n, s in state]
        for request in wanted:
            answer = place(geometry, request, occupied)
            counts = frozenset((n, c) for n, c in request.items() if c)
            assert isinstance(answer, MigPlacement) == (counts in alongside), (state, request)
            if isinstance(answer, MigPlacement):
                assert_legal(geometry, answer)


def test_single_additions_beside_every_state_of_an_a100() -> None:
    geometry = geometry_of("A100-40GB")
    states = {frozenset(state) for state in brute_force.placed_sets(geometry)}
    for state in sorted(states, key=sorted)[::7]:
        occupied = [PlacedInstance(n, s, geometry.profiles[n].memory_slots) for n, s in state]
        for name, profile in geometry.profiles.items():
            fits = any(state | {(name, start)} in states for start in profile.starts)
            fits = fits and not all((name, start) in state for start in profile.starts)
            possible = any(
                (name, start) not in state and state | {(name, start)} in states
                for start in profile.starts
            )
            assert isinstance(place(geometry, {name: 1}, occupied), MigPlacement) == possible
            assert fits or not possible


def test_the_start_decides_beside_existing_instances() -> None:
    geometry = geometry_of("A100-80GB")
    low = [PlacedInstance("1g.10gb", 0, 1)]
    answer = refused(place(geometry, {"4g.40gb": 1}, low))
    assert [r.code for r in answer.reasons] == ["no-start-free"]
    assert "no start slot is free" in answer.why
    high = [PlacedInstance("1g.10gb", 4, 1)]
    assert placed(place(geometry, {"4g.40gb": 1}, high)).instances[0].start == 0


def test_three_gigabyte_slices_keep_the_end_that_leaves_most() -> None:
    answer = placed(place(geometry_of("A100-80GB"), {"1g.10gb": 3, "3g.40gb": 1}))
    # With the 3g at 0 the fourth 1g would find no slot of its own compute: it sits at 4.
    assert [(i.profile, i.start) for i in answer.instances] == [
        ("1g.10gb", 0),
        ("1g.10gb", 1),
        ("1g.10gb", 2),
        ("3g.40gb", 4),
    ]
    assert answer.free == {"1g.10gb": 1, "1g.10gb+me": 1}
    assert answer.free_slots == (3,)
    assert (answer.unused_compute, answer.stranded_compute) == (1, 0)


def test_the_order_of_the_request_changes_nothing() -> None:
    geometry = geometry_of("H100-80GB")
    wanted = {"1g.10gb": 2, "2g.20gb": 1, "3g.40gb": 1}
    answers = {
        repr(place(geometry, dict(items))) for items in itertools.permutations(wanted.items())
    }
    assert len(answers) == 1


class TestRefusals:
    def test_published_layout_of_eight_compute_slices(self) -> None:
        answer = refused(
            place(geometry_of("A100-80GB"), {"1g.10gb": 3, "2g.20gb": 1, "3g.40gb": 1})
        )
        assert answer.why == "8 of 7 compute slices; 9 of 8 memory slots"
        assert [(dict(a.devices), a.changes) for a in answer.alternatives] == [
            ({"1g.10gb": 2, "2g.20gb": 1, "3g.40gb": 1}, 1),
            ({"1g.10gb": 4, "3g.40gb": 1}, 1),
            ({"1g.10gb": 3, "2g.20gb": 2}, 1),
        ]

    def test_profile_of_another_gpu(self) -> None:
        answer = refused(place(geometry_of("B200-180GB"), {"2g.40gb": 3}))
        assert answer.reasons[0].code == "profile-unknown"
        assert answer.reasons[0].similar[0] == "2g.45gb"
        assert answer.why.startswith("there is no profile 2g.40gb, nearest is 2g.45gb (it has 1g.")
        assert dict(answer.alternatives[0].devices) == {"2g.45gb": 3}
        assert answer.alternatives[0].changes == 3

    def test_unknown_profile_does_not_hide_that_the_rest_is_too_much(self) -> None:
        answer = refused(place(geometry_of("A100-80GB"), {"2g.45gb": 1, "3g.40gb": 3}))
        assert [r.code for r in answer.reasons] == [
            "profile-unknown",
            "too-many-instances",
            "compute-exceeded",
            "memory-exceeded",
        ]

    def test_compute_fits_but_memory_does_not(self) -> None:
        answer = refused(place(geometry_of("A100-80GB"), {"3g.40gb": 2, "1g.10gb": 1}))
        assert answer.why == "9 of 8 memory slots"

    def test_two_media_extensions(self) -> None:
        answer = refused(place(geometry_of("A30-24GB"), {"1g.6gb+me": 1, "2g.12gb+me": 1}))
        assert "media-extension-exceeded" in [r.code for r in answer.reasons]
        assert "one GPU has one media extension" in answer.why

    def test_me_all_takes_every_engine(self) -> None:
        geometry = geometry_of("RTX-PRO-6000-BLACKWELL-96GB")
        alongside_plain = refused(place(geometry, {"1g.24gb+me.all": 1, "1g.24gb": 1}))
        assert {r.code for r in alongside_plain.reasons} == {"engines-exceeded"}
        assert alongside_plain.why.startswith("5 of 4 nvdec engines")
        placed(place(geometry, {"1g.24gb+me.all": 1, "1g.24gb-me": 3}))

    @pytest.mark.parametrize("count", [-1, 1.5, True, "3", None])
    def test_counts_that_are_none(self, count: object) -> None:
        answer = refused(place(geometry_of("A100-80GB"), {"1g.10gb": count}))  # type: ignore[dict-item]
        assert answer.reasons[0].code == "count-invalid"
        found = "a truth value" if count is True else repr(count)
        assert f"{found} is not a count" in answer.why

    def test_enormous_count(self) -> None:
        answer = refused(place(geometry_of("A100-80GB"), {"1g.10gb": 10**30}))
        assert dict(answer.alternatives[0].devices) == {"1g.10gb": 7}

    @pytest.mark.parametrize(
        ("instance", "says"),
        [
            (PlacedInstance("9g.10gb", 0, 1), "there is no such profile"),
            (PlacedInstance("3g.40gb", 2, 4), "3g.40gb starts at 0, 4 and takes 4"),
            (PlacedInstance("1g.10gb", 0, 2), "1g.10gb starts at 0, 1, 2, 3, 4, 5, 6 and takes 1"),
        ],
    )
    def test_occupied_instances_that_cannot_be(self, instance: PlacedInstance, says: str) -> None:
        answer = refused(place(geometry_of("A100-80GB"), {"1g.10gb": 1}, [instance]))
        assert [r.code for r in answer.reasons] == ["occupied-illegal"]
        assert says in answer.why

    def test_occupied_instances_that_overlap_or_exceed(self) -> None:
        geometry = geometry_of("A100-80GB")
        overlapping = [PlacedInstance("3g.40gb", 0, 4), PlacedInstance("2g.20gb", 2, 2)]
        assert "overlaps another" in refused(place(geometry, {}, overlapping)).why
        full = [
            PlacedInstance("4g.40gb", 0, 4),
            PlacedInstance("2g.20gb", 4, 2),
            PlacedInstance("1g.20gb", 6, 2),
        ]
        assert placed(place(geometry, {}, full)).used_compute == 7
        two_media = [PlacedInstance("1g.10gb+me", 0, 1), PlacedInstance("1g.10gb+me", 1, 1)]
        assert "break a limit: 2 x 1g.10gb+me" in refused(place(geometry, {}, two_media)).why


class TestComputeInstances:
    def test_three_share_one_gpu_instance(self) -> None:
        answer = placed(place(geometry_of("A100-80GB"), {"1c.3g.40gb": 3}))
        assert answer.devices == {"3g.40gb": 1}
        assert answer.instances[0].compute_instances == ("1c.3g.40gb",) * 3

    def test_beside_an_undivided_one(self) -> None:
        answer = placed(place(geometry_of("A100-80GB"), {"1c.3g.40gb": 2, "3g.40gb": 1}))
        assert [i.compute_instances for i in answer.instances] == [(), ("1c.3g.40gb",) * 2]

    def test_packed_tightly(self) -> None:
        answer = placed(place(geometry_of("A100-80GB"), {"2c.3g.40gb": 2, "1c.3g.40gb": 2}))
        assert answer.devices == {"3g.40gb": 2}

    def test_more_slices_than_the_instance_has(self) -> None:
        answer = refused(place(geometry_of("A100-80GB"), {"4c.3g.40gb": 1}))
        assert answer.why == (
            "4c.3g.40gb: a compute instance of 4 slices does not fit into 3g.40gb, which has 3"
        )

    def test_prefix_that_takes_the_whole_instance_is_the_plain_profile(self) -> None:
        answer = placed(place(geometry_of("A100-80GB"), {"3c.3g.40gb": 1}))
        assert answer.instances[0].compute_instances == ()
        assert answer.renamed == {"3c.3g.40gb": "3g.40gb"}


@pytest.mark.parametrize(
    ("key", "name", "own"),
    [("GB200-186GB", "1g.24gb", "1g.23gb"), ("GB300-278GB", "3g.126gb", "3g.139gb")],
)
def test_names_of_other_drivers_are_resolved(key: str, name: str, own: str) -> None:
    answer = placed(place(geometry_of(key), {name: 1}))
    assert answer.devices == {own: 1}
    assert answer.renamed == {name: own}


def test_same_name_means_another_thing_on_another_gpu() -> None:
    assert placed(place(geometry_of("A100-80GB"), {"1g.10gb": 7})).used_memory == 7
    answer = refused(place(geometry_of("A100-40GB"), {"1g.10gb": 7}))
    assert "7 x 1g.10gb, at most 4" in answer.why


def test_evidence_is_the_weakest_of_what_is_used() -> None:
    assert place(geometry_of("A100-80GB"), {"1g.10gb": 1}).evidence is Evidence.VERIFIED
    assert place(geometry_of("H200-141GB"), {"1g.18gb": 1}).evidence is Evidence.PARTLY_VERIFIED
    assert place(geometry_of("B200-180GB"), {"1g.23gb": 1}).evidence is Evidence.INFERRED


def test_a_decision_takes_less_than_a_millisecond() -> None:
    """Median processor time over multisets of the largest geometry, each on its first
    call."""
    geometry = geometry_of("RTX-PRO-6000-BLACKWELL-96GB")
    place(geometry, {})
    times: list[float] = []
    for wanted in every_multiset(geometry)[::4]:
        began = time.thread_time()
        place(geometry, wanted)
        times.append(time.thread_time() - began)
    assert sorted(times)[len(times) // 2] < 1e-3
