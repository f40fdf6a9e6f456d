"""The attention of each layer of a configuration: grouped, latent, windowed; linear layers by
`config_linear`."""

from dataclasses import replace

from gpufleet.models.architecture import Attention, CompressedAttention, LatentAttention, Mixer
from gpufleet.models.config_fields import ConfigFields
from gpufleet.models.config_linear import LINEAR_KINDS, linear_mixer, state_space
from gpufleet.models.model_families import (
    FULL_ATTENTION_EVERY,
    LATENT,
    PER_HEAD_NORM,
    STATE_SPACE,
)

_FULL = ("full_attention", "attention", "global")
_INDEXED = ("deepseek_sparse_attention", "indexed_attention")
_WINDOWED = ("sliding_attention", "chunked_attention")


def read_mixers(config: ConfigFields, layers: int, hidden: int) -> list[Mixer]:
    """One mixer per layer. Kinds that cannot be counted are noted as errors."""
    if config.text("model_type") in STATE_SPACE:
        return [state_space(config, hidden)] * layers
    latent = config.has("kv_lora_rank") or config.text("model_type") in LATENT
    if config.has("compress_ratios", "compress_rates"):
        return _compressed(config, layers)
    full = _latent(config) if latent else read_attention(config, hidden)
    if config.has(name := "block_types"):
        # Their own format names layers: read as plain attention they would give a wrong result.
        family = config.text("model_type")
        config.say("config-layer-unknown/mixed", name, family=family, value=name)
    kinds = _kinds(config, layers)
    if len(kinds) != layers:
        config.say("config-layers-disagree/types", value=len(kinds), limit=layers)
    indexers = config.texts("indexer_types") or ()
    mixers = [_of_kind(config, kind, full, hidden) for kind in kinds[:layers]]
    for index, kind in enumerate(indexers[: len(mixers)]):
        mixer = mixers[index]
        if kind == "shared" and isinstance(mixer, LatentAttention):
            # The choice of an earlier layer is used again (GLM 5.2).
            mixers[index] = replace(mixer, index_heads=0, index_dim=0)
    return _sharing(config, _sparse_blocks(config, mixers), kinds)


_RATIOS = {
    "sliding_attention": 0,
    "compressed_sparse_attention": 4,
    "heavily_compressed_attention": 128,
}
"""Values for the layer types that Transformers names (DeepSeek-V4)."""


def _compressed(config: ConfigFields, layers: int) -> list[Mixer]:
    """Layers of DeepSeek-V4; the ratios of its drafting layers follow those of the model."""
    ratios = config.numbers("compress_ratios")[:layers]
    if not ratios:
        ratios = [_RATIOS.get(kind, -1) for kind in config.texts("layer_types") or ()]
    if len(ratios) != layers or not set(ratios) <= set(_RATIOS.values()):
        config.refuse(
            "compress_ratios", config.value("compress_ratios"), "0, 4 or 128 for each layer"
        )
    one = CompressedAttention(
        heads=config.required("num_attention_heads"),
        head_dim=config.required("head_dim"),
        query_rank=config.required("q_lora_rank"),
        output_groups=config.required("o_groups"),
        output_rank=config.required("o_lora_rank"),
        window=config.required("sliding_window"),
        ratio=0,
        connections=config.number("hc_mult") or 1,
    )
    heads, each = config.required("index_n_heads"), config.required("index_head_dim")
    _ = config.number("num_hash_layers", "hc_sinkhorn_iters", least=0)
    return [
        replace(one, ratio=4, index_heads=heads, index_dim=each)
        if ratio == 4
        else replace(one, ratio=ratio)
        for ratio in ratios
    ]


