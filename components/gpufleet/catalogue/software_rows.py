"""Lines of charts, images, models and packages.jsonl -> Chart, NodeImage, Model, Package rows."""

from collections.abc import Iterable
from decimal import Decimal

from gpufleet.catalogue.edition import RawRow
from gpufleet.catalogue.frozen import FrozenDict, frozen
from gpufleet.catalogue.language_model import Model
from gpufleet.catalogue.software import Chart, NodeImage, Package
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
    documented = raw.get("documented_kubernetes")
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
        notes=raw.get("notes", ""),
    )


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
        evidence=raw.get("evidence", ""),
    )


def _model(raw: RawRow, sources: SourceTable) -> Model:
    parameters = _billions(raw["parameters_billion"])
    active = raw.get("active_parameters_billion")
    return Model(
        name=raw["name"],
        layers=raw["layers"],
        hidden=raw["hidden"],
        query_heads=raw["query_heads"],
        kv_heads=raw.get("kv_heads"),
        head_dim=raw.get("head_dim"),
        intermediate=raw["intermediate"],
        vocabulary=raw["vocabulary"],
        tied_embeddings=raw["tied_embeddings"],
        parameters=parameters,
        active_parameters=parameters if active is None else _billions(active),
        kv_bytes_per_token=raw["kv_bytes_per_token"],
        notes=raw.get("notes", ""),
        source=source_of(raw, sources),
        released_weights=raw.get("released_weights"),
        hub=tuple(raw.get("hub", ())),
        experts=raw.get("experts"),
        experts_per_token=raw.get("experts_per_token"),
        shared_experts=raw.get("shared_experts", 0),
        sliding_window=raw.get("sliding_window"),
        full_attention_every=raw.get("full_attention_every", 1),
        gated=raw.get("gated", True),
        latent_kv=raw.get("latent_kv"),
        latent_rope=raw.get("latent_rope"),
        latent_query=raw.get("latent_query"),
        dense_layers=raw.get("dense_layers", 0),
        dense_intermediate=raw.get("dense_intermediate"),
    )


def _billions(text: str) -> int:
    return int(Decimal(text) * BILLION)
