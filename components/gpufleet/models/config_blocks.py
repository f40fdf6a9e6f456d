"""The feed-forward of each layer of a configuration: dense, gated or plain, or experts."""

from collections.abc import Callable
from typing import cast

from gpufleet.models.architecture import (
    NO_MIXER,
    Attention,
    ExpertFeedForward,
    FeedForward,
    LinearMixer,
    Mixer,
)
from gpufleet.models.config_fields import ConfigFields
from gpufleet.models.config_linear import linear_mixer
from gpufleet.models.config_mixers import read_attention
from gpufleet.models.model_families import (
    FIELDS,
    GATED,
    GATED_ACTIVATIONS,
    GLU,
    LATENT,
    PLAIN,
    STATE_SPACE,
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
        config.say("model-type-unknown", value=family, activation=activation)
        return True
    if activation:
        config.say("model-type-unknown/activation", value=family, activation=activation)
    else:
        config.say("model-type-unknown/plain", value=family)
    return True


def read_blocks(
    config: ConfigFields, mixers: list[Mixer], hidden: int
) -> list[FeedForward | ExpertFeedForward | None]:
    """One feed-forward for each mixer; None in models with Mamba layers only."""
    layers = len(mixers)
    if config.text("model_type") in STATE_SPACE:
        return [None] * layers
    gated = is_gated(config)
    experts = config.number(*FIELDS["experts"], least=0)
    if (
        experts is None
        and config.has(*FIELDS["experts per token"])
        and config.text("model_type") in LATENT
    ):
        experts = config.required(*FIELDS["experts"])
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
        return [
            wide if doubled and isinstance(mixer, Attention) and mixer.reads_other_cache else dense
            for mixer in mixers
        ]
    sparse = _experts(config, experts, size, gated)
    dense_size = config.number(*FIELDS["dense size"]) or size or sparse.size
    dense = FeedForward(dense_size, gated)
    return [sparse if _is_sparse(config, index) else dense for index in range(layers)]


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
    shared = config.number(*FIELDS["shared size"], least=0)
    if config.flag("enable_moe_block"):
        shared = size or 0  # a dense block next to the experts of each layer (Gemma 4)
    elif shared is None:
        count = config.number(*FIELDS["shared experts"], least=0)
        if count is None and config.text("model_type").startswith("llama4"):
            count = 1
        shared = (count or 0) * one
    per_token = config.required(*FIELDS["experts per token"])
    if per_token > experts:
        config.say("config-experts-disagree", value=per_token, limit=experts)
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
    step = config.number(*FIELDS["expert step"])
    return (index + 1) % (step or 1) == 0


# Configurations whose layers are not pairs of one mixer and one feed-forward.

Layer = tuple[Mixer, FeedForward | ExpertFeedForward | None]
_WIDEST = 64
_LETTERS = {"M": "mamba", "*": "attention", "-": "mlp", "E": "moe"}
"""Letters of `hybrid_override_pattern` (NVIDIA Nemotron-H)."""


def read_single_blocks(config: ConfigFields, hidden: int) -> list[Layer] | None:
    """Layers of Nemotron-H, each only a mixer or only a feed-forward; None for other families."""
    if config.text("model_type") != "nemotron_h":
        return None
    kinds = config.texts("layers_block_type") or config.texts("layer_types")
    if kinds is None:
        kinds = [_LETTERS.get(one, one) for one in config.text("hybrid_override_pattern")]
    makers: dict[str, Callable[[], Layer]] = {
        "linear_attention": lambda: (linear_mixer(config, "mamba", hidden), None),
        "mamba": lambda: (linear_mixer(config, "mamba", hidden), None),
        "attention": lambda: (read_attention(config, hidden), None),
        "full_attention": lambda: (read_attention(config, hidden), None),
        "mlp": lambda: (NO_MIXER, FeedForward(config.required("intermediate_size"), gated=False)),
        "moe": lambda: (NO_MIXER, _hybrid_experts(config)),
    }
    unknown = sorted(set(kinds) - set(makers))
    if not kinds:
        config.say("config-layer-unknown/unnamed", known=sorted(makers))
        return []
    if unknown:
        config.say("config-layer-unknown/kinds", value=unknown, known=sorted(makers))
        return []
    stated = config.number("num_hidden_layers")
    if stated is not None and stated != len(kinds):
        config.say("config-layers-disagree", limit=len(kinds), value=stated)
    made = {kind: makers[kind]() for kind in dict.fromkeys(kinds)}
    return [made[kind] for kind in kinds]


def read_block_configs(config: ConfigFields, hidden: int) -> list[Layer] | None:
    """Layers with individual sizes (Llama-Nemotron); None for other families."""
    listed = config.value("block_configs")
    if not isinstance(listed, list):
        return None
    heads = config.required("num_attention_heads")
    layers: list[Layer] = []
    for index, entry in enumerate(cast("list[object]", listed)):
        path = f"{config.path}block_configs[{index}]."
        data = cast("dict[str, object]", entry) if isinstance(entry, dict) else {}
        block = ConfigFields(data, path, config.findings)
        attention, forward = block.part("attention"), block.part("ffn")
        if attention is None or forward is None:
            block.refuse("attention", data, "an object with attention and ffn")
            return []
        mixer: Mixer = NO_MIXER
        if attention.flag("replace_with_linear"):
            mixer = LinearMixer(hidden * hidden, 0, hidden)
        elif not attention.flag("no_op"):
            shared = attention.required("n_heads_in_group")
            window = attention.number("window_length")
            mixer = Attention(heads, max(heads // shared, 1), -(-hidden // heads), window)
        layers.append((mixer, _searched(forward, hidden)))
    return layers


def _searched(forward: ConfigFields, hidden: int) -> FeedForward | None:
    """Two thirds of a multiple of the width for each of two matrices, in steps of 256; a linear
    layer is a plain block of half the width."""
    if forward.flag("no_op"):
        return None
    if forward.flag("replace_with_linear"):
        return FeedForward(hidden // 2, gated=False)
    share = forward.value("ffn_mult")
    if not isinstance(share, int | float) or not 0 < share <= _WIDEST:
        forward.refuse("ffn_mult", share, f"a number up to {_WIDEST}")
        return None
    return FeedForward(-(-int(2 * share * hidden / 3) // 256) * 256)


def _hybrid_experts(config: ConfigFields) -> ExpertFeedForward:
    return ExpertFeedForward(
        experts=config.required("n_routed_experts", "num_local_experts"),
        per_token=config.required("num_experts_per_tok"),
        size=config.required("moe_intermediate_size"),
        shared_size=config.number("moe_shared_expert_intermediate_size", least=0) or 0,
        gated=False,
        latent=config.number("moe_latent_size"),
    )


def with_parallel_mixers(config: ConfigFields, pairs: list[Layer], hidden: int) -> list[Layer]:
    """Layers of Falcon-H1 have attention and Mamba next to each other: the Mamba parts count as
    separate layers without a feed-forward."""
    if config.text("model_type") != "falcon_h1":
        return pairs
    return [*pairs, *[(linear_mixer(config, "mamba", hidden), None)] * len(pairs)]
