import json
from pathlib import Path
from typing import Any

import pytest

from gpufleet.catalogue import load
from gpufleet.findings import Finding
from gpufleet.models.architecture import Attention, LinearMixer
from gpufleet.models.formats import KV_FORMATS, WEIGHT_FORMATS
from gpufleet.models.kv_cache import sequence_bytes, token_bytes
from gpufleet.models.ledger import Basis
from gpufleet.models.parameters import count_parameters
from gpufleet.models.weights import weight_bytes
from gpufleet_planner.sizing.model_choice import ChosenModel, choose_model
from gpufleet_planner.sizing.request import SizeRequest
from gpufleet_planner.sizing.sized import size
from tests.planner.sizing import configurations as published
from tests.planner.sizing.measurements import MIB, model

CATALOGUE = load()
BF16 = KV_FORMATS["bf16"]


def folder(
    tmp_path: Path, config: dict[str, Any], tensors: tuple[str, ...] = (), size_bytes: int = 0
) -> Path:
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    if tensors:
        index = {
            "metadata": {"total_size": size_bytes},
            "weight_map": dict.fromkeys(tensors, "model-00001-of-00001.safetensors"),
        }
        path = tmp_path / "model.safetensors.index.json"
        path.write_text(json.dumps(index), encoding="utf-8")
    return tmp_path


def chosen(place: Path) -> ChosenModel:
    found = choose_model(str(place), CATALOGUE)
    assert isinstance(found, ChosenModel), found
    return found


def refused(place: Path) -> tuple[Finding, ...]:
    found = choose_model(str(place), CATALOGUE)
    assert isinstance(found, tuple), found
    return found


@pytest.mark.parametrize(
    ("config", "name"),
    [
        (published.LLAMA_8B, "Llama-3.1-8B"),
        (published.QWEN3_4B, "Qwen3-4B"),
        (published.MIXTRAL, "Mixtral-8x7B"),
        (published.DEEPSEEK_V3, "DeepSeek-V3"),
        (published.GPT_OSS_20B, "gpt-oss-20b"),
        (published.FALCON_7B, "Falcon-7B"),
    ],
)
def test_a_configuration_is_the_same_as_the_row(
    tmp_path: Path, config: dict[str, Any], name: str
) -> None:
    found, row = chosen(folder(tmp_path, config)).architecture, model(name)
    assert count_parameters(found) == count_parameters(row)
    assert token_bytes(found, BF16) == token_bytes(row, BF16)
    assert sequence_bytes(found, BF16, 100_000) == sequence_bytes(row, BF16, 100_000)
    assert found.layer_norm is row.layer_norm
    assert found.basis is Basis.MODELLED


def test_vision_language_counts_language_exactly_and_the_tower_by_estimate(tmp_path: Path) -> None:
    found = chosen(folder(tmp_path, published.GEMMA_3_4B)).architecture
    row = model("Gemma-3-4b")
    count, of_row = count_parameters(found), count_parameters(row)
    assert count.total - count.other == of_row.total - of_row.other
    assert of_row.total == pytest.approx(4_300_079_472, rel=0.001)
    assert 0.3e9 < count.other < 0.7e9
    assert sequence_bytes(found, BF16, 100_000) == sequence_bytes(row, BF16, 100_000)
    assert any(note.startswith("vision tower estimated") for note in found.assumptions)


def test_linear_layers_hold_no_cache(tmp_path: Path) -> None:
    found = chosen(folder(tmp_path, published.QWEN3_NEXT)).architecture
    assert count_parameters(found).total == pytest.approx(79.7e9, rel=0.01)
    assert count_parameters(found).active == pytest.approx(3.9e9, rel=0.05)
    kinds = {type(group.mixer): group.count for group in found.groups}
    assert kinds == {LinearMixer: 36, Attention: 12}
    assert token_bytes(found, BF16) == 2 * 12 * 2 * 256 * 2


def test_every_second_layer_is_dense(tmp_path: Path) -> None:
    found = chosen(folder(tmp_path, published.MAVERICK)).architecture
    assert count_parameters(found).total == pytest.approx(400.7e9, rel=0.005)
    assert count_parameters(found).active == pytest.approx(17.2e9, rel=0.02)


