"""Keys that no formula reads: those that may change sizes are refused, all others are accepted."""

from typing import Any

import pytest

from gpufleet.sizing.config_model import architecture_from_config
from tests.unit.sizing import configurations as published


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
