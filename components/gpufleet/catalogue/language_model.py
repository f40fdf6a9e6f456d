"""Type of the model table: the shape of one language model, from its published configuration."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gpufleet.catalogue.source import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """Shape of one language model, from its published configuration."""

    name: str
    layers: int
    hidden: int
    query_heads: int
    kv_heads: int | None = None
    """None: multi-head latent attention, see `kv_bytes_per_token`."""
    head_dim: int | None = None
    """None with multi-head latent attention."""
    intermediate: int
    """Feed-forward size; for models with experts, of one expert."""
    vocabulary: int
    tied_embeddings: bool
    parameters: int
    """Published number, rounded to hundredths or tenths of a billion; the shape is exact."""
    active_parameters: int
    """Read for one token, embeddings and head included; equal to `parameters` without experts."""
    kv_bytes_per_token: int
    """BF16, whole model, full attention in every layer."""
    notes: str = ""
    source: Source
    released_weights: str | None = None
    """Format in which the vendor publishes the weights, by its name in `sizing`; None: 16 bit."""
    weights_source: str = ""
    """Key of the source of this fact; empty in an overlay whose own source states it. Rows of an
    edition have one."""
    hub: tuple[str, ...] = ()
    """Repositories of the Hugging Face Hub that hold this shape in the released format, as their
    model cards and vLLM's list of supported models name them (2026-11-22). The first is the model
    of this name, further ones are other tunings of it."""
    experts: int | None = None
    """Routed experts of a mixture-of-experts layer; None: a dense model."""
    experts_per_token: int | None = None
    latent_kv: int | None = None
    """Multi-head latent attention: compressed size r_kv."""
    latent_rope: int | None = None
    """Multi-head latent attention: rotary part d_rope."""
    config: Mapping[str, Any] = field(default_factory=dict[str, Any], hash=False)
    """The sizes of its `config.json`, which sizing reads; the other sizes here are those of its
    language part, for tables."""
