"""Layers of constant state: delta nets, lightning attention, Mamba, short convolutions."""

from gpufleet.models.architecture import LinearMixer
from gpufleet.models.config_fields import ConfigFields

LINEAR_KINDS = ("linear_attention", "mamba", "mamba2", "recurrent", "conv")

_REPEATED = {
    "block_dim": "hidden_size",
    "conv_dim": "hidden_size",
    "conv_dim_out": "hidden_size",
    "num_heads": "num_attention_heads",
}
"""Older names in LFM2, which its class does not read (Transformers 5.23.0)."""


def linear_mixer(config: ConfigFields, kind: str, hidden: int) -> LinearMixer:
    """One linear layer, by the fields with its sizes; reports an error if they are missing."""
    if kind == "conv" and config.has("conv_L_cache"):
        # Two gates and a value in, a short convolution, one projection out (LFM2).
        kernel = config.required("conv_L_cache")
        for name, other in _REPEATED.items():
            wanted = config.number(other)
            if config.value(name) not in (None, wanted):
                config.refuse(name, config.value(name), f"{wanted}, as {other} has it")
        return LinearMixer((4 * hidden + kernel) * hidden, kernel * hidden, 3 * hidden)
    if config.has("linear_num_value_heads"):
        return _gated_delta(config, hidden)
    if config.has("linear_num_heads", "linear_attn_config"):
        return _kimi_delta(config, hidden)
    if config.text("model_type").startswith("minimax") and kind == "linear_attention":
        return _lightning(config, hidden)
    if config.has("mamba_num_heads", "ssm_state_size"):
        inner = config.required("mamba_num_heads") * config.required("mamba_head_dim")
        return _second_mamba(
            hidden,
            inner,
            config.required("ssm_state_size"),
            config.number("n_groups", "mamba_n_groups") or 1,
            config.required("mamba_num_heads"),
            config.number("conv_kernel", "mamba_d_conv") or 4,
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
        return _named_second_mamba(config, hidden)
    config.say("config-linear-layer-unknown", value=kind)
    return LinearMixer(0, 0, hidden)


def _gated_delta(config: ConfigFields, hidden: int) -> LinearMixer:
    """Gated delta nets (Qwen3-Next)."""
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


def _kimi_delta(config: ConfigFields, hidden: int) -> LinearMixer:
    """Kimi delta attention: queries, keys and values through short convolutions, two gates of low
    rank: the forget gate and the output gate."""
    sizes = config.part("linear_attn_config") or config
    heads = sizes.required("num_heads", "linear_num_heads")
    each = sizes.required("head_dim", "linear_head_dim")
    kernel = sizes.number("short_conv_kernel_size", "linear_conv_kernel_dim") or 4
    inner = heads * each
    gates = 2 * each * (hidden + inner) + hidden * heads
    return LinearMixer(
        parameters=4 * hidden * inner + gates + 3 * kernel * inner,
        state_elements=inner * each + 3 * kernel * inner,
        width=3 * inner,
    )


def _lightning(config: ConfigFields, hidden: int) -> LinearMixer:
    """Lightning attention (MiniMax-01 and M1): queries, keys, values, gate and output, each
    as wide as the query heads."""
    heads = config.required("num_attention_heads")
    each = config.number("head_dim") or -(-hidden // heads)
    inner = heads * each
    return LinearMixer(5 * hidden * inner, inner * each, 3 * inner)


def _named_second_mamba(config: ConfigFields, hidden: int) -> LinearMixer:
    heads = config.number("mamba_n_heads") or 1
    inner = (config.number("mamba_expand") or 2) * hidden
    if config.has("mamba_d_ssm"):
        inner = config.required("mamba_d_ssm")
    elif config.has("mamba_n_heads") and config.value("mamba_d_head") not in (None, "auto"):
        inner = heads * config.required("mamba_d_head")
    return _second_mamba(
        hidden,
        inner,
        config.required("mamba_d_state"),
        config.number("mamba_n_groups") or 1,
        heads,
        config.number("mamba_d_conv") or 4,
    )


def state_space(config: ConfigFields, hidden: int) -> LinearMixer:
    """A layer of a model with Mamba layers only (`state_size` and related fields)."""
    state = config.required("state_size")
    kernel = config.number("conv_kernel") or 4
    inner = (config.number("expand") or 2) * hidden
    if config.text("model_type") == "mamba2":
        heads, groups = config.required("num_heads"), config.number("n_groups") or 1
        inner = heads * config.required("head_dim")
        return _second_mamba(hidden, inner, state, groups, heads, kernel)
    inner = config.number("intermediate_size", "d_inner") or inner
    rank = -(-hidden // 16)
    if config.value("time_step_rank") != "auto":
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
    """Mamba 2: one input projection, one output projection, a convolution over the mixed part."""
    mixed = inner + 2 * groups * state
    return LinearMixer(
        parameters=hidden * (inner + mixed + heads) + inner * hidden + kernel * mixed,
        state_elements=inner * state + kernel * mixed,
        width=inner + mixed,
    )
