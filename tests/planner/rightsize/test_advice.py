"""Advice for single workloads, and unknown cases."""

import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from gpufleet.catalogue import load
from gpufleet.cost.dump import read_series
from gpufleet_planner.planning.need import Isolation
from gpufleet_planner.planning.offers import Market
from gpufleet_planner.rightsize.advice import Advice, Conclusion, Confidence, advise
from gpufleet_planner.rightsize.usage import workloads
from gpufleet_planner.sizing.device import DeviceShare
from tests.planner.rightsize.samples import Truth, answer

MARKET = Market(("eks",), "us-east-1")
SMALL = Truth("chat", "NVIDIA A100-SXM4-80GB", peak_gib=8, compute=0.1, bandwidth=0.05)
LIMITS: dict[str, Any] = {
    "isolation": Isolation.MEMORY,
    "least_saving": Fraction(1, 10),
    "max_slowdown": Fraction(2),
}
"""As the options of the command have them."""
MEMORY_ONLY = ("DCGM_FI_DEV_FB_USED",)


def advice(*truths: Truth, isolation: Isolation = Isolation.MEMORY) -> dict[str, Advice]:
    found = [
        advise(one, MARKET, load(), **{**LIMITS, "isolation": isolation})
        for one in workloads(read_series(answer(truths)))
    ]
    return {one.workload.name: one for one in found}


def only(truth: Truth, isolation: Isolation = Isolation.MEMORY) -> Advice:
    return advice(truth, isolation=isolation)[truth.name]


def test_a_deployment_is_named_through_its_replica_set() -> None:
    found = only(SMALL)
    assert (found.workload.namespace, found.workload.kind) == ("ml", "Deployment")
    assert found.confidence is Confidence.HIGH


def test_a_pod_without_an_owner_is_a_pod() -> None:
    found = advice(replace(SMALL, kind="none"))
    assert [one.workload.kind for one in found.values()] == ["Pod"]


def test_a_share_on_which_work_takes_more_than_twice_as_long_needs_a_wider_bound() -> None:
    slow = advice(SMALL)["chat"]
    assert slow.slowdown is not None
    assert slow.slowdown <= 2
    wider = {**LIMITS, "max_slowdown": Fraction(20)}
    wide = advise(workloads(read_series(answer([SMALL])))[0], MARKET, load(), **wider)
    assert wide.slowdown is not None
    assert wide.slowdown > 2
    assert wide.saving_micro_usd is not None
    assert slow.saving_micro_usd is not None
    assert wide.saving_micro_usd > slow.saving_micro_usd


def test_hardware_isolation_allows_slices_and_whole_gpus_only() -> None:
    found = only(SMALL, Isolation.HARDWARE)
    assert found.proposal is not None
    assert found.proposal.share.resource_key.startswith(("mig-", "whole"))


def test_a_slice_is_compared_with_what_the_slice_has() -> None:
    truth = replace(SMALL, profile="3g.40gb", peak_gib=8, compute=0.9, bandwidth=0.9)
    found = only(truth, Isolation.HARDWARE)
    assert found.holds == "A100-80GB 3g.40gb"
    # 0.9 of a 3g slice (42 of 108 multiprocessors) is 0.35 of an A100: no smaller slice has it.
    assert found.proposal is None or found.proposal.share.profile not in {"1g.10gb", "2g.20gb"}


def test_what_a_fitting_workload_used_is_named() -> None:
    found = only(replace(SMALL, peak_gib=76, compute=0.95, bandwidth=0.95))
    assert found.verdict is Conclusion.FITS
    assert found.reason.startswith("peak of 76.")
    assert "no sufficient device costs noticeably less" in found.reason


def test_the_user_of_mps_pods_is_a_risk_that_is_named() -> None:
    """One MPS server serves one user (NVIDIA `nvidia-cuda-mps-control` manual)."""
    shared, alone = only(SMALL), only(SMALL, Isolation.HARDWARE)
    assert shared.proposal is not None
    assert shared.proposal.share.kind is DeviceShare.MPS
    assert any("run as user 1000" in risk for risk in shared.risks)
    assert not any("run as user" in risk for risk in alone.risks)


