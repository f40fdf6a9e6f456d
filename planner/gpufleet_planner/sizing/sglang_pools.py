"""SGLang's cache in pools: tokens of layers that see everything, tokens of windows, states.

Rules: sgl-project/sglang @ 003fca8, `srt/model_executor/pool_configurator.py` (default and
`HybridSWAPoolConfigurator`) and `srt/mem_cache/kv_cache_configurator.py`
(`_handle_max_mamba_cache`, `_calculate_mamba_ratio`). The parts of the pools are the defaults of
`--swa-full-tokens-ratio` and `--mamba-full-memory-ratio`. A request may be as long as the pool of
tokens (`managers/tp_worker.py`, `max_req_len`): with less the server starts, and refuses longer
ones.
"""

from dataclasses import dataclass
from fractions import Fraction

from gpufleet.models.architecture import Architecture, Attention, LinearMixer
from gpufleet.models.formats import KvFormat
from gpufleet.models.kv_cache import layer_token_bytes, linear_state_bytes
from gpufleet.models.parallel import Parallelism, stage_layers

WINDOW_PART = Fraction(8, 10)
"""Tokens of the pool of windows for each of the other pool."""
STATE_PART = Fraction(9, 19)
"""Of the cache, for states: 0.9 of what the tokens get."""
STATES_EACH = 3
"""Slots for states of each sequence that runs, with the radix cache, which is on by default."""
_SPLIT = ("gpt-oss", "llama-4", "gemma-4", "mimo-v2", "step3", "laguna", "mellum")
"""Models whose windows have a pool of their own (`is_hybrid_swa_model`): of others each layer keeps
every token. By the name of the model, as that of its class is not known."""


@dataclass(frozen=True, slots=True)
class SglangPools:
    """The pools on one GPU."""

    tokens: int
    """Of the longest request, and of all together."""
    window_tokens: int | None
    """None: no pool of windows."""
    window: int
    states: int | None
    """Sequences that have a state; None: no layer has one."""

    def sequences(self, tokens: int) -> int:
        """Requests of so many tokens at once."""
        found = self.tokens // tokens
        if self.window_tokens is not None:
            found = min(found, self.window_tokens // min(self.window + 1, tokens))
        return found if self.states is None else min(found, self.states)

    @property
    def refusal(self) -> str | None:
        """Why the server ends at its start; None: it does not."""
        if self.states == 0:
            return "its cache for states is too small for one sequence"
        if self.tokens <= 0:
            return "weights leave no memory for the cache (`--mem-fraction-static`)"
        if self.window_tokens is not None and self.window_tokens <= self.window + 1:
            return f"its pool of {self.window_tokens} tokens for windows holds no request"
        return None


def sglang_pools(
    model: Architecture, cache: KvFormat, parallel: Parallelism, cache_bytes: int
) -> SglangPools | None:
    """How a cache of so many bytes on each GPU is divided; None for a model without one."""
    everything = windows = states = Fraction(0)
    window = 0
    split = any(name in model.name.lower().replace("_", "-") for name in _SPLIT)
    for group in model.groups:
        mixer = group.mixer
        if isinstance(mixer, LinearMixer):
            if mixer.state_elements:
                states += group.count * linear_state_bytes(mixer, parallel.tensor)
            continue
        each = group.count * layer_token_bytes(mixer, cache, parallel.tensor) / parallel.context
        if split and isinstance(mixer, Attention) and mixer.window is not None:
            windows, window = windows + each, max(window, mixer.window)
        else:
            everything += each
    fullest = Fraction(stage_layers(model.layers, parallel.pipeline)[0], model.layers)
    everything, windows, states = (part * fullest for part in (everything, windows, states))
    slots = int(cache_bytes * STATE_PART // states) if states else 0
    left = cache_bytes - slots * states
    # Windows alone: their pool is the only one, and its part means nothing.
    each = everything + WINDOW_PART * windows if everything else windows
    if not each:
        return None
    tokens = int(left // each)
    return SglangPools(
        tokens,
        int(tokens * WINDOW_PART) if windows and everything else None,
        window,
        slots // STATES_EACH if states else None,
    )
