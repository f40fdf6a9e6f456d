"""Twelve requests as a buyer states them, each with a calculation by hand of the GPUs it takes.

The calculations were written down before the plans were made. GB are 10^9 bytes; an engine has
0.92 of a GPU, less a few GB for one step: 73 GB of an H100, 130 of an H200, 44 of an L40S, 22 of
an L4.
"""

from dataclasses import dataclass, field
from typing import Any

import pytest

from gpufleet_planner.planning.plan import plan
from gpufleet_planner.sizing.device import DeviceShare
from tests.planner.plan_files import errors, file, service


@dataclass(frozen=True)
class Request:
    gpus: int
    gpu: str
    why: str
    fields: dict[str, Any] = field(default_factory=dict[str, Any])


def serve(gpus: int, gpu: str, why: str, **fields: Any) -> Request:
    return Request(gpus, gpu, why, service("s", **{"context": 8192, **fields}))


REQUESTS = (
    serve(2, "H100-80GB", "71 GB, and 8 x 8,192 x 0.33 MB = 21 GB of cache", batch=8,
          model="Llama-3.1-70B", weights="fp8"),
    serve(1, "L40S", "16 GB, and 16 x 8,192 x 0.13 MB = 17 GB", batch=16, model="Llama-3.1-8B"),
    serve(8, "H200-141GB", "671 GB in FP8", model="DeepSeek-R1"),
    serve(8, "H200-141GB", "595 GB as released", model="moonshotai/Kimi-K2.5"),
    serve(1, "H100-80GB", "63 GB as released", model="gpt-oss-120b"),
    serve(2, "H100-80GB", "66 GB, and 4 x 8,192 x 0.26 MB = 9 GB", batch=4, model="Qwen3-32B"),
    serve(2, "H200-141GB", "141 GB, and 4 x 8,192 x 0.33 MB = 11 GB", batch=4,
          model="Llama-3.3-70B", weights="bf16"),
    serve(8, "H100-80GB", "405 GB in FP8", model="Llama-3.1-405B", weights="fp8"),
    serve(4, "L4", "16 GB, and 1 GB: one each", model="Llama-3.1-8B", weights="bf16", replicas=4),
    serve(8, "H100-80GB", "6,000 tokens/s: 1,600 of two GPUs, as AIConfigurator computes",
          model="Llama-3.3-70B", weights="fp8", prompt=1000, output=300,
          target={"requestsPerSecond": 20, "tokenMs": 50}),
    serve(2, "H100-80GB", "93 GB in BF16", model="Mixtral-8x7B", weights="bf16"),
    Request(3, "L4", "two shares of 11 GB by MPS on each: five on three",
            {"name": "n", "workload": "notebook", "count": 5, "memoryGib": 8}),
)  # fmt: skip


def planned(request: Request) -> float:
    answer = plan(file(request.fields, gpus=[request.gpu]))
    assert errors(answer) == []
    (work,) = answer.workloads
    option = work.option
    if option.share.kind is DeviceShare.WHOLE:
        return option.devices
    return -(-option.devices // option.share.replicas)


def test_eleven_of_twelve_are_within_1_3_of_the_calculation() -> None:
    found = {one.why: (one.gpus, planned(one)) for one in REQUESTS}
    near = [why for why, (hand, gpus) in found.items() if hand / 1.3 <= gpus <= 1.3 * hand]
    assert len(REQUESTS) == 12
    assert len(near) >= 11, found


@pytest.mark.parametrize("confidence", ["expected", "worst"])
def test_a_request_without_a_rate_costs_the_same_with_either_confidence(confidence: str) -> None:
    request = REQUESTS[1]
    answer = plan(file(request.fields, gpus=[request.gpu], confidence=confidence))
    assert answer.gpu_hours == request.gpus