def test_two_pods_on_one_device_are_not_told_apart() -> None:
    found = advice(replace(SMALL, shared_with="gpu"), replace(SMALL, name="b", shared_with="gpu"))
    assert {one.verdict for one in found.values()} == {Conclusion.UNKNOWN}
    assert "DCGM counts by device" in found["chat"].reason


def test_a_request_for_a_share_is_not_told_apart_either() -> None:
    document = json.loads(answer([SMALL]))
    asked = {"namespace": "ml", "pod": "chat-5d9c-0", "resource": "nvidia_com_gpu_shared"}
    row = {"metric": {"__name__": "kube_pod_container_resource_requests", **asked}}
    document["data"]["result"].append({**row, "values": [[1_790_000_000, "1"]]})
    (found,) = workloads(read_series(json.dumps(document)))
    assert advise(found, MARKET, load(), **LIMITS).verdict is Conclusion.UNKNOWN


def test_without_a_measure_of_compute_nothing_is_proposed() -> None:
    found = only(replace(SMALL, series=MEMORY_ONLY))
    assert (found.verdict, found.saving_micro_usd) == (Conclusion.UNKNOWN, None)
    assert "not measured" in found.reason


def test_utilisation_stands_in_for_activity_but_not_on_mig() -> None:
    series = ("DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_FB_USED")
    assert only(replace(SMALL, series=series)).verdict is Conclusion.SMALLER
    assert only(replace(SMALL, series=series, profile="3g.40gb")).verdict is Conclusion.UNKNOWN


def test_memory_that_may_be_reserved_is_not_taken_for_use() -> None:
    """vLLM fills 0.9 of the GPU at its start: the peak does not show the need, and a device with
    less memory is not proposed, one with the same is."""
    truth = replace(SMALL, model="NVIDIA A10G", peak_gib=20.4, steady=True)
    found = only(truth)
    assert found.proposal is not None
    assert found.proposal.share.usable_bytes >= load().gpus["A10G"].memory_bytes


def test_gpus_that_never_worked_are_left_out() -> None:
    found = only(Truth("train", "NVIDIA A100-SXM4-80GB", 70, 0.9, 0.4, devices=4, working=2))
    assert found.verdict is Conclusion.FEWER
    assert found.proposal is not None
    assert (found.holds, found.proposal.devices_each) == ("4 x A100-80GB", 2)
    assert found.proposal.share.label == "A100-80GB"
    assert found.saving_micro_usd == pytest.approx((found.micro_usd or 0) / 2)


def test_an_idle_workload_can_go_to_zero() -> None:
    found = only(Truth("nb", "NVIDIA L4", 0.4, 0.0, 0.0))
    assert found.verdict is Conclusion.IDLE
    assert found.saving_micro_usd == found.micro_usd
    assert found.risks == ("work between two samples is not seen",)


def test_few_hours_are_little_to_rest_on() -> None:
    found = only(replace(SMALL, days=1))
    assert found.confidence is not Confidence.HIGH
    assert any("a rarer peak is not seen" in risk for risk in found.risks)


def test_a_gpu_that_the_catalogue_lacks_is_named() -> None:
    found = only(replace(SMALL, model="NVIDIA Z9000"))
    assert (found.verdict, found.gpu) == (Conclusion.UNKNOWN, None)
    assert "NVIDIA Z9000" in found.reason


def test_a_gpu_without_the_formats_of_the_present_one_is_not_proposed() -> None:
    """An L4 computes in FP8 and a T4 does not: which formats a program uses is not measured."""
    found = only(Truth("chat", "NVIDIA L4", 5, 0.05, 0.05), Isolation.HARDWARE)
    assert found.proposal is None or found.proposal.machine.gpu.key not in {"T4", "A10G"}


def test_a_gpu_without_published_rates_is_not_said_to_fit() -> None:
    """Cheaper GPUs may have been enough: without rates that is not known."""
    model = "NVIDIA RTX PRO 4500 Blackwell Server Edition"
    found = only(Truth("busy", model, peak_gib=9, compute=0.95, bandwidth=0.9))
    assert found.verdict is Conclusion.UNKNOWN
    assert found.reason == (
        "no rates of RTX-PRO-4500-BLACKWELL-32GB are published to compare other GPUs with"
    )
    assert found.micro_usd is not None
    assert found.saving_micro_usd is None
