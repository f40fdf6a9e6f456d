"""The format a checkpoint is stored in, from its configuration."""

from gpufleet.findings import error
from gpufleet.sizing.config_fields import Fields
from gpufleet.sizing.formats import WEIGHT_FORMATS

_DTYPES = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}


def stored_format(config: Fields) -> str | None:
    """Name of the weight format; None when the configuration does not say. An unknown quantisation
    is an error: its size would be a guess."""
    quantisation = config.part("quantization_config") or config.part("compression_config")
    if quantisation is None:
        inner = config.part("text_config")
        dtype = config.text("dtype", "torch_dtype") or (
            inner.text("dtype", "torch_dtype") if inner else ""
        )
        return _DTYPES.get(dtype)
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


def _quantised(config: Fields) -> str | None:
    method = config.text("quant_method").lower()
    algorithm = config.text("quant_algo").lower()
    bits = config.number("bits", "w_bit", "weight_bits")
    if "nvfp4" in algorithm:
        return "nvfp4"
    if method in ("fp8", "fbgemm_fp8") or algorithm == "fp8":
        return "fp8"
    if method == "mxfp4":
        return "mxfp4"
    if method == "awq" and bits in (None, 4):
        return "awq-int4"
    if method == "gptq":
        return {4: "gptq-int4", 8: "int8"}.get(bits or 4)
    if method == "bitsandbytes":
        if config.flag("load_in_8bit"):
            return "int8"
        return "nf4-double" if config.flag("bnb_4bit_use_double_quant") else "nf4"
    if method == "compressed-tensors":
        return _compressed(config)
    return None


def _compressed(config: Fields) -> str | None:
    groups = config.part("config_groups")
    first = next(iter(groups.data), None) if groups else None
    group = groups.part(first) if groups and first else None
    weights = group.part("weights") if group else None
    if weights is None:
        return None
    kind = (weights.number("num_bits"), weights.text("type"))
    names = {
        (4, "int"): "gptq-int4",
        (8, "int"): "int8",
        (8, "float"): "fp8",
        (4, "float"): "nvfp4",
    }
    return names.get((kind[0] or 0, kind[1]))
