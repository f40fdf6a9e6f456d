"""Whether an engine starts: public starts of vLLM, what it refused, and what is not known."""

import json
from pathlib import Path
from typing import Any

import pytest

from gpufleet.catalogue import load
from gpufleet_planner.planning.plan import plan
from gpufleet_planner.sizing.request import SizeRequest
from gpufleet_planner.sizing.sized import Sizing, size
from tests.data.test_model_sizes import CONFIGS
from tests.planner.plan_files import errors, file, service
from tests.planner.sizing.measurements import GIB

CATALOGUE = load()


def ask(name: str, folder: Path, **fields: Any) -> Sizing:
    config = folder / "config.json"
    config.write_text(json.dumps(CONFIGS[name]), "utf-8")
    row = {"model": str(config), "context": 8192, "engine": "vllm", **fields}
    return size(SizeRequest.model_validate(row), CATALOGUE)


@pytest.mark.parametrize(
    ("fields", "blocks"),
    [
        # vllm-project/recipes#551: Qwen3.6-27B-FP8 on one H100, 856 blocks for 1024 sequences.
        ({"gpu": "H100-80GB", "weights": "fp8", "utilisation": 0.95}, 856),
        # A start log of 2026 of the same shape in BF16 on one RTX PRO 6000 of 96 GB: 635.
        ({"gpu": "RTX-PRO-6000-BLACKWELL-96GB", "utilisation": 0.9}, 635),
    ],
)
def test_a_hybrid_is_refused_where_vllm_refuses_it(
    fields: dict[str, Any], blocks: int, tmp_path: Path
) -> None:
    answer = ask("Qwen/Qwen3.5-27B", tmp_path, maxSequences=1024, **fields)
    assert answer.fits is False
    (found,) = [f for f in answer.findings if f.code == "engine-refuses-sequences"]
    limit = found.evidence["limit"]
    assert isinstance(limit, int)
    # Never above what the engine had.
    assert 0.75 * blocks <= limit <= blocks
    assert found.fix == f"write maxSequences of at most {limit}"
    answer = ask("Qwen/Qwen3.5-27B", tmp_path, maxSequences=256, **fields)
    assert answer.fits is True


def test_a_start_that_hangs_on_what_vllm_measures_is_shown_with_its_worst(tmp_path: Path) -> None:
    """A report of 2026-09-08: Qwen3.8-27B starts on one A100 with 18.61 GiB of cache, 1.14 times
    its longest sequence. Builds of vLLM that kept 6 GiB more for graphs would refuse it there."""
    fields = {"gpu": "A100-80GB", "context": 262144, "utilisation": 0.92}
    answer = ask("Qwen/Qwen3.5-27B", tmp_path, **fields)
    assert answer.fits is True
    assert answer.capacity is not None
    assert answer.worst_capacity is not None
    assert answer.worst_capacity.cache_bytes < 18.61 * GIB < 1.05 * answer.capacity.cache_bytes
    assert (answer.capacity.sequences, answer.worst_capacity.sequences) == (1, 0)
    assert "engine-start-unsure" in {finding.code for finding in answer.findings}
    shorter = ask("Qwen/Qwen3.5-27B", tmp_path, **{**fields, "context": 65536})
    assert "engine-start-unsure" not in {finding.code for finding in shorter.findings}


@pytest.mark.parametrize("name", ["DeepSeek-V4-Flash", "DeepSeek-V4-Pro"])
def test_what_has_no_formula_is_not_known_and_never_fits(name: str, tmp_path: Path) -> None:
    """vllm-project/vllm#44376: 6.66 GiB for one sequence, where the entries alone are 0.3."""
    answer = ask(
        f"deepseek-ai/{name}", tmp_path, gpu="B300", kvCache="fp8", parallelism={"tensor": 8}
    )
    assert (answer.fits, answer.capacity, answer.speed) == (None, None, None)
    (found,) = [f for f in answer.findings if f.code == "engine-start-not-known"]
    assert "vllm-project/vllm#44376" in found.message


