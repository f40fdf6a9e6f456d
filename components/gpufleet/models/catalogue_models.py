"""Rows of the catalogue's model table -> Architecture."""

import re
from dataclasses import replace

from gpufleet.catalogue import Catalogue, Model, UnknownKeyError
from gpufleet.catalogue.lookup import nearest_models
from gpufleet.findings import Finding, findings_in
from gpufleet.models.architecture import (
    Architecture,
    Attention,
    ExpertFeedForward,
    FeedForward,
    LatentAttention,
    LayerGroup,
    Mixer,
)
from gpufleet.models.config_model import architecture_from_config
from gpufleet.models.ledger import Basis
from gpufleet.models.parameters import count_parameters

_finding = findings_in(__file__)

# The table does not list the families that normalise queries and keys per head.
_PER_HEAD_NORM = ("Qwen3", "OLMo-2", "Gemma-3")
# DeepSeek V2 and V3 share these; the table gives only the ranks.
_LATENT_NOPE = _LATENT_VALUE = 128
_TUNED = frozenset({"instruct", "it", "chat", "hf", "base", "pt", "thinking"})
_REVISION = re.compile(r"-(v[0-9]+(\.[0-9]+)?|[0-9]{4})$")
_TOLERANCE = 0.01
"""The table rounds totals to 0.5 %, and small ones to two digits: closer than this the shape is the
better source."""


def find_catalogue_model(
    text: str, catalogue: Catalogue, path: str = "model"
) -> Architecture | Finding:
    """The model with this name: exact, or as the Hugging Face Hub names its releases
    (`meta-llama/Llama-3.1-8B-Instruct`). An unknown one is an error with the nearest names."""
    names = {name.lower(): name for name in catalogue.models}
    for row in catalogue.models.values():
        names |= {one.rpartition("/")[2].lower().removeprefix("meta-"): row.name for one in row.hub}
    plain = _release_words(text)
    found = next((names[name] for name in plain if name in names), text)
    plain = plain[-1]
    try:
        return from_catalogue(catalogue.model(found), catalogue.edition)
    except UnknownKeyError:
        close = nearest_models(plain, catalogue.models)
        nearest = f"nearest: {', '.join(close)}; or " if close else ""
        return _finding("model-unknown", path, value=text, instead=nearest, nearest=close)


_FORMATS = (
    ("-unsloth-bnb-4bit", "nf4-double"),
    ("-bnb-4bit", "nf4-double"),
    ("-awq-int4", "awq-int4"),
    ("-awq", "awq-int4"),
    ("-gptq-int4", "gptq-int4"),
    ("-gptq-int8", "int8"),
    ("-quantized.w4a16", "gptq-int4"),
    ("-quantized.w8a8", "int8"),
    ("-fp8-dynamic", "fp8"),
    ("-fp8", "fp8"),
    ("-nvfp4", "nvfp4"),
)
"""Suffix of releases in another format on the Hub, and the format; groups are of 128."""


def named_format(text: str) -> tuple[str, str] | None:
    """A release's name without the format at its end, and the format; None: no format in it."""
    plain = text.strip()
    for ending, form in _FORMATS:
        if plain.lower().endswith(ending):
            return plain[: -len(ending)], form
    return None


def _release_words(text: str) -> tuple[str, ...]:
    """A name in lower case without its organisation, then without what tells apart releases of one
    shape: how it was tuned, its version or month."""
    whole = text.strip().rpartition("/")[2].lower().removeprefix("meta-")
    tuned = "-".join(part for part in whole.split("-") if part not in _TUNED)
    return whole, tuned, _REVISION.sub("", tuned)


def from_catalogue(row: Model, edition: str) -> Architecture:
    """The architecture of one row."""
    source = f"catalogue {edition}, {row.source.key} of {row.source.date}"
    model = _from_fields(row, source) if row.config is None else _from_config(row, source)
    counted = count_parameters(model)
    if abs(counted.total - row.parameters) <= _TOLERANCE * row.parameters:
        return model
    note = (
        f"the published total of {row.parameters} parameters is used; the shape alone gives "
        f"{counted.total}"
    )
    return replace(
        model,
        assumptions=(*model.assumptions, note),
        stated_parameters=row.parameters,
        stated_active=row.active_parameters,
    )


def _from_config(row: Model, source: str) -> Architecture:
    """The architecture of a row that has the model's own configuration."""
    model, fields = architecture_from_config(row.config or {}, row.name, source)
    assert model is not None, f"{row.name}: {[str(one) for one in fields.findings]}"
    return model


def _from_fields(row: Model, source: str) -> Architecture:
    groups: list[LayerGroup] = []
    sparse = row.layers - row.dense_layers
    for layers, block in (
        (row.dense_layers, FeedForward(row.dense_intermediate or row.intermediate, row.gated)),
        (sparse, _block(row)),
    ):
        # The layer with full attention is the last of each period.
        full = layers // row.full_attention_every
        windowed = layers - full if row.sliding_window else 0
        groups.append(LayerGroup(layers - windowed, _mixer(row, None), block))
        groups.append(LayerGroup(windowed, _mixer(row, row.sliding_window), block))
    return Architecture(
        name=row.name,
        hidden=row.hidden,
        vocabulary=row.vocabulary,
        tied_embeddings=row.tied_embeddings,
        groups=tuple(group for group in groups if group.count),
        basis=Basis.MODELLED,
        source=source,
        layer_norm=not row.gated,
    )


def _mixer(row: Model, window: int | None) -> Mixer:
    if row.kv_heads is None or row.head_dim is None:
        assert row.latent_kv is not None, f"{row.name}: neither KV heads nor a latent size"
        assert row.latent_rope is not None, f"{row.name}: a latent size without rotary part"
        return LatentAttention(
            heads=row.query_heads,
            query_rank=row.latent_query,
            kv_rank=row.latent_kv,
            rope_dim=row.latent_rope,
            nope_dim=_LATENT_NOPE,
            value_dim=_LATENT_VALUE,
        )
    return Attention(
        query_heads=row.query_heads,
        kv_heads=row.kv_heads,
        head_dim=row.head_dim,
        window=window,
        per_head_norm=row.name.startswith(_PER_HEAD_NORM),
    )


def _block(row: Model) -> FeedForward | ExpertFeedForward:
    if row.experts is None:
        return FeedForward(row.intermediate, row.gated)
    return ExpertFeedForward(
        experts=row.experts,
        per_token=row.experts_per_token or 1,
        size=row.intermediate,
        shared_size=row.shared_experts * row.intermediate,
        gated=row.gated,
    )
