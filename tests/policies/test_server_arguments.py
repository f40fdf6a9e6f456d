"""Command lines that engines refuse, and like ones that they take.

Heads: the models' config.json. vLLM `verify_with_parallel_config` (vllm-project/vllm#2652: 52 heads
on 8 GPUs; THU-KEG/AdaptThink#1: 28 heads, possible are 1, 2, 4, 7, 14, 28); two MIG devices
(vllm-project/vllm#7211); `gpu_memory_utilization` is above 0 and at most 1 (vllm/config/cache.py).
"""

import pytest

from gpufleet.findings import Level
from tests.policies.cases.case import Case
from tests.policies.cases.pools import QUIET
from tests.policies.cases.workloads import CONTAINER, LIMITS, deployment

RULE = "server-arguments-refused"
GPU, SLICE = "nvidia.com/gpu", "nvidia.com/mig-3g.40gb"
QWEN, LLAMA = "Qwen/Qwen2.5-7B-Instruct", "meta-llama/Llama-3.1-8B-Instruct"
SGLANG = ["python3", "-m", "sglang.launch_server", "--model-path"]

REFUSED = [
    (["vllm", "serve", QWEN, "--tensor-parallel-size", "8"], {GPU: 8}),
    (["vllm", "serve", LLAMA, "-tp", "3"], {GPU: 3}),
    (["vllm", "serve", LLAMA, "--tensor-parallel-size=6"], {GPU: 6}),
    ([*SGLANG, LLAMA, "--tp", "3"], {GPU: 3}),
    (["vllm", "serve", LLAMA, "--tensor-parallel-size", "2"], {SLICE: 2}),
    (["vllm", "serve", LLAMA, "--tensor-parallel-size", "2"], {SLICE: 1}),
    (["vllm", "serve", LLAMA, "--gpu-memory-utilization", "90"], {GPU: 1}),
    (["vllm", "serve", LLAMA, "--gpu-memory-utilization", "1.1"], {GPU: 1}),
]
TAKEN = [
    (["vllm", "serve", QWEN, "--tensor-parallel-size", "4"], {GPU: 4}),
    (["vllm", "serve", LLAMA, "--tensor-parallel-size", "8"], {GPU: 8}),
    (["vllm", "serve", LLAMA, "--pipeline-parallel-size", "3"], {GPU: 3}),
    (["vllm", "serve", "our/own-model-7b", "--tensor-parallel-size", "3"], {GPU: 3}),
    ([*SGLANG, QWEN, "--tp", "8", "--dp", "8", "--enable-dp-attention"], {GPU: 8}),
    (["vllm", "serve", LLAMA], {SLICE: 1}),
    (["vllm", "serve", LLAMA, "--gpu-memory-utilization", "1"], {GPU: 1}),
    (["vllm", "serve", LLAMA, "--gpu-memory-utilization", "0.95"], {GPU: 1}),
    (["torchrun", "--nproc_per_node", "3", "train.py", "--model", LLAMA], {GPU: 3}),
]


def levels(command: list[str], limits: dict[str, int]) -> list[Level]:
    pods = deployment({f"{CONTAINER}.command": command, LIMITS: limits})
    found = Case(RULE, pods, pods, "", alongside=QUIET).findings(pods)
    return [one.level for one in found if one.code == RULE]


@pytest.mark.parametrize(("command", "limits"), REFUSED)
def test_what_the_engine_refuses(command: list[str], limits: dict[str, int]) -> None:
    assert levels(command, limits) == [Level.MANDATORY]


@pytest.mark.parametrize(("command", "limits"), TAKEN)
def test_what_the_engine_takes(command: list[str], limits: dict[str, int]) -> None:
    assert levels(command, limits) == []


# `Cannot find the config file for awq` (vllm-project/vllm#4301 and #13612, weight_utils.py), and a
# method of the configuration that does not match the argument's (vllm-project/vllm#19050).
FORMATS = [
    ([QWEN, "--quantization", "awq"], True),
    ([LLAMA, "-q", "gptq_marlin"], True),
    ([f"{QWEN}-AWQ", "--quantization=gptq"], True),
    ([f"{QWEN}-GPTQ-Int4", "--quantization=awq_marlin"], True),
    ([f"{QWEN}-AWQ", "--quantization=awq_marlin"], False),
    ([f"{QWEN}-GPTQ-Int8", "--quantization", "gptq"], False),
    ([QWEN, "--quantization", "fp8"], False),
    ([QWEN, "--quantization", "bitsandbytes"], False),
    ([QWEN, "--dtype", "half"], False),
    (["our/Qwen2.5-7B-Instruct", "--quantization", "awq"], False),
    (["/models/Qwen2.5-7B-Instruct", "--quantization", "awq"], False),
    (["openai/gpt-oss-20b", "--quantization", "awq"], False),
    ([QWEN, "--quantization", "awq", "--revision=4bit"], False),
]


@pytest.mark.parametrize(("words", "is_refused"), FORMATS)
def test_a_format_that_the_release_has_or_not(words: list[str], is_refused: bool) -> None:
    command = {f"{CONTAINER}.command": ["vllm", "serve", *words]}
    pods = deployment({f"{CONTAINER}.image": "vllm/vllm-openai:v0.11.0", **command})
    found = Case("server-options-refused", pods, pods, "", alongside=QUIET).findings(pods)
    assert ("server-options-refused" in {one.code for one in found}) == is_refused
