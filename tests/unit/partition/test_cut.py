from fractions import Fraction
from typing import Any

import pytest

from gpufleet.catalogue import Evidence, Gpu, load
from gpufleet.findings import Finding, Severity
from gpufleet.partition.partition import Partition, cut
from gpufleet.spec.sharing import Sharing

PATH = "pools[0].sharing"


def gpu(key: str) -> Gpu:
    return load().gpu(key)


def validated(
    key: str, count: int, sharing: dict[str, Any], **more: Any
) -> tuple[Partition | None, tuple[Finding, ...]]:
    return cut(gpu(key), count, Sharing.model_validate(sharing), PATH, **more)


def partition(key: str, count: int, sharing: dict[str, Any], **more: Any) -> Partition:
    found, findings = validated(key, count, sharing, **more)
    assert found is not None, findings
    return found


def only_error(key: str, count: int, sharing: dict[str, Any], **more: Any) -> Finding:
    found, findings = validated(key, count, sharing, **more)
    errors = [f for f in findings if f.severity is Severity.ERROR]
    assert found is None
    assert len(errors) == 1, [str(f) for f in findings]
    return errors[0]


def finding(code: str, key: str, count: int, sharing: dict[str, Any], **more: Any) -> Finding:
    _, findings = validated(key, count, sharing, **more)
    matching = [f for f in findings if f.code == code]
    assert len(matching) == 1, [str(f) for f in findings]
    return matching[0]


def mig(*layouts: dict[str, Any], strategy: str = "mixed", **more: Any) -> dict[str, Any]:
    return {"mig": {"strategy": strategy, "layouts": list(layouts), **more}}


class TestWholeGpus:
    def test_exclusive(self) -> None:
        found = partition("L4", 4, {"exclusive": {}})
        assert found.advertised == {"nvidia.com/gpu": 4}
        assert (found.mode, found.strategy, found.replicas) == ("exclusive", "none", 1)
        assert found.shares[0].memory_bytes == gpu("L4").memory_bytes
        assert not found.mig_enabled

    def test_time_slicing_is_renamed_by_default(self) -> None:
        found = partition("L4", 4, {"timeSlicing": {"replicas": 4}})
        assert found.advertised == {"nvidia.com/gpu.shared": 16}
        share = found.shares[0]
        assert (share.per_node, share.replicas) == (16, 4)
        assert share.memory_bytes == (gpu("L4").memory_bytes or 0) // 4
        assert found.fail_requests_greater_than_one

    def test_time_slicing_under_the_old_name(self) -> None:
        found = partition("L4", 1, {"timeSlicing": {"replicas": 4, "rename": False}})
        assert found.advertised == {"nvidia.com/gpu": 4}

    def test_mps_limits_are_whole_mebibytes_and_percents_rounded_down(self) -> None:
        found = partition("L4", 2, {"mps": {"replicas": 48}})
        share = found.shares[0]
        assert found.advertised == {"nvidia.com/gpu.shared": 96}
        assert share.threads_percent == 2
        assert share.memory_bytes == (gpu("L4").memory_bytes or 0) // 2**20 // 48 * 2**20

    def test_fraction_of_a_gpu(self) -> None:
        found = partition("L4", 1, {"timeSlicing": {"replicas": 2}}, fraction=Fraction(1, 8))
        assert found.advertised == {"nvidia.com/gpu.shared": 2}
        assert found.shares[0].memory_bytes == (gpu("L4").memory_bytes or 0) // 8 // 2

    def test_memory_of_the_device_may_be_given(self) -> None:
        found = partition(
            "L4", 1, {"exclusive": {}}, fraction=Fraction(1, 8), device_memory_bytes=2861 * 2**20
        )
        assert found.shares[0].memory_bytes == 2861 * 2**20

    def test_a_node_without_gpus_is_a_mistake_of_the_caller(self) -> None:
        with pytest.raises(ValueError, match="gpus_per_node is 0"):
            validated("L4", 0, {"exclusive": {}})

    def test_other_vendors_are_exclusive_only(self) -> None:
        assert partition("Inferentia2", 1, {"exclusive": {}}).advertised == {
            "aws.amazon.com/neuron": 1
        }
        found = only_error("Inferentia2", 1, {"timeSlicing": {"replicas": 2}})
        assert found.code == "sharing-needs-nvidia"
        assert "NVIDIA GPUs only, Inferentia2 is made by aws" in found.message


