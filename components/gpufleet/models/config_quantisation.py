"""The format a checkpoint is stored in, from its configuration."""

from typing import cast

from gpufleet.models.config_fields import ConfigFields
from gpufleet.models.formats import WEIGHT_FORMATS

_DTYPES = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}


def quantisation_of(config: ConfigFields) -> ConfigFields | None:
    """The part with the quantisation of the whole model, or of its language part."""
    for part in (config, config.part("text_config"), config.part("llm_config")):
        for name in ("quantization_config", "compression_config"):
            found = part.part(name) if part is not None else None
            if found is not None:
                return found
    return None


def stored_format(config: ConfigFields) -> str | None:
    """Name of the weight format; None if the configuration does not state it. An unknown
    quantisation is an error: its size would be a guess."""
    quantisation = quantisation_of(config)
    if quantisation is None:
        inner = config.part("text_config")
        for fields in (config, inner) if inner else (config,):
            for name in ("dtype", "torch_dtype"):
                if fields.has(name):
                    return _plain(fields, name)
        return None
    found = quantised_format(quantisation)
    if found is None:
        method = quantisation.text("quant_method", "quant_algo")
        quantisation.say("checkpoint-format-unknown", value=method, weight_formats=WEIGHT_FORMATS)
    return found


def _plain(config: ConfigFields, name: str) -> str | None:
    """Format of weights that are not quantised. FP8 without a quantisation has no scales."""
    value: object = config.data[name]
    dtype = value.removeprefix("torch.") if isinstance(value, str) else None
    if dtype == "auto":
        return None
    found = None if dtype is None else _DTYPES.get(dtype)
    if found is None:
        config.refuse(name, value, f"one of {', '.join(_DTYPES)}")
    return found


def quantised_format(config: ConfigFields) -> str | None:
    """Name of the format of most matrices; None: unknown."""
    method = config.text("quant_method").lower()
    algorithm = config.text("quant_algo").lower()
    bits = config.number("bits", "w_bit", "weight_bits")
    if "mixed" in algorithm:
        named = {
            str(cast("dict[str, object]", one).get("quant_algo"))
            for one in (config.part("quantized_layers") or config).data.values()
            if isinstance(one, dict)
        }
        return "nvfp4" if any("NVFP4" in one for one in named) else "fp8" if named else None
    if "nvfp4" in algorithm or method in ("modelopt_fp4", "nvfp4"):
        return "nvfp4"
    if method in ("fp8", "fbgemm_fp8") or algorithm == "fp8":
        return "fp8"
    if method == "mxfp4":
        return "mxfp4"
    if method in ("awq", "awq_marlin") and bits in (None, 4):
        return _grouped("awq-int4", config)
    if method in ("gptq", "gptq_marlin", "auto-round", "intel/auto-round"):
        return {4: _grouped("gptq-int4", config), 8: "int8"}.get(bits or 4)
    if method == "bitsandbytes":
        if config.flag("load_in_8bit"):
            return "int8"
        return "nf4-double" if config.flag("bnb_4bit_use_double_quant") else "nf4"
    if method == "compressed-tensors":
        return _compressed(config)
    return None


def _grouped(name: str, config: ConfigFields) -> str | None:
    """The format with its group size: scales of small groups need memory. The usual size is 128;
    without groups (-1) the scales need even less memory."""
    size = config.data.get("group_size", config.data.get("q_group_size"))
    if size in (32, 64):
        return f"{name}-g{size}"
    return name if size is None or size == -1 or (isinstance(size, int) and size >= 128) else None


def _compressed(config: ConfigFields) -> str | None:
    groups = config.part("config_groups")
    first = next(iter(groups.data), None) if groups else None
    group = groups.part(first) if groups and first else None
    weights = group.part("weights") if group else None
    if weights is None:
        return None
    kind = (weights.number("num_bits"), weights.text("type"))
    names = {
        (4, "int"): _grouped("gptq-int4", weights),
        (8, "int"): "int8",
        (8, "float"): "fp8",
        # Blocks of 16 are NVIDIA's, of 32 the Open Compute Project's.
        (4, "float"): "mxfp4" if weights.data.get("group_size") == 32 else "nvfp4",
    }
    return names.get((kind[0] or 0, kind[1]))
