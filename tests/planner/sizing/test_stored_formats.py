"""Checkpoints whose matrices are in several formats: the bytes of each count."""

from typing import Any

import pytest

from gpufleet.models.architecture import Architecture
from gpufleet.models.config_model import architecture_from_config
from gpufleet.models.config_quantisation import stored_format
from gpufleet.models.formats import WEIGHT_FORMATS
from gpufleet.models.inference import Serving, weight_items
from gpufleet.models.parallel import Parallelism
from gpufleet.models.parameters import count_parameters
from gpufleet.models.weights import weight_bytes
from tests.data.test_model_sizes import CONFIGS
from tests.planner.sizing import configurations as published

LLAMA_405B = {
    **published.LLAMA_8B,
    "hidden_size": 16384,
    "intermediate_size": 53248,
    "num_hidden_layers": 126,
    "num_attention_heads": 128,
    "num_key_value_heads": 8,
}


def read(config: dict[str, Any]) -> tuple[Architecture, str]:
    model, fields = architecture_from_config(config, "x", "test")
    form = stored_format(fields)
    assert model is not None, fields.findings
    assert form is not None, fields.findings
    return model, form


def stored(config: dict[str, Any]) -> float:
    model, form = read(config)
    return weight_bytes(model, WEIGHT_FORMATS[form]).stored


def test_attention_of_405b_stays_in_16_bit() -> None:
    """meta-llama/Llama-3.1-405B-Instruct-FP8 keeps all attention, its first and its last block; a
    start of vLLM on eight GPUs loads 57.752 GiB on each (vllm-project/vllm#6746)."""
    kept = [f"model.layers.{layer}.self_attn" for layer in range(126)]
    kept += [f"model.layers.{layer}.mlp.{name}_proj" for layer in (0, 125) for name in "gud"]
    kept += [
        f"model.layers.{layer}.mlp.{n}" for layer in (0, 125) for n in ("up_proj", "down_proj")
    ]
    quantisation = {"quant_method": "fbgemm_fp8", "modules_to_not_convert": kept}
    config = {**LLAMA_405B, "quantization_config": quantisation}
    assert stored(config) == pytest.approx(8 * 57.752 * 2**30, rel=0.03)


@pytest.mark.parametrize(
    ("name", "gib"),
    [
        # openai/gpt-oss model cards: checkpoint sizes of 60.8 and 12.8 GiB.
        ("openai/gpt-oss-120b", 60.8),
        ("openai/gpt-oss-20b", 12.8),
    ],
)
def test_checkpoints_have_the_size_of_their_cards(name: str, gib: float) -> None:
    assert stored(CONFIGS[name]) == pytest.approx(gib * 2**30, rel=0.03)


def test_the_explanation_names_the_mean_of_mixed_formats() -> None:
    """43 x 256 experts of 3 x 4096 x 2048 at 17/32 B, all others of 284.3 B less embeddings,
    head (2 x 129280 x 4096) and routers at 1 B."""
    experts = 43 * 256 * 3 * 4096 * 2048
    others = 284.33e9 - experts - 2 * 129280 * 4096 - 43 * 256 * 4096
    mean = (experts * 17 / 32 + others) / (experts + others)
    model, form = read(CONFIGS["deepseek-ai/DeepSeek-V4-Flash"])
    serving = Serving(context=8192, weights=WEIGHT_FORMATS[form])
    (weights, _) = weight_items(model, serving, Parallelism())
    assert f"{mean:.4f} B on average, as the file names them" in weights.formula


