"""The attention of each layer of a configuration: grouped, latent, windowed, linear, Mamba."""

from gpufleet.findings import error
from gpufleet.sizing.architecture import Attention, LatentAttention, LinearMixer, Mixer
from gpufleet.sizing.config_fields import ConfigFields
from gpufleet.sizing.model_families import (
    FULL_ATTENTION_EVERY,
    LATENT,
    PER_HEAD_NORM,
    STATE_SPACE,
)

_OWN_WORDS = ("linear_attn_config", "attn_type_list", "hybrid_override_pattern", "block_types")
_LINEAR_KINDS = ("linear_attention", "mamba", "mamba2", "recurrent")


def read_mixers(config: ConfigFields, layers: int, hidden: int) -> list[Mixer]:
    """One mixer per layer. Kinds that cannot be counted are noted as errors."""
    if config.text("model_type") in STATE_SPACE:
        return [_state_space(config, hidden)] * layers
    latent = config.has("kv_lora_rank") or config.text("model_type") in LATENT
    full = _latent(config) if latent else _attention(config, hidden)
    _refuse_unknown_hybrids(config)
    kinds = config.texts("layer_types") or config.texts("layers_block_type")
    if kinds is not None:
        if len(kinds) != layers:
            config.findings.append(
                error(
                    "config-layers-disagree",
                    f"{config.path}layer_types",
                    f"layer_types names {len(kinds)} layers, num_hidden_layers says {layers}",
                    value=len(kinds),
                    limit=layers,
                )
            )
        return [_of_kind(config, kind, full, hidden) for kind in kinds[:layers]]
    return [_of_kind(config, _kind(config, i), full, hidden) for i in range(layers)]


def _refuse_unknown_hybrids(config: ConfigFields) -> None:
    """Configurations that say in words of their own which layers do not cache every token: read as
    plain attention they would give a wrong answer instead of none."""
    family = config.text("model_type")
    parallel = family == "falcon_h1"  # attention and Mamba side by side in every layer
    named = next((name for name in _OWN_WORDS if config.has(name)), None)
    if named == "attn_type_list" and set(config.numbers(named)) == {1}:
        named = None  # full attention in every layer (MiniMax-M2)
    if parallel or named is not None:
        config.findings.append(
            error(
                "config-layer-unknown",
                f"{config.path}{named or 'model_type'}",
                f"{family} mixes attention with other layers in a way that has no formula here",
                "give the parameter count instead, and the cache from the engine's log",
                value=named or family,
            )
        )


def _kind(config: ConfigFields, index: int) -> str:
    """The kind of one layer where the configuration has no list of them."""
    family = config.text("model_type")
    interval = config.number("full_attention_interval")
    if interval is not None:
        return "full_attention" if (index + 1) % interval == 0 else "linear_attention"
    chosen = config.numbers("attn_layer_indices")
    if chosen:
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
    if kind in ("full_attention", "attention", "global"):
        return full
    if kind in ("sliding_attention", "chunked_attention") and isinstance(full, Attention):
        names = ("sliding_window", "attention_chunk_size", "sliding_window_size")
        window = config.required(*names)
        return Attention(
            full.query_heads,
            full.kv_heads,
            full.head_dim,
            window,
            full.per_head_norm,
            full.output_gate,
        )
    if kind in _LINEAR_KINDS:
        return _linear(config, kind, hidden)
    noted = error(
        "config-layer-unknown",
        f"{config.path}layer_types",
        f"a layer of kind {kind!r} has no formula here",
        "full, sliding, chunked and linear attention and Mamba layers have",
        value=kind,
    )
    if noted not in config.findings:
        config.findings.append(noted)
    return full