def _sparse_blocks(config: ConfigFields, mixers: list[Mixer]) -> list[Mixer]:
    """Layers with an indexer of blocks (MiniMax-M3)."""
    sizes = config.part("sparse_attention_config")
    if sizes is None or sizes.flag("use_sparse_attention") is False:
        return mixers
    chosen = sizes.numbers("sparse_attention_freq") or [1] * len(mixers)
    heads = sizes.required("sparse_num_index_heads")
    each = sizes.required("sparse_index_dim")
    return [
        replace(mixer, index_heads=heads, index_dim=each)
        if isinstance(mixer, Attention) and sparse
        else mixer
        for mixer, sparse in zip(mixers, chosen, strict=False)
    ]


def _sharing(config: ConfigFields, mixers: list[Mixer], kinds: list[str]) -> list[Mixer]:
    """Layers of Gemma 4 that are not like the windowed ones, and of Gemma 3n and 4 that read the
    cache of an earlier layer."""
    if not config.text("model_type").startswith("gemma4"):
        return mixers
    shared = config.number("num_kv_shared_layers", least=0) or 0
    layers = config.part("per_layer_config")
    first = next(iter(layers.data), None) if layers else None
    one = layers.part(first) if layers and first else None
    stated = one.number("head_dim") if one else None
    wide = stated or config.number("global_head_dim") or 512
    same = config.flag("attention_k_eq_v") is True
    heads = config.number("num_global_key_value_heads") if same else None
    for index, kind in enumerate(kinds[: len(mixers)]):
        mixer = mixers[index]
        if kind == "full_attention" and isinstance(mixer, Attention):
            own = heads or mixer.kv_heads
            mixers[index] = replace(mixer, head_dim=wide, kv_heads=own, keys_are_values=same)
    for index in range(len(mixers) - shared, len(mixers)):
        mixer = mixers[index]
        if isinstance(mixer, Attention):
            mixers[index] = replace(mixer, reads_other_cache=True)
    return mixers


def _kinds(config: ConfigFields, layers: int) -> list[str]:
    """The kind of each layer, from whichever list of them the configuration has."""
    named = config.texts("layer_types") or config.texts("layers_block_type")
    if named is not None:
        return named
    delta = config.part("linear_attn_config")
    if delta is not None:
        full = delta.numbers("full_attn_layers")  # counted from 1
        _ = delta.numbers("kda_layers")
        return ["full_attention" if i + 1 in full else "linear_attention" for i in range(layers)]
    for name, words in (
        ("attn_type_list", ("linear_attention", "full_attention")),  # MiniMax-01, M1, M2
        ("hybrid_layer_pattern", ("full_attention", "sliding_attention")),  # MiMo V2
    ):
        numbers = config.numbers(name)
        if numbers and set(numbers) <= {0, 1}:
            return [words[number] for number in numbers]
    return [_kind(config, index) for index in range(layers)]


def _kind(config: ConfigFields, index: int) -> str:
    """The kind of one layer where the configuration has no list of them."""
    family = config.text("model_type")
    interval = config.number("full_attention_interval")
    if interval is not None:
        return "full_attention" if (index + 1) % interval == 0 else "linear_attention"
    chosen = config.numbers("attn_layer_indices")
    if chosen or family == "bamba":
        return "full_attention" if index in chosen else "mamba"
    period = config.number("attn_layer_period")
    if period is not None:
        offset = config.number("attn_layer_offset", least=0) or 0
        return "full_attention" if index % period == offset else "mamba"
    if config.number("sliding_window") is None or config.flag("use_sliding_window") is False:
        return "full_attention"
    letters = config.text("sliding_window_pattern")
    if letters and set(letters) <= {"L", "G"}:
        return "full_attention" if letters[index % len(letters)] == "G" else "sliding_attention"
    pattern = config.number("sliding_window_pattern", "_sliding_window_pattern")
    pattern = pattern or FULL_ATTENTION_EVERY.get(family)
    if pattern is not None:
        return "full_attention" if (index + 1) % pattern == 0 else "sliding_attention"
    first_windowed = config.number("max_window_layers", least=0)
    if family.startswith("qwen") and first_windowed is not None:
        return "sliding_attention" if index >= first_windowed else "full_attention"
    return "sliding_attention"