def test_an_encoder_has_no_cache_and_no_head(tmp_path: Path) -> None:
    found = chosen(folder(tmp_path, published.BERT)).architecture
    assert not found.causal
    assert count_parameters(found).total == pytest.approx(109.5e6, rel=0.01)
    assert sequence_bytes(found, BF16, 512) == 0
    request = SizeRequest.model_validate(
        {"model": str(tmp_path), "workload": "embedding", "context": 512, "batch": 8}
    )
    answer = size(request, CATALOGUE)
    assert answer.ledger is not None
    assert {item.key for item in answer.ledger.items} == {
        "weights",
        "activations",
        "workspace",
        "cuda_context",
    }


def test_the_index_settles_size_and_tie_flag(tmp_path: Path) -> None:
    """Qwen3-4B-FP8 stores the head: 742 MiB more than by the configuration."""
    config = {**published.QWEN3_4B, "quantization_config": {"quant_method": "fp8"}}
    fp8 = WEIGHT_FORMATS["fp8"]
    stored = weight_bytes(model("Qwen3-4B"), fp8, head_apart=True).stored + 5 * MIB
    tensors = ("model.embed_tokens.weight", "lm_head.weight")
    found = chosen(folder(tmp_path, config, tensors, stored))
    assert (found.weight_format, found.head_apart, found.stored_bytes) == ("fp8", True, stored)
    assert found.findings == ()
    request = SizeRequest.model_validate({"model": str(tmp_path), "context": 2049})
    answer = size(request, CATALOGUE)
    assert answer.ledger is not None
    assert answer.ledger["weights"].bytes == stored
    assert answer.ledger["weights"].basis is Basis.MEASURED


def test_a_size_that_disagrees_is_said_and_used(tmp_path: Path) -> None:
    place = folder(tmp_path, published.LLAMA_8B, ("lm_head.weight",), 20_000_000_000)
    found = chosen(place)
    assert count_parameters(found.architecture).total == 10_000_000_000
    (finding,) = found.findings
    assert finding.code == "checkpoint-size-differs"
    assert "20000000000 bytes on disk" in finding.message


def test_headers_of_weight_files_serve_as_index(tmp_path: Path) -> None:
    header = json.dumps(
        {
            "__metadata__": {"format": "pt"},
            "model.embed_tokens.weight": {"dtype": "BF16", "data_offsets": [0, 60]},
            "lm_head.weight": {"dtype": "BF16", "data_offsets": [60, 16_060_522_496]},
        }
    ).encode()
    weights = folder(tmp_path, published.LLAMA_8B) / "model.safetensors"
    weights.write_bytes(len(header).to_bytes(8, "little") + header)
    found = chosen(tmp_path)
    assert found.stored_bytes == 16_060_522_496
    assert not found.architecture.tied_embeddings
    weights.write_bytes(b"short")
    (finding,) = refused(tmp_path)
    assert "a header of" in finding.message


@pytest.mark.parametrize(
    ("quantisation", "name"),
    [
        ({"quant_method": "awq", "bits": 4}, "awq-int4"),
        ({"quant_method": "gptq", "bits": 8}, "int8"),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "nf4"),
        (
            {
                "quant_method": "bitsandbytes",
                "load_in_4bit": True,
                "bnb_4bit_use_double_quant": True,
            },
            "nf4-double",
        ),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "nvfp4"),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {"group_0": {"weights": {"num_bits": 4, "type": "int"}}},
            },
            "gptq-int4",
        ),
    ],
)
def test_stored_formats(tmp_path: Path, quantisation: dict[str, Any], name: str) -> None:
    config = {**published.LLAMA_8B, "quantization_config": quantisation}
    assert chosen(folder(tmp_path, config)).weight_format == name


