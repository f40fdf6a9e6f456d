"""The format a checkpoint is stored in, from its configuration."""

from typing import cast

from gpufleet.findings import Finding, error, warning
from gpufleet.sizing.config_fields import ConfigFields
from gpufleet.sizing.formats import WEIGHT_FORMATS

_KEPT = ("modules_to_not_convert", "ignore", "ignored_layers", "exclude_modules")
_DTYPES = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}


def stored_format(config: ConfigFields) -> str | None:
    """Name of the weight format; None when the configuration does not say. An unknown quantisation
    is an error: its size would be a guess."""
    quantisation = config.part("quantization_config") or config.part("compression_config")
    if quantisation is None:
        inner = config.part("text_config")
        for fields in (config, inner) if inner else (config,):
            for name in ("dtype", "torch_dtype"):
                if fields.has(name):
                    return _plain(fields, name)
        return None
    found = _quantised(quantisation)
    if found is None:
        method = quantisation.text("quant_method", "quant_algo")
        config.findings.append(
            error(
                "checkpoint-format-unknown",
                f"{quantisation.path}quant_method",
                f"quantisation {method!r} of this checkpoint has no formula here; there is "
                f"{', '.join(WEIGHT_FORMATS)}",
                "name the weight format it comes closest to",
                value=method,
            )
        )
    return found


def unconverted_modules(config: ConfigFields, form: str | None) -> Finding | None:
    """A warning where the checkpoint keeps matrices in 16 bit that its format would shrink, such as
    the attention of Meta's Llama-3.1-405B-FP8: their bytes are not counted."""
    quantisation = config.part("quantization_config") or config.part("compression_config")
    if quantisation is None or form is None:
        return None
    kinds = ("mlp",) if WEIGHT_FORMATS[form].experts_only else ("mlp", "self_attn")
    for field in _KEPT:
        listed = quantisation.data.get(field)
        names = [str(name) for name in cast("list[object]", listed)] if _is_list(listed) else []
        kept = [name for name in names if any(_within(name, kind) for kind in kinds)]
        if kept:
            return warning(
                "quantisation-keeps-modules",
                f"{quantisation.path}{field}",
                f"{len(kept)} modules such as {kept[0]} stay in 16 bit: the weights "
                f"are larger than {form} gives",
                "put the safetensors index next to the configuration: sizes are then measured",
                value=len(kept),
            )
    return None


def _is_list(value: object) -> bool:
    return isinstance(value, list)


def _within(name: str, kind: str) -> bool:
    """Whether a module of a layer is meant; routers, towers and drafts are 16 bit everywhere."""
    parts = name.replace("\\.", ".").replace("*", "").split(".")
    apart = parts[-1] in ("gate", "shared_expert_gate", "router") or "visual" in parts
    return kind in parts and not apart and "mtp" not in parts


def _plain(config: ConfigFields, name: str) -> str | None:
    """Of weights that are not quantised. FP8 without a quantisation has no scales to read it by."""
    value: object = config.data[name]
    dtype = value.removeprefix("torch.") if isinstance(value, str) else None
    if dtype == "auto":
        return None
    found = None if dtype is None else _DTYPES.get(dtype)
    if found is None:
        config.refuse(name, value, f"one of {', '.join(_DTYPES)}")
    return found


def _quantised(config: ConfigFields) -> str | None:
    method = config.text("quant_method").lower()
    algorithm = config.text("quant_algo").lower()
    bits = config.number("bits", "w_bit", "weight_bits")
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
    """The format with its group size: scales of small groups weigh. 128 is the usual one; without
    groups (-1) there is even less than that."""
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
