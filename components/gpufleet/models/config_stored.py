"""Bytes of the matrices of a checkpoint whose layers are stored in different formats.

A quantised configuration names the modules that stay in 16 bit (`modules_to_not_convert`, `ignore`,
`ignored_layers`, `exclude_modules`) or the format of each (`quantized_layers` of ModelOpt,
`expert_dtype` of DeepSeek-V4). Each module of each layer is compared with these names.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from fnmatch import translate
from fractions import Fraction
from typing import cast

from gpufleet.models.architecture import (
    Attention,
    ExpertFeedForward,
    FeedForward,
    LatentAttention,
    Mixer,
    StoredMatrices,
)
from gpufleet.models.config_fields import ConfigFields
from gpufleet.models.config_quantisation import quantised_format
from gpufleet.models.formats import WEIGHT_FORMATS
from gpufleet.models.parameters import feed_forward_parameters, mixer_parameters

KEPT_LISTS = ("modules_to_not_convert", "ignore", "ignored_layers", "exclude_modules")
_PLAIN = Fraction(2)
_BYTES = {
    "NVFP4": Fraction(9, 16),
    "W4A16_NVFP4": Fraction(9, 16),
    "MXFP4": Fraction(17, 32),
    "FP8": Fraction(1),
    "MXFP8": Fraction(33, 32),
}
"""Bytes of a parameter by ModelOpt's name of the format, scales included."""
_EXPERT_DTYPES = {"fp4": "MXFP4", "fp8": "FP8"}
"""Formats of DeepSeek-V4: blocks of 32 with a scale of one byte."""
_ROOT = re.compile(r"^(model\.|language_model\.|backbone\.)+")
_LONGEST_PATTERN = 500
_LAYER = re.compile(r"layers\.([0-9]+)(?:\.|\*?$)")
_ATTENTION = ("self_attn", "mixer", "attn")
_LINEAR = ("linear_attn", "mixer", "mamba", "self_attn")
_SHARED = (".shared_experts", ".shared_expert", ".shared_mlp")
_FEED_FORWARDS = ("mlp", "block_sparse_moe", "mixer", "feed_forward", "ffn")

Layer = tuple[Mixer, FeedForward | ExpertFeedForward | None]
Rule = Callable[[str], Fraction]


def stored_matrices(
    text: ConfigFields, quantisation: ConfigFields, layers: Sequence[Layer], hidden: int
) -> StoredMatrices | None:
    """Bytes by role; None: no field states that modules differ, or the format is unknown."""
    form = quantised_format(quantisation)
    if form is None:
        return None
    experts = "" if quantisation.has("quantized_layers") else expert_format(text)
    apart = text.flag("enable_moe_block") is True
    rule = _rule(quantisation, WEIGHT_FORMATS[form].bytes_per_parameter)
    if rule is None and not experts:
        return None
    usual = WEIGHT_FORMATS[form].bytes_per_parameter

    def always(_: str) -> Fraction:
        return usual

    rule = rule or always
    mixers = dense = routed = Fraction(0)
    for index, (mixer, block) in enumerate(layers):
        mixers += sum(
            (size * rule(f"layers.{index}.{name}") for name, size in _mixer_parts(mixer, hidden)),
            Fraction(0),
        )
        if block is None:
            continue
        shared, own, _, _ = feed_forward_parameters(block, hidden)
        mixture = isinstance(block, ExpertFeedForward)
        dense += shared * _of_any(rule, index, _SHARED if mixture and not apart else ("",))
        # Experts of Gemma 4 are next to the dense block, not inside it.
        each = rule(f"layers.{index}.experts.0.down_proj") if apart else None
        each = each or _of_any(rule, index, (".experts.0",))
        routed += own * (_BYTES[experts] if experts and each == usual else each)
    return StoredMatrices(form, mixers, dense, routed)


def expert_format(text: ConfigFields) -> str:
    """ModelOpt's name of the format of routed experts; empty: they have no own format."""
    value = text.data.get("expert_dtype")
    if not isinstance(value, str) or value not in _EXPERT_DTYPES:
        return ""  # not read: refused as a key that is not understood
    return _EXPERT_DTYPES[text.text("expert_dtype")]


def _of_any(rule: Rule, index: int, parts: tuple[str, ...]) -> Fraction:
    """Bytes of a feed-forward block whose module name is unknown: rules name only the right one, so
    the first name with an unusual format decides."""
    usual = rule("layers.-1.nothing")
    names = (f"layers.{index}.{one}{part}.down_proj" for one in _FEED_FORWARDS for part in parts)
    return next((found for found in map(rule, names) if found != usual), usual)


