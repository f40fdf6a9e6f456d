"""Models that vendors and engines report to fit, and not to fit: with margin, usual utilisation."""

import pytest

from gpufleet.catalogue import load
from gpufleet_planner.sizing.request import SizeRequest
from gpufleet_planner.sizing.sized import size

CATALOGUE = load()

FITS = (
    # OpenAI's model cards: 120b on one 80 GB GPU, 20b within 16 GB; on Ampere by vLLM's recipe.
    ("gpt-oss-120b", "mxfp4", "H100-80GB", 1, 8192, True),
    ("gpt-oss-120b", "mxfp4", "A100-80GB", 1, 8192, True),
    ("gpt-oss-20b", "mxfp4", "L4", 1, 4096, True),
    # Meta: Scout in 4 bit on one H100, Maverick in FP8 and 405B in FP8 on one host of eight.
    ("Llama-4-Scout", "gptq-int4", "H100-80GB", 1, 8192, True),
    ("Llama-4-Scout", "bf16", "H100-80GB", 1, 8192, False),
    ("Llama-4-Maverick", "fp8", "H100-80GB", 8, 8192, True),
    ("Llama-4-Maverick", "bf16", "H100-80GB", 8, 8192, False),
    ("Llama-3.1-405B", "fp8", "H100-80GB", 8, 4096, True),
    ("Llama-3.1-405B", "bf16", "H100-80GB", 8, 4096, False),
    ("Llama-3.1-405B", "bf16", "H200-141GB", 8, 4096, True),
    # DeepSeek-V3's own guide: 671 GB in FP8 take eight H200, or sixteen H100.
    ("DeepSeek-V3", "fp8", "H100-80GB", 8, 4096, False),
    ("DeepSeek-V3", "fp8", "H200-141GB", 8, 4096, True),
    # Started on four H100 (vllm-project/vllm#21348).
    ("Qwen3-235B-A22B", "fp8", "H100-80GB", 4, 32_768, True),
    ("Qwen3-235B-A22B", "bf16", "H100-80GB", 8, 8192, True),
    ("Qwen3-235B-A22B", "bf16", "H100-80GB", 4, 8192, False),
    # Mistral: 8x7B in 16 bit takes two 80 GB GPUs, 8x22B four.
    ("Mixtral-8x7B", "bf16", "A100-80GB", 1, 4096, False),
    ("Mixtral-8x7B", "bf16", "A100-80GB", 2, 4096, True),
    ("Mixtral-8x22B", "bf16", "A100-80GB", 2, 4096, False),
    ("Mixtral-8x22B", "bf16", "A100-80GB", 4, 4096, True),
    # Google: 27B in 16 bit on one H100.
    ("Gemma-3-27b", "bf16", "H100-80GB", 1, 8192, True),
    ("Llama-3.1-70B", "bf16", "A100-80GB", 2, 4096, True),
    ("Llama-3.1-70B", "bf16", "H100-80GB", 1, 2048, False),
    ("Qwen3-32B", "bf16", "A100-80GB", 1, 8192, True),
    ("Llama-3.1-8B", "bf16", "A10G", 1, 8192, True),
    ("Llama-3.1-8B", "fp16", "T4", 1, 2048, False),
    ("Llama-2-13B", "bf16", "A10G", 1, 2048, False),
    ("Phi-3-mini-4k", "fp16", "T4", 1, 4096, True),
)


@pytest.mark.parametrize(("name", "weights", "gpu", "tensor", "context", "expected"), FITS)
def test_it_fits_as_published(
    name: str, weights: str, gpu: str, tensor: int, context: int, expected: bool
) -> None:
    asked = {"model": name, "weights": weights, "gpu": gpu, "context": context}
    request = SizeRequest.model_validate({**asked, "parallelism": {"tensor": tensor}})
    answer = size(request, CATALOGUE)
    assert answer.fits is expected, answer.findings


@pytest.mark.parametrize(
    ("name", "gpu", "tensor", "served", "tuned"),
    [
        ("openai/gpt-oss-120b", "H100-80GB", 1, "mxfp4", "bf16"),
        ("deepseek-ai/DeepSeek-V3", "H200-141GB", 8, "fp8", "bf16"),
        ("meta-llama/Llama-3.1-8B", "L4", 1, "bf16", "bf16"),
    ],
)
def test_a_named_model_is_served_as_released_and_tuned_from_16_bit(
    name: str, gpu: str, tensor: int, served: str, tuned: str
) -> None:
    asked = {"model": name, "gpu": gpu, "context": 8192, "parallelism": {"tensor": tensor}}
    ledgers = {}
    for workload in ("inference", "lora"):
        for weights in (None, served, tuned):
            request = {**asked, "workload": workload, "weights": weights}
            answer = size(SizeRequest.model_validate(request), CATALOGUE)
            ledgers[workload, weights] = answer.ledger
            assert answer.fits or workload == "lora" or weights == "bf16"
    assert ledgers["inference", None] == ledgers["inference", served]
    assert ledgers["lora", None] == ledgers["lora", tuned]


@pytest.mark.parametrize(
    ("name", "workload", "gpu", "expected"),
    [
        # Notebooks with one T4 tune 8B by QLoRA; BF16 arithmetic is not what it needs.
        ("Llama-3.1-8B", "qlora", "T4", True),
        ("Llama-3.1-8B", "lora", "A10G", True),
        ("Llama-3.1-70B", "qlora", "A100-80GB", True),
        ("Llama-3.1-70B", "qlora", "A100-40GB", False),
        ("Llama-3.1-8B", "full-fine-tuning", "H100-80GB", False),
    ],
)
def test_jobs_on_one_gpu_fit_as_known(name: str, workload: str, gpu: str, expected: bool) -> None:
    asked = {"model": name, "workload": workload, "gpu": gpu, "context": 2048}
    saving = {"checkpointing": "full", "loss": "chunked"}
    answer = size(SizeRequest.model_validate({**asked, **saving}), CATALOGUE)
    assert answer.fits is expected, answer.findings


def test_lora_over_a_16_bit_base_says_fp16_on_an_old_gpu() -> None:
    asked = {"model": "Llama-3.2-1B", "workload": "lora", "gpu": "T4", "context": 512}
    answer = size(SizeRequest.model_validate(asked), CATALOGUE)
    assert [f.code for f in answer.findings] == ["format-unsupported"]
    again = size(SizeRequest.model_validate({**asked, "weights": "fp16"}), CATALOGUE)
    assert again.fits is True
