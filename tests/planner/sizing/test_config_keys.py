"""Keys that no formula reads: those that may change sizes are refused, all others are accepted."""

from typing import Any

import pytest

from gpufleet.models.config_model import architecture_from_config
from gpufleet.models.formats import KV_FORMATS
from gpufleet.models.kv_cache import sequence_bytes, token_bytes
from tests.data.test_model_sizes import CONFIGS
from tests.planner.sizing import configurations as published


@pytest.mark.parametrize(
    ("more", "named"),
    [
        (
            {"model_type": "kimi_linear", "linear_attn_config": {"kda_layers": [1]}},
            "linear_attn_config.num_heads",
        ),
        ({"attn_type_list": [0, 0, 1]}, "layer_types"),
        ({"hybrid_override_pattern": "M-M*"}, "hybrid_override_pattern"),
        ({"model_type": "falcon_h1"}, "layer_types"),
        ({"layer_types": ["conv"] * 32}, "layer_types"),
        ({"layer_types": ["hybrid"] * 32}, "layer_types"),
        ({"block_types": ["recurrent", "attention"]}, "block_types"),
        ({"moe_latent_size": 1024}, "moe_latent_size"),
        ({"kv_source_layers": [0, 0, 1]}, "kv_source_layers"),
        ({"qk_lora_dim": 64}, "qk_lora_dim"),
        ({"ffn_expansion": 2.5}, "ffn_expansion"),
        ({"share_attention": True}, "share_attention"),
        ({"router_dtype": "fp8"}, "router_dtype"),
        ({"audio_config": {"hidden_size": 1280}}, "audio_config"),
    ],
)
def test_layers_that_cannot_be_counted_are_refused(more: dict[str, Any], named: str) -> None:
    found, fields = architecture_from_config({**published.LLAMA_8B, **more}, "x", "test")
    assert found is None
    assert named in [finding.path for finding in fields.findings if finding.severity == "error"]


@pytest.mark.parametrize(
    ("field", "code"),
    [
        ({"compress_ratios": [0, 4, 128]}, "config-field-invalid"),
        ({"compress_ratios": [0, 4, 16, *[128] * 58]}, "config-field-invalid"),
        ({"expert_dtype": "int4"}, "config-field-not-understood"),
        ({"o_lora_rank": 1024}, "config-field-not-understood"),
    ],
)
def test_parts_of_deepseek_v4_that_do_not_fit_are_refused(field: dict[str, Any], code: str) -> None:
    """Ratios for other layers than there are or of another size, expert formats that are
    not its own, an output of low rank without the attention that it belongs to."""
    found, fields = architecture_from_config(
        {**published.DEEPSEEK_V3, "model_type": "deepseek_v4", **field}, "V4", ""
    )
    assert found is None
    errors = [(one.code, one.path) for one in fields.findings if one.severity == "error"]
    assert (code, next(iter(field))) in errors


def test_cache_of_deepseek_v4() -> None:
    """A token takes an entry of 512 in every fourth or 128th token, and 128 of the indexer in every
    fourth; each layer keeps a window of 128 (config.json of the release)."""
    config = CONFIGS["deepseek-ai/DeepSeek-V4-Flash"]
    model, _ = architecture_from_config(config, "V4", "")
    assert model is not None
    ratios = config["compress_ratios"][:43]
    each = 2 * sum((512 + 128) / 4 if one == 4 else 512 / 128 for one in ratios if one)
    bf16 = KV_FORMATS["bf16"]
    assert token_bytes(model, bf16) == each
    long, longer = (sequence_bytes(model, bf16, tokens) for tokens in (1 << 20, 1 << 21))
    assert longer - long == pytest.approx(each * (1 << 20))
    assert long == pytest.approx(each * (1 << 20) + 43 * 128 * 512 * 2)


@pytest.mark.parametrize(
    "more",
    [
        {"pretraining_tp": 4, "num_beams": 1, "max_length": 20, "use_cache": True},
        {"audio_token_id": 7, "embedding_multiplier": 12.0, "logits_scaling": 8},
        {"router_aux_loss_coef": 0.001, "unsloth_fixed": True, "rope_interleave": True},
    ],
)
def test_keys_that_change_no_size_are_accepted(more: dict[str, Any]) -> None:
    found, fields = architecture_from_config({**published.LLAMA_8B, **more}, "x", "test")
    assert found is not None, fields.findings
