"""Lines of charts, images, models and packages.jsonl -> Chart, NodeImage, Model, Package rows."""

from collections import ChainMap
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from gpufleet.catalogue.edition import RawRow
from gpufleet.catalogue.frozen import FrozenDict, frozen
from gpufleet.catalogue.language_model import Model
from gpufleet.catalogue.software import Chart, ChartImage, NodeImage, Package
from gpufleet.catalogue.source_rows import SourceTable, source_of

BILLION = 10**9


def chart_table(rows: Iterable[RawRow], sources: SourceTable) -> FrozenDict[str, Chart]:
    """All chart pins by name."""
    return frozen({raw["name"]: _chart(raw, sources) for raw in rows})


def image_table(rows: Iterable[RawRow], sources: SourceTable) -> FrozenDict[str, NodeImage]:
    """All node images by key."""
    return frozen({raw["key"]: _image(raw, sources) for raw in rows})


def model_table(rows: Iterable[RawRow], sources: SourceTable) -> FrozenDict[str, Model]:
    """All language models by name."""
    return frozen({raw["name"]: _model(raw, sources) for raw in rows})


def package_table(rows: Iterable[RawRow], sources: SourceTable) -> FrozenDict[str, Package]:
    """All packages of Operator Lifecycle Manager by name."""
    return frozen({raw["name"]: _package(raw, sources) for raw in rows})


def _package(raw: RawRow, sources: SourceTable) -> Package:
    return Package(
        name=raw["name"],
        package=raw["package"],
        catalog=raw["catalog"],
        namespace=raw["namespace"],
        group=raw["group"],
        source=source_of(raw, sources),
        channel=raw.get("channel", ""),
        notes=raw.get("notes", ""),
    )


def _chart(raw: RawRow, sources: SourceTable) -> Chart:
    documented, images = raw.get("documented_kubernetes"), raw.get("images")
    return Chart(
        name=raw["name"],
        version=raw["version"],
        app_version=raw.get("app_version", ""),
        repository=raw["repository"],
        namespace=raw["namespace"],
        min_kubernetes=raw.get("min_kubernetes", ""),
        source=source_of(raw, sources),
        documented_kubernetes=(documented[0], documented[1]) if documented else None,
        components=frozen(raw.get("components", {})),
        dependencies=frozen(raw.get("dependencies", {})),
        images=None if images is None else tuple(map(_chart_image, images)),
        notes=raw.get("notes", ""),
    )


def _chart_image(raw: RawRow) -> ChartImage:
    written: dict[str, Any] = {**raw, "when": frozen(raw.get("when", {}))}
    return ChartImage(**written)


def _image(raw: RawRow, sources: SourceTable) -> NodeImage:
    return NodeImage(
        key=raw["key"],
        platform=raw["platform"],
        architectures=tuple(raw["architectures"]),
        driver=raw["driver"],
        toolkit=raw["toolkit"],
        device_plugin=raw["device_plugin"],
        efa=raw["efa"],
        ami_types=frozen(raw.get("ami_types", {})),
        notes=raw.get("notes", ""),
        source=source_of(raw, sources),
        driver_branch=raw.get("driver_branch"),
        branches=frozen(
            {
                gpu: (one["branch"], one["from_release"])
                for gpu, one in raw.get("branches", {}).items()
            }
        ),
        operator_may_install_driver=raw["operator_may_install_driver"],
        vendors=tuple(raw.get("vendors", ("nvidia",))),
        operator_supported=raw["operator_supported"],
        last_kubernetes=raw.get("last_kubernetes"),
        fips=raw.get("fips"),
        fips_because=raw.get("fips_because", ""),
        evidence=raw.get("evidence", ""),
    )


def _model(raw: RawRow, sources: SourceTable) -> Model:
    config = raw.get("config")
    fields = ChainMap(raw, {} if config is None else shape_of_config(config))
    parameters = _billions(raw["parameters_billion"])
    active = fields.get("active_parameters_billion")
    return Model(
        name=fields["name"],
        layers=fields["layers"],
        hidden=fields["hidden"],
        query_heads=fields["query_heads"],
        kv_heads=fields.get("kv_heads"),
        head_dim=fields.get("head_dim"),
        intermediate=fields["intermediate"],
        vocabulary=fields["vocabulary"],
        tied_embeddings=fields["tied_embeddings"],
        parameters=parameters,
        active_parameters=parameters if active is None else _billions(active),
        kv_bytes_per_token=fields["kv_bytes_per_token"],
        notes=fields.get("notes", ""),
        source=source_of(raw, sources),
        released_weights=fields.get("released_weights"),
        hub=tuple(fields.get("hub", ())),
        experts=fields.get("experts"),
        experts_per_token=fields.get("experts_per_token"),
        shared_experts=fields.get("shared_experts", 0),
        sliding_window=fields.get("sliding_window"),
        full_attention_every=fields.get("full_attention_every", 1),
        gated=fields.get("gated", True),
        latent_kv=fields.get("latent_kv"),
        latent_rope=fields.get("latent_rope"),
        latent_query=fields.get("latent_query"),
        dense_layers=fields.get("dense_layers", 0),
        dense_intermediate=fields.get("dense_intermediate"),
        config=None if config is None else frozen(config),
    )


_EXPERTS = ("num_experts", "n_routed_experts", "num_local_experts")


def shape_of_config(config: RawRow) -> RawRow:
    """The fields of a row from a `config.json`: those of its language part."""
    text = {**config, **config.get("text_config", {})}
    experts = next((text[name] for name in _EXPERTS if text.get(name)), None)
    latent = text.get("kv_lora_rank")
    heads = text["num_attention_heads"]
    found = {
        "layers": text["num_hidden_layers"],
        "hidden": text["hidden_size"],
        "query_heads": heads,
        "kv_heads": None if latent else text["num_key_value_heads"],
        "head_dim": None if latent else text.get("head_dim") or text["hidden_size"] // heads,
        "intermediate": (experts and text.get("moe_intermediate_size"))
        or text["intermediate_size"],
        "vocabulary": text["vocab_size"],
        "tied_embeddings": text["tie_word_embeddings"],
        "experts": experts,
        "experts_per_token": text.get("num_experts_per_tok"),
        "shared_experts": text.get("n_shared_experts", 0),
        "latent_kv": latent,
        "latent_rope": text.get("qk_rope_head_dim") if latent else None,
        "latent_query": text.get("q_lora_rank"),
        "dense_layers": text.get("first_k_dense_replace", 0),
    }
    return {name: value for name, value in found.items() if value is not None}


def _billions(text: str) -> int:
    return int(Decimal(text) * BILLION)