def test_modelopt_writes_the_format_into_a_file_of_its_own(tmp_path: Path) -> None:
    text = '{"quantization": {"quant_algo": "NVFP4", "exclude_modules": ["lm_head"]}}'
    (tmp_path / "hf_quant_config.json").write_text(text, encoding="utf-8")
    assert chosen(folder(tmp_path, published.LLAMA_8B)).weight_format == "nvfp4"


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        ({"hidden_size": None}, "config-field-missing", "no hidden_size or n_embd or dim"),
        ({"hidden_size": -1}, "config-field-invalid", "hidden_size is '-1'; it must be between"),
        ({"vocab_size": "many"}, "config-field-invalid", "it must be a whole number"),
        ({"intermediate_size": -5}, "config-field-invalid", "it must be between"),
        ({"num_hidden_layers": 1 << 20}, "config-field-invalid", "at most 4096 are read"),
        ({"is_encoder_decoder": True}, "model-kind-unsupported", "do not reach encoder-decoders"),
        ({"layer_types": ["spectral"] * 32}, "config-layer-unknown", "kind 'spectral'"),
        ({"layer_types": ["full_attention"]}, "config-layers-disagree", "names 1 layers"),
        ({"model_type": "novel", "hidden_act": "relu"}, "model-type-unknown", "two matrices or"),
        ({"quantization_config": {"quant_method": "hqq"}}, "checkpoint-format-unknown", "'hqq'"),
        ({"model_type": None}, "config-field-missing", "no model_type"),
    ],
)
def test_what_cannot_be_known_is_an_error(
    tmp_path: Path, change: dict[str, Any], code: str, words: str
) -> None:
    findings = refused(folder(tmp_path, {**published.LLAMA_8B, **change}))
    assert [f.code for f in findings if f.severity == "error"] == [code]
    assert words in findings[0].message


def test_a_missing_model_type_has_a_fix(tmp_path: Path) -> None:
    (found,) = refused(folder(tmp_path, {**published.LLAMA_8B, "model_type": None}))
    assert found.fix == "give the config.json that belongs to the weights"


def test_all_problems_come_at_once(tmp_path: Path) -> None:
    findings = refused(folder(tmp_path, {"model_type": "llama"}))
    assert {finding.path for finding in findings} >= {
        "num_hidden_layers",
        "hidden_size",
        "vocab_size",
        "num_attention_heads",
        "intermediate_size",
    }


def test_an_unknown_family_with_a_gated_activation_is_taken_with_a_warning(tmp_path: Path) -> None:
    found = chosen(folder(tmp_path, {**published.LLAMA_8B, "model_type": "novel"}))
    assert [finding.code for finding in found.findings] == ["model-type-unknown"]
    assert count_parameters(found.architecture) == count_parameters(model("Llama-3.1-8B"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[]", "not a JSON object"),
        ("{", "not valid JSON: "),
        ('{"weight_map": {}}', "is the index"),
    ],
)
def test_files_that_are_no_configuration(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "config.json").write_text(text, encoding="utf-8")
    (finding,) = refused(tmp_path)
    assert words in finding.message


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    (finding,) = refused(tmp_path / "config.json")
    assert finding.code == "checkpoint-unreadable"
    assert "No such file" in finding.message


@pytest.mark.parametrize(("heads", "kv_heads"), [(32, 64), (32, 5)])
def test_heads_that_cannot_be_grouped_are_refused(
    tmp_path: Path, heads: int, kv_heads: int
) -> None:
    config = published.LLAMA_8B | {"num_attention_heads": heads, "num_key_value_heads": kv_heads}
    (found,) = refused(folder(tmp_path, config))
    assert (found.code, found.path) == ("config-heads-disagree", "num_key_value_heads")
    assert f"{kv_heads} key/value heads do not divide {heads} query heads" in found.message


@pytest.mark.parametrize(
    ("tensors", "words"),
    [
        ({}, "the weight files have no tensor"),
        ({"a": {"data_offsets": [0, -5]}}, "tensor a has no data_offsets"),
        ({"a": {"data_offsets": ["0", "5"]}}, "tensor a has no data_offsets"),
    ],
)
def test_weight_files_without_weights_are_refused(
    tmp_path: Path, tensors: dict[str, Any], words: str
) -> None:
    header = json.dumps(tensors).encode()
    weights = folder(tmp_path, published.LLAMA_8B) / "model.safetensors"
    weights.write_bytes(len(header).to_bytes(8, "little") + header)
    (found,) = refused(tmp_path)
    assert found.code == "checkpoint-unreadable"
    assert words in found.message
