"""Facts of model families, by the `model_type` of a Hugging Face configuration."""

import json
from pathlib import Path
from typing import Any

_NAMED: dict[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
VISION_GATED: tuple[str, ...] = tuple(_NAMED["vision_gated"])
"""Model types of vision towers, or of models around them, with three matrices per feed-forward; all
others (SigLIP, CLIP, InternViT, Qwen2-VL, Qwen3-VL, Llama 4, ...) have two."""
TOWERS: tuple[str, ...] = tuple(_NAMED["towers"])
"""Starts of model types of vision towers whose estimate was compared with published sizes."""
PLAIN: frozenset[str] = frozenset(_NAMED["plain"])
"""Two matrices per feed-forward."""
GATED: frozenset[str] = frozenset(_NAMED["gated"])
"""Three matrices per feed-forward."""
ENCODERS: frozenset[str] = frozenset(_NAMED["encoders"])
"""No generation: no KV cache and no vocabulary projection."""
ENCODER_DECODERS: tuple[str, ...] = tuple(_NAMED["encoder_decoders"])
FIELDS: dict[str, list[str]] = _NAMED["fields"]
"""Names that configurations use for one size; the first that has a value counts."""
HARMLESS: frozenset[str] = frozenset(_NAMED["harmless"])
"""Keys that change no size unless a formula reads them: training, generation and kernel options,
and names that another key of the same configuration replaces."""
PER_HEAD_NORM: tuple[str, ...] = tuple(_NAMED["per_head_norm"])
"""Prefixes of families that normalise queries and keys per head."""
LATENT: tuple[str, ...] = tuple(_NAMED["latent"])
"""Families that cache one compressed vector per token: without their latent fields (kv_lora_rank
and the like) a configuration does not describe their attention."""
NOT_READ: dict[str, str] = _NAMED["not_read"]
"""Families that other keys would make look like plain ones."""
STATE_SPACE: tuple[str, ...] = tuple(_NAMED["state_space"])
"""Families without attention and feed-forward: every layer is a Mamba block."""
KNOWN = PLAIN | GATED | frozenset(STATE_SPACE)
"""Families whose fields were compared with their code. Figures of any other are assumed."""
DEFAULTS: dict[str, dict[str, int]] = _NAMED["defaults"]
"""Defaults of Transformers if the language part of a vision-language model omits a size
(huggingface/transformers `configuration_llama.py`, `configuration_mistral.py`,
`configuration_gemma3.py`, 2026-11-22): such parts have only values that differ."""
TIED: tuple[str, ...] = tuple(_NAMED["tied"])
"""Prefixes of families that tie the head if the configuration does not state it (defaults of the
configuration classes of Transformers 5.23.0)."""
FULL_ATTENTION_EVERY: dict[str, int] = _NAMED["full_attention_every"]
"""One layer in this many has full attention by default; the rest have a window."""
GLU = ("swiglu", "swigluoai", "geglu")
"""Activations that are gates by name, whatever the family usually has (nomic-embed)."""
GATED_ACTIVATIONS = ("silu", "swish", *GLU)
"""Activations that only gated feed-forwards use."""
