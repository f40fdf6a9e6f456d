"""The feed-forward of each layer of a configuration: dense, gated or plain, or experts."""

from gpufleet.findings import error, findings_in
from gpufleet.models.architecture import Attention, ExpertFeedForward, FeedForward, Mixer
from gpufleet.models.config_fields import ConfigFields
from gpufleet.models.model_families import (
    GATED,
    GATED_ACTIVATIONS,
    GLU,
    LATENT,
    PLAIN,
    STATE_SPACE,
)

_finding = findings_in(__file__)

_EXPERTS = ("n_routed_experts", "num_local_experts", "num_experts", "moe_num_experts")
_SHARED = (
    "n_shared_experts",
    "num_shared_experts",
    "num_shared_expert",
    "moe_num_shared_experts",
)
_STEP = (
    "decoder_sparse_step",
    "interleave_moe_layer_step",
    "moe_layer_freq",
    "moe_layer_interval",
)
_DENSE = ("intermediate_size_mlp", "dense_intermediate_size")
_SHARED_SIZE = (
    "shared_expert_intermediate_size",
    "shared_intermediate_size",
    "share_expert_dim",
)
_PER_TOKEN = (
    "top_k_experts",
    "num_experts_per_tok",
    "num_experts_per_token",
    "moe_top_k",
    "moe_topk",
    "moe_k",
)


def is_gated(config: ConfigFields) -> bool:
    """Whether the feed-forward has three matrices. An unknown family is decided by its activation
    and noted; without a known activation it is an error."""
    family = config.text("model_type")
    activation = config.text("hidden_act", "hidden_activation", "activation_function")
    if family in PLAIN and activation not in GLU:
        return False
    if family in GATED or activation in GLU:
        return True
    if activation in GATED_ACTIVATIONS:
        config.findings.append(
            _finding("model-type-unknown", config.path, value=family, activation=activation)
        )
        return True
    config.findings.append(
        error(
            "model-type-unknown",
            f"{config.path}model_type",
            f"model type {family!r} is not known here, and "
            + (f"its activation {activation!r} does not say" if activation else "nothing says")
            + " whether the feed-forward has two matrices or three",
            "give the parameter count instead, such as 8B",
            value=family,
        )
    )
    return True


def read_blocks(
    config: ConfigFields, mixers: list[Mixer], hidden: int
) -> list[FeedForward | ExpertFeedForward | None]:
    """One feed-forward for each mixer; None in models with Mamba layers only."""
    layers = len(mixers)
    if config.text("model_type") in STATE_SPACE:
        return [None] * layers
    gated = is_gated(config)
    experts = config.number(*_EXPERTS, least=0)
    if experts is None and config.has(*_PER_TOKEN) and config.text("model_type") in LATENT:
        experts = config.required(*_EXPERTS)
    experts = experts or 0
    # LFM2's class takes block_ff_dim before intermediate_size.
    sizes = ("block_ff_dim", "intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size")
    size = config.number(*sizes)
    if size is not None and config.text("model_type") == "qwen":
        size //= (
            2  # its value counts gate and up together (Qwen/Qwen-7B, modeling_qwen.py, QWenMLP)
        )
    if size is None and not gated:
        size = 4 * hidden
    if size is not None and config.flag("block_auto_adjust_ff_dim"):
        size = _adjusted(config, size)
    if experts <= 1 or config.flag("enable_moe_block") is False:
        dense = FeedForward(size or config.required("intermediate_size"), gated)
        wide = FeedForward(2 * dense.size, gated)
        doubled = config.flag("use_double_wide_mlp") is True
        return [wide if doubled and _reuses(mixer) else dense for mixer in mixers]
    sparse = _experts(config, experts, size, gated)
    dense_size = config.number(*_DENSE) or size or sparse.size
    dense = FeedForward(dense_size, gated)
    return [sparse if _is_sparse(config, index) else dense for index in range(layers)]


def _reuses(mixer: Mixer) -> bool:
    return isinstance(mixer, Attention) and mixer.reads_other_cache


def _adjusted(config: ConfigFields, size: int) -> int:
    """The feed-forward of LFM2: two thirds of the stated size, rounded up."""
    share = config.value("block_ffn_dim_multiplier")
    size = int((share if isinstance(share, int | float) else 1) * (2 * size // 3))
    step = config.number("block_multiple_of") or 1
    return -(-size // step) * step


def _experts(
    config: ConfigFields, experts: int, size: int | None, gated: bool
) -> ExpertFeedForward:
    one = config.number("moe_intermediate_size", "expert_ffn_hidden_size") or size
    if one is None:
        one = config.required("moe_intermediate_size")
    shared = config.number(*_SHARED_SIZE, least=0)
    if config.flag("enable_moe_block"):
        shared = size or 0  # a dense block next to the experts of each layer (Gemma 4)
    elif shared is None:
        count = config.number(*_SHARED, least=0)
        if count is None and config.text("model_type").startswith("llama4"):
            count = 1
        shared = (count or 0) * one
    per_token = config.required(*_PER_TOKEN)
    if per_token > experts:
        config.findings.append(
            _finding("config-experts-disagree", config.path, value=per_token, limit=experts)
        )
    return ExpertFeedForward(experts, per_token, one, shared, gated)


def _is_sparse(config: ConfigFields, index: int) -> bool:
    if index < (
        config.number("first_k_dense_replace", "moe_layer_start_index", "num_dense_layers", least=0)
        or 0
    ):
        return False
    if index in config.numbers("mlp_only_layers"):
        return False
    kinds = config.texts("mlp_layer_types")
    if kinds:
        return index < len(kinds) and kinds[index] != "dense"
    listed = config.numbers("moe_layer_freq")
    if listed:
        return index < len(listed) and listed[index] > 0
    chosen = config.numbers("moe_layers")
    if chosen:
        return index in chosen
    period = config.number("expert_layer_period")
    if period is not None:
        return index % period == (config.number("expert_layer_offset", least=0) or 0)
    last = config.number("moe_layer_end_index", least=-1)
    if last not in (None, -1) and index > last:
        return False
    step = config.number(*_STEP)
    return (index + 1) % (step or 1) == 0
