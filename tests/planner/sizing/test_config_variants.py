"""Configurations with a twist: quantisations, layers of several kinds, and what must be refused."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpufleet.models.architecture import Attention, LinearMixer
from gpufleet.models.config_fields import ConfigFields
from gpufleet.models.config_model import architecture_from_config
from gpufleet.models.config_quantisation import stored_format
from gpufleet.models.formats import KV_FORMATS, WEIGHT_FORMATS
from gpufleet.models.kv_cache import sequence_bytes, token_bytes
from gpufleet.models.ledger import Basis
from gpufleet.models.parameters import count_parameters
from gpufleet.models.weights import weight_bytes
from tests.examples import examples
from tests.planner.sizing import configurations as published
from tests.planner.sizing.measurements import model

BF16 = KV_FORMATS["bf16"]


def stored(quantisation: dict[str, Any]) -> tuple[str | None, list[str]]:
    fields = ConfigFields({**published.LLAMA_8B, "quantization_config": quantisation})
    return stored_format(fields), [finding.code for finding in fields.findings]


def compressed(**weights: Any) -> dict[str, Any]:
    groups = {"group_0": {"targets": ["Linear"], "weights": weights}}
    return {"quant_method": "compressed-tensors", "config_groups": groups}


@pytest.mark.parametrize(
    ("quantisation", "expected"),
    [
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "fp8"),
        ({"quant_method": "fbgemm_fp8"}, "fp8"),
        ({"quant_method": "modelopt", "quant_algo": "FP8"}, "fp8"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "nvfp4"),
        ({"quant_method": "modelopt_fp4"}, "nvfp4"),
        ({"quant_method": "awq", "bits": 4, "group_size": 128}, "awq-int4"),
        ({"quant_method": "awq", "bits": 4, "group_size": 64}, "awq-int4-g64"),
        ({"quant_method": "gptq", "bits": 4, "group_size": 128}, "gptq-int4"),
        ({"quant_method": "gptq", "bits": 4, "group_size": 32}, "gptq-int4-g32"),
        ({"quant_method": "gptq", "bits": 4, "group_size": -1}, "gptq-int4"),
        ({"quant_method": "gptq", "bits": 8, "group_size": 128}, "int8"),
        ({"quant_method": "auto-round", "bits": 4, "group_size": 128}, "gptq-int4"),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, "int8"),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "nf4"),
        (
            {
                "quant_method": "bitsandbytes",
                "load_in_4bit": True,
                "bnb_4bit_use_double_quant": True,
            },
            "nf4-double",
        ),
        ({"quant_method": "mxfp4"}, "mxfp4"),
        (compressed(num_bits=4, type="int", group_size=128), "gptq-int4"),
        (compressed(num_bits=4, type="int", group_size=32), "gptq-int4-g32"),
        (compressed(num_bits=8, type="int"), "int8"),
        (compressed(num_bits=8, type="float"), "fp8"),
        (compressed(num_bits=4, type="float", group_size=16), "nvfp4"),
        (compressed(num_bits=4, type="float", group_size=32), "mxfp4"),
    ],
)
def test_a_quantisation_has_its_format(quantisation: dict[str, Any], expected: str) -> None:
    assert stored(quantisation) == (expected, [])
    assert expected in WEIGHT_FORMATS


@pytest.mark.parametrize(
    "quantisation",
    [
        {"quant_method": "aqlm"},
        {"quant_method": "gptq", "bits": 3},
        {"quant_method": "gptq", "bits": 4, "group_size": 8},
        {"quant_method": "awq", "bits": 2},
        compressed(num_bits=2, type="int"),
        {},
    ],
)
def test_an_unknown_quantisation_is_no_guess(quantisation: dict[str, Any]) -> None:
    assert stored(quantisation) == (None, ["checkpoint-format-unknown"])


def test_smaller_groups_carry_more_scales() -> None:
    shape = model("Llama-3.1-8B")
    sizes = [
        weight_bytes(shape, WEIGHT_FORMATS[f"gptq-int4{group}"]).stored
        for group in ("", "-g64", "-g32")
    ]
    assert sizes == sorted(sizes)
    # 2 bytes of scale and half a byte of zero point for each group.
    matrices = count_parameters(shape).matrices
    assert sizes[2] - sizes[0] == pytest.approx(matrices * 2.5 * (1 / 32 - 1 / 128), rel=1e-6)


def test_a_language_part_has_the_defaults_of_its_family() -> None:
    """LLaVA 1.5 writes none of its language model's sizes, Gemma 3 4B no heads."""
    llava = {
        "model_type": "llava",
        "architectures": ["LlavaForConditionalGeneration"],
        "text_config": {"model_type": "llama", "vocab_size": 32064},
    }
    found, fields = architecture_from_config(llava, "llava", "test")
    assert found is not None, fields.findings
    assert found.hidden == 4096
    assert count_parameters(found).total == pytest.approx(6.74e9, rel=0.001)
    # The same without a family around it is a file that lacks fields.
    alone, fields = architecture_from_config(llava["text_config"], "llama", "test")
    assert alone is None
    assert {f.code for f in fields.findings} == {"config-field-missing"}