def _mixer_parts(mixer: Mixer, hidden: int) -> list[tuple[str, int]]:
    """The matrices of a mixer as checkpoints name them, and their sizes."""
    total = mixer_parameters(mixer, hidden)
    if isinstance(mixer, Attention):
        query, key = hidden * mixer.query_width, hidden * mixer.kv_width
        out = hidden * mixer.query_heads * (mixer.value_dim or mixer.head_dim)
        parts = [("q_proj", query), ("k_proj", key), ("o_proj", out)]
        parts.append(("v_proj", max(total - query - key - out, 0)))
        return [(f"self_attn.{name}", size) for name, size in parts]
    if isinstance(mixer, LatentAttention):
        latent = hidden * (mixer.kv_rank + mixer.rope_dim)
        values = mixer.kv_rank * mixer.heads * (mixer.nope_dim + mixer.value_dim)
        out = mixer.heads * mixer.value_dim * hidden
        rank = mixer.query_rank or 0
        parts = [("kv_a_proj_with_mqa", latent), ("kv_b_proj", values), ("o_proj", out)]
        parts += [("q_a_proj", rank * hidden), ("q_b_proj", rank * mixer.query_width)]
        rest = total - sum(size for _, size in parts)
        parts.append(("indexer.wk" if mixer.index_dim else "q_proj", max(rest, 0)))
        return [(f"self_attn.{name}", size) for name, size in parts]
    return [("linear_attn.out_proj", total)] if total else []


def _rule(quantisation: ConfigFields, usual: Fraction) -> Rule | None:
    """Bytes of a parameter of a module, by its name from `layers.` on."""
    listed = quantisation.part("quantized_layers")
    if listed is not None:
        # DeepSeek-V4 of ModelOpt: modules that it did not change stay in the FP8 of the release.
        rest = Fraction(1) if quantisation.text("quant_method") == "fp8" else _PLAIN
        return _by_layer(listed.data, rest)
    names: list[str] = []
    for name in KEPT_LISTS:
        value = quantisation.value(name)
        if isinstance(value, list):
            names += [str(one) for one in cast("list[object]", value)]
    names = [one for one in names if not one.endswith("norm")]
    for name in names:
        if name.startswith("re:") and not _is_pattern(name.removeprefix("re:")):
            quantisation.refuse("ignore", name, "names of modules, or expressions after re:")
            return None
    if not names:
        return None
    prefixes: dict[str, tuple[str, ...]] = {}
    others: list[str] = []
    for name in names:
        plain = _ROOT.sub("", name)
        found = _LAYER.match(plain)
        if found is None or "*" in plain[:-1]:
            others.append(name)
            continue
        begin = plain.removesuffix("*") if plain.endswith("*") else f"{plain}."
        prefixes[found[1]] = (*prefixes.get(found[1], ()), begin)
    pattern = _pattern(others) if others else None
    aliases = _aliases(names)

    def rule(module: str) -> Fraction:
        found = _LAYER.match(module)
        own = prefixes.get(found[1], ()) if found else ()
        kept = any(
            f"{one}.".startswith(own) or (pattern is not None and pattern.search(one))
            for one in aliases(module)
        )
        return _PLAIN if kept else usual

    return rule


def _is_pattern(text: str) -> bool:
    """Whether a text is a regular expression without repeated groups, which could be slow."""
    if len(text) > _LONGEST_PATTERN or re.search(r"\)[*+{]", text):
        return False
    try:
        re.compile(text)
    except re.error:
        return False
    return True


def _aliases(names: list[str]) -> Callable[[str], list[str]]:
    """Names of a module with the list's words (`mixer.q_proj` for `self_attn.q_proj`)."""
    words = {word for word in (*_ATTENTION, *_LINEAR) if any(f".{word}" in one for one in names)}

    def aliases(module: str) -> list[str]:
        for usual, others in (("self_attn", _ATTENTION), ("linear_attn", _LINEAR)):
            if f".{usual}." in module:
                return [module, *(module.replace(usual, word) for word in others if word in words)]
        return [module]

    return aliases


def _pattern(names: list[str]) -> re.Pattern[str]:
    """One expression that matches all listed modules: names, prefixes, wildcards, `re:`."""
    parts: list[str] = []
    for name in names:
        if name.startswith("re:"):
            parts.append(name.removeprefix("re:").replace("^model\\.", "").removeprefix("^"))
            continue
        plain = _ROOT.sub("", name)
        if "*" in plain:
            found = translate(plain).replace("(?s:", "(?:").removesuffix("\\Z").removesuffix("\\z")
            parts.append(found if plain.startswith("*") else f"^{found}")
        else:
            parts.append(f"(^|\\.){re.escape(plain)}(\\.|$)")
    return re.compile("|".join(f"(?:{part})" for part in parts))


def _by_layer(listed: Mapping[str, object], rest: Fraction) -> Rule:
    """Bytes of each module by name; `rest`: value for modules that are not named."""
    sizes: dict[str, Fraction] = {}
    for name, entry in listed.items():
        found = cast("dict[str, object]", entry) if isinstance(entry, dict) else {}
        sizes[_ROOT.sub("", name)] = _BYTES.get(str(found.get("quant_algo")), rest)

    def rule(module: str) -> Fraction:
        words = {"linear_attn.out_proj": ("linear_attn.in_proj_qkv", "mixer.in_proj")}
        whole = [module]
        for usual, others in words.items():
            whole += [module.replace(usual, other) for other in others if usual in module]
        whole += [one.replace("self_attn", "mixer") for one in whole]
        whole += [one.replace("down_proj", "w2") for one in whole]
        for one in whole:
            while one:
                if one in sizes:
                    return sizes[one]
                one = one.rpartition(".")[0]
        return rest

    return rule