def _of_kind(config: ConfigFields, kind: str, full: Mixer, hidden: int) -> Mixer:
    if kind in _FULL or (kind in _INDEXED and isinstance(full, LatentAttention)):
        return full
    if kind in _WINDOWED and isinstance(full, Attention):
        names = ("sliding_window", "attention_chunk_size", "sliding_window_size")
        window = config.required(*names)
        heads = config.number("swa_num_key_value_heads")
        if heads is None:
            # MiMo's windowed layers have twice the heads if no field states their number.
            twice = 2 if config.text("model_type") == "mimo_v2_flash" else 1
            heads = twice * full.kv_heads
        return replace(
            full,
            window=window,
            kv_heads=heads,
            query_heads=config.number("swa_num_attention_heads") or full.query_heads,
            head_dim=config.number("swa_head_dim") or full.head_dim,
            value_dim=config.number("swa_v_head_dim") or full.value_dim,
        )
    if kind in LINEAR_KINDS:
        return linear_mixer(config, kind, hidden)
    config.say("config-layer-unknown", value=kind)
    return full


def read_attention(config: ConfigFields, hidden: int) -> Attention:
    """Grouped, multi-head or multi-query attention of a layer that sees all tokens."""
    heads = config.required("num_attention_heads", "n_head", "n_heads", "num_heads")
    kv = config.number("num_key_value_heads", "num_kv_heads", "n_head_kv", "multi_query_group_num")
    old_falcon = config.flag("new_decoder_architecture") is not True
    if config.flag("multi_query") is True and old_falcon:
        kv = 1
    head = config.number("head_dim", "kv_channels", "attention_head_dim") or -(-hidden // heads)
    family = config.text("model_type")
    if kv and heads > 1 and heads % kv:  # 1 replaces a missing number, which is reported
        config.say("config-heads-disagree", value=kv, limit=heads)
    return Attention(
        query_heads=heads,
        kv_heads=kv or heads,
        head_dim=head,
        per_head_norm=config.flag("use_qk_norm") is True or family.startswith(PER_HEAD_NORM),
        output_gate=config.flag("attn_output_gate") is True
        or family.startswith(("qwen3_next", "qwen3_5")),
        value_dim=config.number("v_head_dim"),
    )


def _latent(config: ConfigFields) -> LatentAttention:
    return LatentAttention(
        heads=config.required("num_attention_heads"),
        query_rank=config.number("q_lora_rank"),
        kv_rank=config.required("kv_lora_rank"),
        rope_dim=config.required("qk_rope_head_dim"),
        nope_dim=config.required("qk_nope_head_dim"),
        value_dim=config.required("v_head_dim"),
        index_heads=config.number("index_n_heads") or 0,
        index_dim=config.number("index_head_dim") or 0,
    )


def rotary_bytes(config: ConfigFields, mixers: set[Mixer]) -> int:
    """Sines and cosines in 16 bit, one table for layers with the same parameters
    (vllm-project/vllm @ 072d10a, rotary_embedding/base.py; four times the positions in mrope.py;
    whole heads in gemma4_rope.py)."""
    rules = config.part("rope_parameters") or config.part("rope_scaling") or config
    part = rules.value("partial_rotary_factor") or config.value("partial_rotary_factor")
    share = part if isinstance(part, int | float) else 1
    apart = rules.has("sliding_attention") or config.has("rope_local_base_freq", "swa_rope_theta")
    widths: set[tuple[float, int | None]] = set()
    for mixer in mixers:
        if isinstance(mixer, LatentAttention):
            widths.add((mixer.rope_dim, None))
        elif isinstance(mixer, Attention):
            width = config.number("rotary_dim") or share * mixer.head_dim
            widths.add((width, mixer.window if apart else None))
    positions = config.number("max_position_embeddings") or 0
    more = 4 if rules.has("mrope_section") else 1
    return int(2 * more * positions * sum(width for width, _ in widths))