def test_a_chat_model_with_a_language_part_has_a_head() -> None:
    llm = {**published.LLAMA_8B, "architectures": ["InternLM2ForCausalLM"]}
    whole = {
        "model_type": "internvl_chat",
        "architectures": ["InternVLChatModel"],
        "llm_config": llm,
    }
    found, _ = architecture_from_config(whole, "internvl", "test")
    assert found is not None
    assert found.has_head


def test_an_activation_that_is_a_gate_makes_three_matrices() -> None:
    nomic = {
        "model_type": "nomic_bert",
        "architectures": ["NomicBertModel"],
        "n_embd": 768,
        "n_head": 12,
        "n_inner": 3072,
        "n_layer": 12,
        "vocab_size": 30528,
        "activation_function": "swiglu",
        "rotary_emb_fraction": 1.0,
    }
    found, fields = architecture_from_config(nomic, "nomic", "test")
    assert found is not None, fields.findings
    assert count_parameters(found).total == pytest.approx(136_731_648, rel=0.002)


def test_full_attention_in_every_layer_is_no_mixture_of_kinds() -> None:
    config = {**published.LLAMA_8B, "attn_type_list": [1] * 32}
    found, fields = architecture_from_config(config, "x", "test")
    assert found is not None, fields.findings


def test_attention_at_named_places_among_mamba_layers() -> None:
    """Bamba: three attention layers of 32, the rest Mamba 2."""
    config = {
        **published.LLAMA_8B,
        "model_type": "bamba",
        "attn_layer_indices": [9, 18, 27],
        "mamba_d_state": 128,
        "mamba_n_heads": 128,
        "mamba_d_head": 64,
        "mamba_n_groups": 1,
        "mamba_d_conv": 4,
    }
    found, fields = architecture_from_config(config, "bamba", "test")
    assert found is not None, fields.findings
    kinds = {type(group.mixer): group.count for group in found.groups}
    assert kinds == {Attention: 3, LinearMixer: 29}
    grown = sequence_bytes(found, BF16, 20_000) - sequence_bytes(found, BF16, 10_000)
    assert grown == 10_000 * 3 * 2 * 8 * 128 * 2


def test_an_indexer_has_parameters_and_keys_of_its_own() -> None:
    """DeepSeek-V3.2: sparse attention by an indexer of 64 heads and 128 elements."""
    config = {
        **published.DEEPSEEK_V3,
        "model_type": "deepseek_v32",
        "index_n_heads": 64,
        "index_head_dim": 128,
    }
    found, fields = architecture_from_config(config, "v3.2", "test")
    assert found is not None
    assert fields.findings == []
    plain = model("DeepSeek-V3")
    each = 1536 * 64 * 128 + 7168 * (128 + 64)
    assert count_parameters(found).total - count_parameters(plain).total == 61 * each
    # 132 bytes a layer in vLLM: the key in FP8 and its scale.
    assert token_bytes(found, BF16) - token_bytes(plain, BF16) == 61 * 132


def test_windows_by_letters() -> None:
    """EXAONE 4: three windowed layers, then a global one."""
    config = {
        **published.LLAMA_8B,
        "model_type": "exaone4",
        "sliding_window": 4096,
        "sliding_window_pattern": "LLLG",
    }
    found, _ = architecture_from_config(config, "exaone", "test")
    assert found is not None
    windows = {group.mixer.window: group.count for group in found.groups}  # type: ignore[union-attr]
    assert windows == {4096: 24, None: 8}


def test_lists_of_equal_numbers_count_as_one_and_unequal_ones_are_refused() -> None:
    config = {**published.MIXTRAL, "num_experts_per_tok": [2] * 32}
    found, _ = architecture_from_config(config, "list", "test")
    assert found is not None
    assert count_parameters(found).active == count_parameters(model("Mixtral-8x7B")).active
    config["num_experts_per_tok"] = [2] * 31 + [4]
    found, fields = architecture_from_config(config, "list", "test")
    assert found is None
    assert "config-field-invalid" in {finding.code for finding in fields.findings}


_ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-10, 10),
    st.integers(-(10**30), 10**30),
    st.floats(allow_nan=True),
    st.text(max_size=8),
    st.lists(st.integers(0, 3), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)
_BASES = (
    published.LLAMA_8B,
    published.MIXTRAL,
    published.DEEPSEEK_V3,
    published.GPT_OSS_20B,
    published.GEMMA_3_4B,
    published.QWEN3_NEXT,
)