class TestMig:
    def test_mixed_with_a_layout_per_gpu(self) -> None:
        found = partition(
            "A100-80GB",
            8,
            mig(
                {"gpus": 4, "devices": {"1g.10gb": 7}},
                {"gpus": 4, "devices": {"3g.40gb": 1, "2g.20gb": 2}},
            ),
        )
        assert found.advertised == {
            "nvidia.com/mig-1g.10gb": 28,
            "nvidia.com/mig-2g.20gb": 8,
            "nvidia.com/mig-3g.40gb": 4,
        }
        assert [g.index for g in found.gpus] == list(range(8))
        assert dict(found.gpus[3].devices) == {"1g.10gb": 7}
        assert dict(found.gpus[4].devices) == {"2g.20gb": 2, "3g.40gb": 1}
        assert found.stranded_memory == 4
        assert found.stranded_compute == 0
        assert found.evidence is Evidence.VERIFIED

    def test_whole_gpus_beside_mig_keep_their_name(self) -> None:
        found = partition("A100-80GB", 4, mig({"gpus": 1, "devices": {"7g.80gb": 1}}))
        assert found.advertised == {"nvidia.com/gpu": 3, "nvidia.com/mig-7g.80gb": 1}
        note = finding(
            "mig-gpus-left-whole", "A100-80GB", 4, mig({"gpus": 1, "devices": {"7g.80gb": 1}})
        )
        assert note.severity is Severity.INFO
        assert "3 of the node's 4 GPUs have no layout" in note.message

    def test_empty_layout_leaves_gpus_whole(self) -> None:
        found = partition(
            "A100-80GB",
            2,
            mig({"gpus": 1, "devices": {}}, {"gpus": 1, "devices": {"1g.10gb": 7}}),
        )
        assert [g.mig_enabled for g in found.gpus] == [False, True]
        assert found.advertised == {"nvidia.com/gpu": 1, "nvidia.com/mig-1g.10gb": 7}

    def test_nothing_cut_needs_no_strategy_and_slices_nothing(self) -> None:
        sharing = mig({"devices": {}}, strategy="single", timeSlicing={"replicas": 4})
        found = partition("A100-80GB", 2, sharing)
        assert (found.strategy, found.replicas) == ("none", 1)
        assert found.advertised == {"nvidia.com/gpu": 2}
        assert finding("mig-nothing-cut", "A100-80GB", 2, sharing).severity is Severity.WARNING

    def test_single(self) -> None:
        found = partition("A100-80GB", 8, mig({"devices": {"1g.10gb": 7}}, strategy="single"))
        assert found.advertised == {"nvidia.com/gpu": 56}
        assert found.shares[0].profile == "1g.10gb"
        assert found.shares[0].memory_bytes == 9728 * 2**20

    def test_time_sliced_slices(self) -> None:
        sharing = mig(
            {"gpus": 1, "devices": {"1g.10gb": 7}}, timeSlicing={"replicas": 4, "rename": True}
        )
        found = partition("A100-80GB", 2, sharing)
        assert found.advertised == {"nvidia.com/gpu": 1, "nvidia.com/mig-1g.10gb.shared": 28}
        assert found.shares[1].memory_bytes == 9728 * 2**20 // 4
        single = mig({"devices": {"1g.10gb": 7}}, strategy="single", timeSlicing={"replicas": 2})
        assert partition("A100-80GB", 2, single).advertised == {"nvidia.com/gpu.shared": 28}

    def test_attributes_are_dotted_in_resources(self) -> None:
        found = partition(
            "RTX-PRO-6000-BLACKWELL-96GB",
            1,
            mig({"devices": {"1g.24gb+me.all": 1, "1g.24gb-me": 3}}),
        )
        assert found.advertised == {
            "nvidia.com/mig-1g.24gb.me.all": 1,
            "nvidia.com/mig-1g.24gb-me": 3,
        }

    def test_compute_instances_under_single(self) -> None:
        found = partition("A100-80GB", 1, mig({"devices": {"1c.3g.40gb": 6}}, strategy="single"))
        assert found.advertised == {"nvidia.com/gpu": 6}
        assert found.shares[0].memory_bytes == 40192 * 2**20 // 3

    def test_names_of_other_drivers_become_ours(self) -> None:
        sharing = mig({"devices": {"1g.24gb": 7}})
        assert partition("GB200-186GB", 4, sharing).advertised == {"nvidia.com/mig-1g.23gb": 28}
        note = finding("mig-profile-renamed", "GB200-186GB", 4, sharing)
        assert note.severity is Severity.INFO
        assert note.path == f'{PATH}.mig.layouts[0].devices["1g.24gb"]'
        assert note.message.startswith("1g.24gb is read as 1g.23gb")


