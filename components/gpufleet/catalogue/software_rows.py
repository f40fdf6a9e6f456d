"""Lines of charts, drivers, images and models.jsonl -> their rows."""

from collections.abc import Iterable
from decimal import Decimal

from gpufleet.catalogue.driver_support import (
    DriverBranch,
    DriverTable,
    GenerationSupport,
    GpuSupport,
    OperatorRelease,
)
from gpufleet.catalogue.edition import RawRow
from gpufleet.catalogue.frozen import frozen
from gpufleet.catalogue.language_model import Model
from gpufleet.catalogue.software import Chart, ChartImage, NodeImage
from gpufleet.catalogue.source_rows import SourceTable, fact_of, sourced

BILLION = 10**9


def chart_of(raw: RawRow, sources: SourceTable) -> Chart:
    """The pin of a chart."""
    images = raw.get("images")
    read = None if images is None else tuple(fact_of(ChartImage, one) for one in images)
    return sourced(Chart, raw, sources, images=read)


def image_of(raw: RawRow, sources: SourceTable) -> NodeImage:
    """A node image."""
    branches = {
        gpu: (one["branch"], one["from_release"]) for gpu, one in raw.get("branches", {}).items()
    }
    return sourced(NodeImage, raw, sources, branches=frozen(branches))


def model_of(raw: RawRow, sources: SourceTable) -> Model:
    """A language model."""
    total = raw["parameters_billion"]
    active = raw.get("active_parameters_billion")
    return sourced(
        Model,
        raw,
        sources,
        parameters=int(Decimal(total) * BILLION),
        active_parameters=int(Decimal(total if active is None else active) * BILLION),
        **shape_of_config(raw["config"]),
    )


EXPERTS = ("num_experts", "n_routed_experts", "num_local_experts")


def shape_of_config(config: RawRow) -> RawRow:
    """The fields of a row from a `config.json`: those of its language part."""
    text = {**config, **config.get("text_config", {})}
    experts = next((text[name] for name in EXPERTS if text.get(name)), None)
    latent = text.get("kv_lora_rank")
    heads = text["num_attention_heads"]
    found = {
        "layers": text["num_hidden_layers"],
        "hidden": text["hidden_size"],
        "query_heads": heads,
        "kv_heads": None if latent else text.get("num_key_value_heads") or heads,
        "head_dim": None if latent else text.get("head_dim") or text["hidden_size"] // heads,
        "intermediate": (experts and text.get("moe_intermediate_size"))
        or text["intermediate_size"],
        "vocabulary": text["vocab_size"],
        "tied_embeddings": text.get("tie_word_embeddings", True),
        "experts": experts,
        "experts_per_token": text.get("num_experts_per_tok"),
        "latent_kv": latent,
        "latent_rope": text.get("qk_rope_head_dim") if latent else None,
    }
    return {name: value for name, value in found.items() if value is not None}


def capability_of(text: str | None) -> tuple[int, int] | None:
    """A compute capability, `10.3`, as two numbers."""
    if text is None:
        return None
    major, _, minor = text.partition(".")
    return int(major), int(minor)


def driver_table(rows: Iterable[RawRow], sources: SourceTable) -> DriverTable:
    """The rows by subject: a compute capability, a GPU, a release of the operator or a branch."""
    generations: dict[tuple[int, int], GenerationSupport] = {}
    gpus: dict[str, GpuSupport] = {}
    operators: dict[str, OperatorRelease] = {}
    branches: dict[str, DriverBranch] = {}
    for raw in rows:
        capability = capability_of(raw.get("compute_capability"))
        if capability is not None:
            generations[capability] = sourced(GenerationSupport, raw, sources)
        elif "gpu" in raw:
            gpus[raw["gpu"]] = sourced(GpuSupport, raw, sources)
        elif "branch" in raw:
            branches[raw["branch"]] = sourced(DriverBranch, raw, sources)
        else:
            operators[raw["operator"]] = sourced(OperatorRelease, raw, sources)
    return DriverTable(frozen(generations), frozen(gpus), frozen(operators), frozen(branches))
