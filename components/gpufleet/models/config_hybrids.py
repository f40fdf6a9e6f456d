"""Configurations whose layers are not pairs of one mixer and one feed-forward."""

from collections.abc import Callable
from typing import cast

from gpufleet.findings import error, findings_in
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

_finding = findings_in(__file__)

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
        "moe": lambda: (NO_MIXER, _experts(config)),
    }
    unknown = sorted(set(kinds) - set(makers))
    if unknown or not kinds:
        config.findings.append(
            error(
                "config-layer-unknown",
                f"{config.path}layers_block_type",
                f"layers of kind {', '.join(unknown)!r} have no formula here"
                if kinds
                else "neither layers_block_type nor hybrid_override_pattern names the layers",
                f"there is {', '.join(sorted(makers))}",
                value=unknown,
            )
        )
        return []
    stated = config.number("num_hidden_layers")
    if stated is not None and stated != len(kinds):
        config.findings.append(
            _finding("config-layers-disagree", config.path, limit=len(kinds), value=stated)
        )
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


def _experts(config: ConfigFields) -> ExpertFeedForward:
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
