"""Configurations whose layers are no pairs of one mixer and one feed-forward."""

from collections.abc import Callable

from gpufleet.findings import error
from gpufleet.sizing.architecture import NO_MIXER, ExpertFeedForward, FeedForward, Mixer
from gpufleet.sizing.config_fields import ConfigFields
from gpufleet.sizing.config_linear import linear_mixer
from gpufleet.sizing.config_mixers import read_attention

Layer = tuple[Mixer, FeedForward | ExpertFeedForward | None]
_LETTERS = {"M": "mamba", "*": "attention", "-": "mlp", "E": "moe"}
"""Of `hybrid_override_pattern` (NVIDIA Nemotron-H)."""


def read_single_blocks(config: ConfigFields, hidden: int) -> list[Layer] | None:
    """Layers of Nemotron-H, each a mixer or a feed-forward alone; None of other families."""
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
            error(
                "config-layers-disagree",
                f"{config.path}num_hidden_layers",
                f"the pattern names {len(kinds)} layers, num_hidden_layers says {stated}",
                value=stated,
                limit=len(kinds),
            )
        )
    made = {kind: makers[kind]() for kind in dict.fromkeys(kinds)}
    return [made[kind] for kind in kinds]


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
    """Layers of Falcon-H1 have attention and Mamba next to each other: the latter are counted as
    layers of their own, without a feed-forward."""
    if config.text("model_type") != "falcon_h1":
        return pairs
    return [*pairs, *[(linear_mixer(config, "mamba", hidden), None)] * len(pairs)]