def _attention(config: ConfigFields, hidden: int) -> Attention:
    heads = config.required("num_attention_heads", "n_head", "n_heads", "num_heads")
    kv = config.number("num_key_value_heads", "num_kv_heads", "n_head_kv", "multi_query_group_num")
    old_falcon = config.flag("new_decoder_architecture") is not True
    if config.flag("multi_query") is True and old_falcon:
        kv = 1
    head = config.number("head_dim", "kv_channels", "attention_head_dim") or -(-hidden // heads)
    family = config.text("model_type")
    if kv and heads > 1 and heads % kv:  # 1 represents a number that is missing, and said so
        disagree = error(
            "config-heads-disagree",
            f"{config.path}num_key_value_heads",
            f"{kv} key/value heads do not divide {heads} query heads",
            "give the config.json that belongs to the weights",
            value=kv,
            limit=heads,
        )
        if disagree not in config.findings:
            config.findings.append(disagree)
    return Attention(
        query_heads=heads,
        kv_heads=kv or heads,
        head_dim=head,
        per_head_norm=config.flag("use_qk_norm") is True or family.startswith(PER_HEAD_NORM),
        output_gate=family.startswith(("qwen3_next", "qwen3_5")),
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


def _linear(config: ConfigFields, kind: str, hidden: int) -> LinearMixer:
    """Gated delta nets (`linear_*` fields) and Mamba 2 (`mamba_*` fields)."""
    if config.has("linear_num_value_heads"):
        keys = config.required("linear_num_key_heads") * config.required("linear_key_head_dim")
        value_heads = config.required("linear_num_value_heads")
        values = value_heads * config.required("linear_value_head_dim")
        kernel = config.number("linear_conv_kernel_dim") or 4
        width = 2 * keys + 2 * values
        return LinearMixer(
            parameters=hidden * (width + 2 * value_heads + values) + kernel * (2 * keys + values),
            state_elements=values * config.required("linear_key_head_dim")
            + kernel * (2 * keys + values),
            width=width,
        )
    if config.has("mamba_d_state") and config.has("mamba_dt_rank"):
        inner = (config.number("mamba_expand") or 2) * hidden
        return _first_mamba(
            hidden,
            inner,
            state=config.required("mamba_d_state"),
            rank=config.number("mamba_dt_rank") or -(-hidden // 16),
            kernel=config.number("mamba_d_conv") or 4,
        )
    if config.has("mamba_d_state") and config.has("mamba_n_heads", "mamba_expand"):
        inner = (config.number("mamba_expand") or 2) * hidden
        if config.has("mamba_n_heads") and config.has("mamba_d_head"):
            inner = config.required("mamba_n_heads") * config.required("mamba_d_head")
        state = config.required("mamba_d_state")
        groups = config.number("mamba_n_groups") or 1
        heads = config.number("mamba_n_heads") or 1
        kernel = config.number("mamba_d_conv") or 4
        return _second_mamba(hidden, inner, state, groups, heads, kernel)
    noted = error(
        "config-linear-layer-unknown",
        f"{config.path}layer_types",
        f"a {kind} layer without linear_* or mamba_* sizes cannot be counted",
        "give a configuration that has them",
        value=kind,
    )
    if noted not in config.findings:
        config.findings.append(noted)
    return LinearMixer(0, 0, hidden)


def _state_space(config: ConfigFields, hidden: int) -> LinearMixer:
    """A layer of a model that is all Mamba (`state_size` and the like)."""
    state = config.required("state_size")
    kernel = config.number("conv_kernel") or 4
    inner = (config.number("expand") or 2) * hidden
    if config.text("model_type") == "mamba2":
        heads, groups = config.required("num_heads"), config.number("n_groups") or 1
        inner = heads * config.required("head_dim")
        return _second_mamba(hidden, inner, state, groups, heads, kernel)
    inner = config.number("intermediate_size", "d_inner") or inner
    rank = -(-hidden // 16)
    if config.data.get("time_step_rank") != "auto":
        rank = config.number("time_step_rank") or rank
    return _first_mamba(hidden, inner, state=state, rank=rank, kernel=kernel)


def _first_mamba(hidden: int, inner: int, *, state: int, rank: int, kernel: int) -> LinearMixer:
    """Mamba 1: two projections in, one out, the selection of step, B and C, and its matrix A."""
    selection = inner * (rank + 2 * state) + rank * inner + inner * (state + kernel + 3)
    return LinearMixer(
        parameters=3 * hidden * inner + selection,
        state_elements=inner * (state + kernel),
        width=2 * inner,
    )


def _second_mamba(
    hidden: int, inner: int, state: int, groups: int, heads: int, kernel: int
) -> LinearMixer:
    """Mamba 2: one projection of everything in, one out, a convolution over what is mixed."""
    mixed = inner + 2 * groups * state
    return LinearMixer(
        parameters=hidden * (inner + mixed + heads) + inner * hidden + kernel * mixed,
        state_elements=inner * state + kernel * mixed,
        width=inner + mixed,
    )