def test_what_is_not_known_is_not_planned(tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps(CONFIGS["deepseek-ai/DeepSeek-V4-Flash"]), "utf-8")
    answer = plan(file(service(model=str(config))))
    assert errors(answer) == ["nothing-fits"]
    (found,) = [f for f in answer.findings if f.code == "nothing-fits"]
    assert "is not known" in found.message


@pytest.mark.parametrize(("name", "layers"), [("DeepSeek-V3.2", 61), ("GLM-5.1", 78)])
def test_sparse_latent_layers_in_fp8_have_656_bytes_and_132_of_the_indexer(
    name: str, layers: int
) -> None:
    """vllm-project/vllm v1/attention/backends/mla/flashmla_sparse.py; a start log of GLM-5.1 of May
    2026 has 61,469 bytes a token."""
    row = {"model": name, "context": 8192, "gpu": "B300", "kvCache": "fp8", "weights": "fp8"}
    answer = size(SizeRequest.model_validate({**row, "parallelism": {"tensor": 8}}), CATALOGUE)
    assert answer.capacity is not None
    each = answer.capacity.cache_bytes / answer.capacity.tokens
    assert each == pytest.approx(layers * 788, rel=1e-3)


@pytest.mark.parametrize("name", ["moonshotai/Kimi-K2-Thinking", "moonshotai/Kimi-K2.5"])
def test_kimi_is_planned_in_the_four_bits_it_is_released_in(name: str) -> None:
    """SGLang's cookbook and vLLM's recipes serve both on eight H200: 63.296 USD/h by list."""
    row = service("kimi", model=name, context=8192, prompt=1000, output=300)
    answer = plan(file({**row, "target": {"requestsPerSecond": 2}}))
    assert answer.usd_per_hour is not None
    assert round(float(answer.usd_per_hour), 2) == 63.30
    (work,) = answer.workloads
    assert work.option.label.startswith("8 x H200-141GB")


def sglang(model: str, gpu: str, **more: Any) -> Sizing:
    row = {"model": model, "context": 8192, "gpu": gpu, "engine": "sglang", **more}
    return size(SizeRequest.model_validate(row), CATALOGUE)


def test_sglang_keeps_a_pool_for_windows() -> None:
    """gpt-oss-20b: 12 layers see everything and 12 have windows, each of 2 x 8 heads x 64 x 2 B a
    token; the pool of windows has 0.8 of the tokens (sgl-project/sglang @ 003fca8,
    `HybridSWAPoolConfigurator`)."""
    room = sglang("gpt-oss-20b", "H100-80GB").capacity
    assert room is not None
    layer = 2 * 8 * 64 * 2
    assert room.tokens == int(room.cache_bytes / (12 * layer + 0.8 * 12 * layer))
    assert room.sequences == room.tokens // 8192


def test_sglang_keeps_five_states_for_each_sequence() -> None:
    """Qwen3-Next: 9 of 19 parts are states, of which a running sequence takes three slots with the
    radix cache and two with `extra_buffer` (same source, `_handle_max_mamba_cache`,
    `_calculate_mamba_ratio`; @ 003bbaf, `_mamba_radix_cache_resolution`)."""
    room = sglang("Qwen3-Next-80B-A3B", "H200", parallelism={"tensor": 2}).capacity
    assert room is not None
    # 36 layers, half of 32 heads x 128 x 128 in FP32, and of 8,192 channels x 3 in BF16.
    state = 36 * (16 * 128 * 128 * 4 + 4096 * 3 * 2)
    expected = room.cache_bytes * 9 / 19 / state / 5
    assert 0.95 * expected <= room.sequences <= expected