@settings(max_examples=examples(300), deadline=None)
@given(st.sampled_from(_BASES), st.data())
def test_odd_values_give_a_model_or_findings_and_never_an_exception(
    base: dict[str, Any], data: st.DataObject
) -> None:
    names = data.draw(st.lists(st.sampled_from(sorted(base)), min_size=1, max_size=4))
    config = {**base, **{name: data.draw(_ODD) for name in names}}
    found, fields = architecture_from_config(config, "odd", "test")
    stored_format(fields)
    assert found is not None or fields.findings
    if found is not None:
        assert count_parameters(found).total > 0
        assert sequence_bytes(found, BF16, 100) >= 0


@pytest.mark.parametrize(
    ("field", "value", "wanted"),
    [
        ("layer_types", 3, "a list of names"),
        ("quantization_config", 3, "an object with fields"),
        ("torch_dtype", "zzz", "one of float32, bfloat16, float16"),
        ("dtype", 16, "one of float32, bfloat16, float16"),
        ("text_config", "x", "an object with fields"),
    ],
)
def test_a_value_of_another_kind_is_an_error_and_not_ignored(
    field: str, value: object, wanted: str
) -> None:
    _, fields = architecture_from_config({**published.LLAMA_8B, field: value}, "odd", "a test")
    stored_format(fields)
    (found,) = [f for f in fields.findings if f.code == "config-field-invalid"]
    assert found.path == field
    assert found.message == f"{field} is {str(value)!r}; it must be {wanted}"
    assert found.fix


@pytest.mark.parametrize("name", ["torch.bfloat16", "bfloat16"])
def test_the_spelling_of_torch_is_read(name: str) -> None:
    fields = ConfigFields({**published.LLAMA_8B, "torch_dtype": name})
    assert stored_format(fields) == "bf16"
    assert fields.findings == []


def test_latent_attention_without_its_fields_is_not_read_as_dense() -> None:
    data = {**published.LLAMA_8B, "model_type": "deepseek_v3", "num_experts_per_tok": 8}
    found, fields = architecture_from_config(data, "cut", "a test")
    assert found is None
    missing = {f.path for f in fields.findings if f.code == "config-field-missing"}
    assert missing == {
        "kv_lora_rank",
        "qk_rope_head_dim",
        "qk_nope_head_dim",
        "v_head_dim",
        "n_routed_experts",
    }


def test_a_language_model_head_is_counted() -> None:
    """Transformers: `GPT2Model` ends at its last norm, `GPT2LMHeadModel` projects to the words."""
    gpt2 = {
        "model_type": "gpt2",
        "n_embd": 768,
        "n_layer": 12,
        "n_head": 12,
        "n_positions": 1024,
        "vocab_size": 50257,
    }
    for name, head in (
        ("GPT2LMHeadModel", True),
        ("GPT2DoubleHeadsModel", True),
        ("GPT2Model", False),
        ("GPT2ForSequenceClassification", False),
    ):
        shape, _ = architecture_from_config({**gpt2, "architectures": [name]}, name, "")
        assert shape is not None
        assert shape.has_head is head


def test_the_first_qwen_counts_gate_and_up_together() -> None:
    """Qwen/Qwen-7B, config.json and model.safetensors.index.json: 7,721,324,544 parameters."""
    shape, fields = architecture_from_config(
        {
            "architectures": ["QWenLMHeadModel"],
            "model_type": "qwen",
            "hidden_size": 4096,
            "intermediate_size": 22016,
            "num_attention_heads": 32,
            "num_hidden_layers": 32,
            "kv_channels": 128,
            "vocab_size": 151936,
            "tie_word_embeddings": False,
        },
        "Qwen-7B",
        "",
    )
    assert shape is not None, fields.findings
    assert count_parameters(shape).total == pytest.approx(7_721_324_544, rel=0.001)
    assert shape.basis is Basis.MODELLED


def test_figures_of_an_unknown_family_are_assumed() -> None:
    shape, fields = architecture_from_config(
        {**published.LLAMA_8B, "model_type": "llama_next"}, "next", ""
    )
    assert shape is not None
    assert shape.basis is Basis.ASSUMED
    assert [finding.code for finding in fields.findings] == ["model-type-unknown"]


@pytest.mark.parametrize(("name", "active"), [("gpt-oss-20b", 3.61e9), ("gpt-oss-120b", 5.13e9)])
def test_the_lookup_of_an_embedding_is_no_arithmetic(name: str, active: float) -> None:
    """OpenAI, gpt-oss model card: active parameters without the input embedding."""
    count = count_parameters(model(name))
    assert count.multiplied == pytest.approx(active, rel=0.01)
    assert count_parameters(model("Llama-3.2-1B")).multiplied == pytest.approx(1.2358e9, rel=0.001)