class TestErrors:
    def test_impossible_layout(self) -> None:
        found = only_error(
            "A100-80GB",
            8,
            mig({"gpus": 4, "devices": {"1g.10gb": 3, "2g.20gb": 1, "3g.40gb": 1}}),
        )
        assert found.code == "mig-layout-impossible"
        assert found.path == "pools[0].sharing.mig.layouts[0].devices"
        assert found.message == (
            "{1g.10gb: 3, 2g.20gb: 1, 3g.40gb: 1} cannot exist on one A100-80GB: "
            "8 of 7 compute slices; 9 of 8 memory slots"
        )
        assert found.fix is not None
        assert found.fix.startswith("write `{1g.10gb: 2, 2g.20gb: 1, 3g.40gb: 1}`, or one of")

    def test_profile_of_another_gpu(self) -> None:
        found = only_error("B200-180GB", 8, mig({"devices": {"2g.40gb": 3}}))
        assert found.code == "mig-profile-unknown"
        assert found.path == 'pools[0].sharing.mig.layouts[0].devices["2g.40gb"]'
        assert "1g.23gb, 1g.23gb+me, 1g.45gb, 2g.45gb, 3g.90gb, 4g.90gb, 7g.180gb" in found.message
        assert found.fix == "write `2g.45gb`"

    def test_gpu_without_mig(self) -> None:
        found = only_error("L4", 1, mig({"devices": {"1g.10gb": 1}}))
        assert (found.code, found.message) == ("mig-unsupported", "L4 has no MIG")

    def test_gpu_whose_placements_nobody_published(self) -> None:
        found = only_error("RTX-PRO-4500-BLACKWELL-32GB", 1, mig({"devices": {"1g.16gb": 2}}))
        assert found.code == "mig-placement-unknown"
        assert "no layout of it can be proven" in found.message

    def test_more_gpus_than_the_node_has(self) -> None:
        found = only_error(
            "A100-80GB",
            8,
            mig({"gpus": 5, "devices": {"1g.10gb": 7}}, {"gpus": 4, "devices": {"7g.80gb": 1}}),
        )
        assert found.code == "mig-layouts-exceed-gpus"
        assert found.message == "the layouts take 9 GPUs, a node has 8"

    def test_more_gpus_than_any_list_holds(self) -> None:
        found = only_error("A100-80GB", 8, mig({"gpus": 2**63, "devices": {"7g.80gb": 1}}))
        assert found.message == f"the layouts take {2**63} GPUs, a node has 8"

    def test_all_gpus_and_some(self) -> None:
        found = only_error(
            "A100-80GB",
            8,
            mig({"devices": {"1g.10gb": 7}}, {"gpus": 2, "devices": {"7g.80gb": 1}}),
        )
        assert found.code == "mig-layouts-overlap"
        assert found.path == "pools[0].sharing.mig.layouts[0].gpus"

    def test_single_with_two_profiles(self) -> None:
        found = only_error(
            "A100-80GB", 8, mig({"devices": {"1g.10gb": 4, "3g.40gb": 1}}, strategy="single")
        )
        assert found.code == "mig-single-needs-one-profile"
        assert "the layouts have 2: 1g.10gb, 3g.40gb" in found.message

    def test_single_on_some_gpus(self) -> None:
        found = only_error(
            "A100-80GB", 8, mig({"gpus": 4, "devices": {"1g.10gb": 7}}, strategy="single")
        )
        assert found.code == "mig-single-needs-every-gpu"
        assert "the layouts partition 4 of 8" in found.message

    def test_compute_instances_under_mixed(self) -> None:
        found = only_error("A100-80GB", 1, mig({"devices": {"1c.7g.80gb": 7}}))
        assert found.code == "mig-compute-instance-mixed"
        assert found.fix == "write `7g.80gb`, or `strategy: single` with this profile alone"

    def test_mps_clients(self) -> None:
        found = only_error("L4", 1, {"mps": {"replicas": 49}})
        assert found.code == "mps-too-many-clients"
        assert found.path == "pools[0].sharing.mps.replicas"
        assert found.message == "49 MPS clients, and at most 48 are accepted on L4"
        assert found.fix == "write `replicas: 48`"
        assert only_error("V100-16GB", 1, {"mps": {"replicas": 17}}).evidence["limit"] == 16

    @pytest.mark.parametrize(
        ("field", "limit"), [("activeThreadPercentage", 25), ("pinnedMemoryMib", 5722)]
    )
    def test_an_mps_client_cannot_get_more_than_its_share(self, field: str, limit: int) -> None:
        accepted = {"replicas": 4, field: limit}
        most = partition("L4", 1, {"mps": accepted})
        assert most.replicas == 4
        found = only_error("L4", 1, {"mps": {"replicas": 4, field: limit + 1}})
        assert found.code == "mps-client-limit-too-high"
        assert found.path == f"pools[0].sharing.mps.{field}"
        assert (found.evidence["value"], found.evidence["limit"]) == (limit + 1, limit)

    def test_mps_without_support_or_on_a_fraction(self) -> None:
        assert only_error("K520", 1, {"mps": {"replicas": 2}}).code == "mps-unsupported"
        found = only_error("L4", 1, {"mps": {"replicas": 2}}, fraction=Fraction(1, 4))
        assert found.code == "mps-on-fraction"
        assert "1/4 of a L4" in found.message

    def test_mig_on_a_fraction(self) -> None:
        found = only_error(
            "RTX-PRO-6000-BLACKWELL-96GB",
            1,
            mig({"devices": {"1g.24gb": 1}}),
            fraction=Fraction(1, 2),
        )
        assert found.code == "mig-on-fraction"

    def test_all_at_once(self) -> None:
        _, findings = validated(
            "A100-80GB",
            4,
            mig(
                {"gpus": 4, "devices": {"3g.40gb": 3}},
                {"gpus": 1, "devices": {"2g.40gb": 1}},
                strategy="single",
            ),
        )
        assert {f.code for f in findings if f.severity is Severity.ERROR} == {
            "mig-layouts-exceed-gpus",
            "mig-layout-impossible",
            "mig-profile-unknown",
            "mig-single-needs-one-profile",
        }