def test_sglang_starts_with_less_than_the_context() -> None:
    answer = sglang("Qwen3-14B", "L40S", context=131072)
    assert answer.capacity is not None
    assert answer.fits is False
    (found,) = [f for f in answer.findings if f.code == "engine-refuses-context"]
    tokens = answer.capacity.tokens
    assert f"SGLang starts, and refuses requests of more than {tokens} tokens" in found.message
    shorter = sglang("Qwen3-14B", "L40S", context=tokens).capacity
    assert shorter is not None
    assert shorter.sequences == 1


def test_sglang_refuses_where_weights_leave_no_cache() -> None:
    answer = sglang("Qwen3-14B", "L40S", utilisation=0.5)
    (found,) = [f for f in answer.findings if f.code == "engine-refuses-model"]
    assert "SGLang refuses to start with Qwen3-14B: weights leave no memory" in found.message
    assert answer.fits is False


def trtllm(model: str, gpu: str, **more: Any) -> Sizing:
    row = {"model": model, "context": 8192, "gpu": gpu, "engine": "tensorrt-llm", **more}
    return size(SizeRequest.model_validate(row), CATALOGUE)


def test_tensorrt_llm_shortens_its_sequences_to_its_cache() -> None:
    """Blocks of 32 tokens; `Adjusted max_seq_len` of NVIDIA/TensorRT-LLM @ d2a5560."""
    answer = trtllm("Qwen3-14B", "L40S", context=131072)
    assert answer.capacity is not None
    tokens = answer.capacity.tokens
    assert tokens % 32 == 0
    (found,) = [f for f in answer.findings if f.code == "engine-refuses-context"]
    text = f"TensorRT-LLM starts, and refuses requests of more than {tokens} tokens"
    assert text in found.message
    assert answer.fits is False
    shorter = trtllm("Qwen3-14B", "L40S", context=tokens).capacity
    assert shorter is not None
    assert shorter.sequences == 1


@pytest.mark.parametrize("model", ["gpt-oss-20b", "Qwen3-Next-80B-A3B"])
def test_windows_and_states_in_tensorrt_llm_are_not_known(model: str) -> None:
    answer = trtllm(model, "H200", parallelism={"tensor": 2})
    assert (answer.fits, answer.capacity, answer.speed) == (None, None, None)
    (found,) = [f for f in answer.findings if f.code == "engine-start-not-known"]
    assert "separate pools for windows and states" in found.message
    row = service(model=model, engine="tensorrt-llm")
    (lost,) = [f for f in plan(file(row)).findings if f.code == "nothing-fits"]
    assert "is not known" in lost.message


def test_a_server_without_graphs_needs_no_block_for_each_sequence(tmp_path: Path) -> None:
    """vllm-project/vllm#38270: only the capture of graphs needs them."""
    row: dict[str, Any] = {"gpu": "H100-80GB", "weights": "fp8", "maxSequences": 1024}
    assert ask("Qwen/Qwen3.5-27B", tmp_path, **row).fits is False
    answer = ask("Qwen/Qwen3.5-27B", tmp_path, graphs=False, **row)
    assert (answer.fits, answer.speed) == (True, None)
    (lost,) = [
        found
        for found in plan(file(service(model="Qwen3-8B", graphs=False))).findings
        if found.code == "nothing-fits"
    ]
    assert "runs without CUDA graphs, whose speed is not known" in lost.message


def test_a_server_without_images_loads_no_tower(tmp_path: Path) -> None:
    """Qwen3.5-27B: 27.78 billion parameters in its files, of which the tower has 0.46 (27 blocks of
    width 1152 and feed-forward 4304); vLLM's `--language-model-only`."""
    ledgers = [
        ask("Qwen/Qwen3.5-27B", tmp_path, gpu="H100-80GB", images=images).ledger
        for images in (True, False)
    ]
    whole, text = (one for one in ledgers if one is not None)
    blocks = 27 * (4 * 1152**2 + 2 * 1152 * 4304)
    assert 2 * blocks < whole["weights"].bytes - text["weights"].bytes < 2 * 1.15 * blocks
    assert [item.key for item in text.items if item.key == "images"] == []