def bytes_of(name: str) -> tuple[float, float, float]:
    """Bytes of a parameter of attention, dense or shared blocks, routed experts."""
    model, form = read(CONFIGS[name])
    assert model.stored is not None
    assert model.stored.form == form
    count = count_parameters(model)
    parts = (
        (model.stored.mixers, count.mixers),
        (model.stored.feed_forward, count.feed_forward),
        (model.stored.experts, count.experts),
    )
    mixers, dense, experts = (float(size / (number or 1)) for size, number in parts)
    return mixers, dense, experts


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # Lists of the releases: what they name stays in 16 bit.
        ("Qwen/Qwen3-235B-A22B-FP8", (1, 0, 1)),
        ("nvidia/Qwen3-235B-A22B-NVFP4", (0.5625, 0, 0.5625)),
        ("nvidia/MiniMax-M2.5-NVFP4", (2, 0, 0.5625)),
        ("nvidia/Kimi-K2.6-NVFP4", (2, 2, 0.5625)),
        ("nvidia/Gemma-4-26B-A4B-NVFP4", (2, 2, 0.5625)),
        ("nvidia/Gemma-4-31B-IT-NVFP4", (2, 0.5625, 0)),
        ("nvidia/Qwen3.5-122B-A10B-NVFP4", (2, 2, 0.5625)),
        # DeepSeek-V4: FP8 with routed experts of four bits; ModelOpt's changes the experts only.
        ("deepseek-ai/DeepSeek-V4-Flash", (1, 1, 0.53125)),
        ("nvidia/DeepSeek-V4-Pro-NVFP4", (1, 1, 0.5625)),
    ],
)
def test_each_part_is_in_the_format_that_the_release_names(
    name: str, expected: tuple[float, float, float]
) -> None:
    found = bytes_of(name)
    assert found == pytest.approx(expected, rel=0.02)


def test_a_part_of_attention_may_be_quantised() -> None:
    """ModelOpt's DeepSeek-V3.1 keeps the latent projections and quantises the output."""
    mixers, _, experts = bytes_of("nvidia/DeepSeek-V3.1-NVFP4")
    assert 1 < mixers < 2
    assert experts == pytest.approx(0.5625)


def test_layers_with_formats_of_their_own() -> None:
    """`quantized_layers` of ModelOpt: FP8 in attention, NVFP4 in what follows it."""
    layers = {
        f"model.layers.{i}.self_attn.{p}_proj": {"quant_algo": "FP8"}
        for i in range(32)
        for p in "qkvo"
    }
    layers |= {
        f"model.layers.{i}.mlp.{p}_proj": {"quant_algo": "NVFP4"}
        for i in range(32)
        for p in ("gate", "up", "down")
    }
    quantisation = {
        "quant_method": "modelopt",
        "quant_algo": "MIXED_PRECISION",
        "quantized_layers": layers,
    }
    model, form = read({**published.LLAMA_8B, "quantization_config": quantisation})
    assert form == "nvfp4"
    count = count_parameters(model)
    assert model.stored is not None
    assert model.stored.mixers == count.mixers
    assert model.stored.feed_forward == count.feed_forward * 9 / 16


@pytest.mark.parametrize("pattern", ["re:((", "re:(.+)+x", "re:" + "a" * 501])
def test_an_expression_that_is_none_is_refused(pattern: str) -> None:
    quantisation = {"quant_method": "fp8", "ignore": [pattern]}
    config = {**published.LLAMA_8B, "quantization_config": quantisation}
    _, fields = architecture_from_config(config, "x", "test")
    assert [finding.code for finding in fields.findings] == ["config-field-invalid"]


@pytest.mark.parametrize(
    ("key", "value"),
    [("num_hidden_layers", {}), ("layer_types", [1, "a"]), ("global_head_dim", -1)],
)
def test_odd_values_of_gemma_are_named(key: str, value: object) -> None:
    config = CONFIGS["nvidia/Gemma-4-26B-A4B-NVFP4"]
    odd = {**config, "text_config": {**config["text_config"], key: value}}
    found, fields = architecture_from_config(odd, "x", "test")
    assert found is None
    assert [f for f in fields.findings if f.severity == "error"]


def test_an_odd_expert_format_is_named() -> None:
    config = {**CONFIGS["deepseek-ai/DeepSeek-V4-Pro"], "expert_dtype": [1, "a"]}
    found, fields = architecture_from_config(config, "x", "test")
    assert found is None
    assert "expert_dtype" in [finding.path for finding in fields.findings]