class TestWarnings:
    def test_small_shares(self) -> None:
        found = finding("share-memory-small", "T4", 1, {"timeSlicing": {"replicas": 16}})
        assert found.severity is Severity.WARNING
        assert "leave 0.94 GiB each" in found.message
        assert found.fix == "write `replicas: 15` or fewer"

    def test_small_shares_of_a_slice(self) -> None:
        sharing = mig({"devices": {"1g.5gb": 7}}, timeSlicing={"replicas": 8})
        found = finding("share-memory-small", "A100-40GB", 1, sharing)
        assert found.path == "pools[0].sharing.mig.timeSlicing.replicas"
        assert "8 shares of a 1g.5gb slice (4.75 GiB) leave 0.59 GiB each" in found.message

    @pytest.mark.parametrize(
        ("devices", "code", "says", "better"),
        [
            (
                {"3g.40gb": 2},
                "mig-layout-wasteful",
                "leaves 1 of 7 compute slices (14 %) unused, and no further instance can use them",
                {"3g.40gb": 1, "4g.40gb": 1},
            ),
            (
                {"1g.20gb": 4},
                "mig-layout-wasteful",
                "leaves 3 of 7 compute slices (43 %) unused",
                {"1g.20gb": 1, "2g.20gb": 3},
            ),
            (
                {"2g.20gb": 3},
                "mig-layout-unfinished",
                "1 of 7 compute slices (14 %) and 2 of 8 memory slots unused, although more",
                {"1g.20gb": 1, "2g.20gb": 3},
            ),
        ],
    )
    def test_waste(
        self, devices: dict[str, int], code: str, says: str, better: dict[str, int]
    ) -> None:
        found = finding(code, "A100-80GB", 1, mig({"devices": devices}))
        assert found.severity is Severity.WARNING
        assert says in found.message
        assert found.evidence["better"] == better

    @pytest.mark.parametrize(
        "devices",
        [{"1g.10gb": 7}, {"3g.40gb": 1, "4g.40gb": 1}, {"1g.10gb": 4, "3g.40gb": 1}],
    )
    def test_full_layouts_are_not_waste(self, devices: dict[str, int]) -> None:
        assert validated("A100-80GB", 1, mig({"devices": devices}))[1] == ()

    def test_better_layout_keeps_the_media_extension(self) -> None:
        found = finding(
            "mig-layout-unfinished",
            "A100-80GB",
            1,
            mig({"devices": {"1g.10gb+me": 1, "3g.40gb": 1}}),
        )
        better = found.evidence["better"]
        assert isinstance(better, dict)
        assert better["1g.10gb+me"] == 1

    def test_single_says_what_the_better_layout_needs(self) -> None:
        found = finding(
            "mig-layout-wasteful",
            "A100-80GB",
            1,
            mig({"devices": {"3g.40gb": 2}}, strategy="single"),
        )
        assert (found.fix or "").endswith("(needs `strategy: mixed`)")

    def test_inferred_placements(self) -> None:
        found = finding("mig-placement-inferred", "B200-180GB", 1, mig({"devices": {"1g.23gb": 7}}))
        assert found.severity is Severity.INFO
        assert "no `nvidia-smi mig -lgipp` output of this board was found" in found.message


def test_the_same_declaration_gives_the_same_partition() -> None:
    sharing = mig({"gpus": 4, "devices": {"1g.10gb": 4, "3g.40gb": 1}})
    again = mig({"gpus": 4, "devices": {"3g.40gb": 1, "1g.10gb": 4}})
    first, second = partition("A100-80GB", 8, sharing), partition("A100-80GB", 8, again)
    assert first == second
    assert repr(first) == repr(second)
    assert hash(first) == hash(second)
