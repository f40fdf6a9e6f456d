"""Sources, models, charts and images of every edition, and the files they are written in."""

import json
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest

from gpufleet.catalogue import DEFAULT_EDITION, Catalogue, Source, editions, load
from gpufleet.catalogue.edition import edition_folder, read_rows
from tests.data.every_row import every

every_edition = pytest.mark.parametrize("catalogue", [load(name) for name in editions()], ids=str)
FILES = [path for edition in editions() for path in sorted(edition_folder(edition).glob("*.jsonl"))]
KEYS = {
    "gpus": ("key",),
    "mig": ("gpu", "profile"),
    "clouds": ("key",),
    "vgpu": ("gpu",),
    "idle-power": ("gpu",),
    "drivers": ("compute_capability", "gpu", "operator", "branch"),
    "instances-aws": ("name",),
    "instances-gcp": ("name",),
    "prices-aws": ("instance", "buy", "region"),
    "prices-gcp": ("instance", "buy", "region"),
    "spot-advisor-aws": ("instance",),
    "models": ("name",),
    "engines": ("key",),
    "charts": ("name",),
    "images": ("key",),
    "packages": ("name",),
    "sources": ("key",),
    "offers": ("provider", "name"),
    "attached-gcp": ("what", "buy"),
    "transitions": ("subject", "at", "breaks"),
    "features": ("program", "kind", "name"),
}


NOT_THE_SOURCE_OF_A_ROW = {"device-plugin"}
"""Read for rules (MPS clients, labels), which every row follows."""


def test_the_default_edition_is_the_newest() -> None:
    assert editions()[-1] == DEFAULT_EDITION


@pytest.mark.parametrize("path", FILES, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_a_file_is_one_row_a_line_without_duplicates(path: Any) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.endswith("\n")
    assert "\n\n" not in text
    rows = [json.loads(line) for line in text.splitlines()]
    keys = Counter(tuple(row.get(name) for name in KEYS[path.stem]) for row in rows)
    assert keys.most_common(1)[0][1] == 1
    for row in rows:
        assert None not in row.values(), "leave out what is not known"


class Watched(dict[str, Any]):
    """A row that records the fields that the loader reads."""

    def __init__(self, row: dict[str, Any]) -> None:
        super().__init__(row)
        self.seen: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        self.seen.add(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self.seen.add(name)
        return super().get(name, default)

    def __contains__(self, name: object) -> bool:
        self.seen.add(str(name))
        return super().__contains__(name)


@every_edition
def test_no_field_of_a_file_is_ignored(
    catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A misspelt field would otherwise be lost without a word."""
    rows: list[tuple[str, Watched]] = []

    def watched(folder: Any, table: str) -> list[Watched]:
        found = [Watched(row) for row in read_rows(folder, table)]
        rows.extend((table, row) for row in found)
        return found

    monkeypatch.setattr("gpufleet.catalogue.catalogue.read_rows", watched)
    fresh = Catalogue(catalogue.edition, catalogue.folder)
    assert fresh.gpus
    assert fresh.in_region("us-east-1").instances  # without a region only first prices are read
    assert fresh.models
    assert fresh.charts
    assert fresh.images
    assert fresh.packages
    assert fresh.transitions
    assert fresh.feature_tables
    assert fresh.engines
    assert fresh.offers
    assert fresh.attached
    assert {table for table, _ in rows} == set(KEYS)
    for table, row in rows:
        assert set(row) <= row.seen, (table, dict(row))


def sources_of(catalogue: Catalogue) -> Iterable[tuple[str, Source]]:
    for gpu in catalogue.gpus.values():
        yield gpu.key, gpu.source
        if gpu.mig:
            yield f"{gpu.key} geometry", gpu.mig.source
            yield from ((f"{gpu.key} {p.name}", p.source) for p in gpu.mig.profiles.values())
        if gpu.vgpu:
            yield f"{gpu.key} vgpu", gpu.vgpu.source
        if gpu.idle:
            yield f"{gpu.key} idle", gpu.idle.source
        for part in (gpu.generation, gpu.support):
            if part is not None:
                yield f"{gpu.key} drivers", part.source
    for row in catalogue.instances.values():
        yield row.name, row.source
        yield f"{row.name} onDemand", row.on_demand.source
        yield f"{row.name} spot", row.spot.source
        if row.spot_advisor_source:
            yield f"{row.name} advisor", row.spot_advisor_source
    for prices in catalogue.prices.values():
        for key, known in prices.items():
            yield from ((" ".join(key), price.source) for price in known)
    yield from ((f"{row.provider} {row.name}", row.source) for row in catalogue.offers)
    yield from ((" ".join(key), source) for key, (_, source) in catalogue.attached.items())
    yield from ((f"operator {key}", row.source) for key, row in catalogue.drivers.operators.items())
    yield from ((f"branch {key}", row.source) for key, row in catalogue.drivers.branches.items())
    for features in catalogue.feature_tables.values():
        kinds = (
            features.gates,
            features.values,
            features.fields,
            features.limits,
            features.options,
        )
        for row in (row for kind in kinds for row in kind.values()):
            yield f"{row.program} {row.name}", row.source
    for rows in catalogue.transitions.values():
        yield from ((f"{row.subject} {row.at}", row.source) for row in rows)
    for table in (
        catalogue.clouds,
        catalogue.models,
        catalogue.engines,
        catalogue.charts,
        catalogue.images,
        catalogue.packages,
    ):
        yield from ((key, row.source) for key, row in table.items())


@every_edition
def test_every_row_names_a_source_of_the_table_and_a_date(catalogue: Catalogue) -> None:
    used: set[str] = set()
    for name, source in sources_of(catalogue):
        used |= {source.key, *source.also}
        assert source.key in catalogue.sources, name
        assert set(source.also) <= set(catalogue.sources), name
        assert source.key not in source.also, name
        assert len(set(source.also)) == len(source.also), name
        assert source.date <= catalogue.about.date, name
    formats = {row.weights_source for row in catalogue.models.values()}
    assert formats <= set(catalogue.sources)
    assert set(catalogue.sources) - used - formats <= NOT_THE_SOURCE_OF_A_ROW


@every_edition
def test_sources_can_be_found_again(catalogue: Catalogue) -> None:
    for source in catalogue.sources.values():
        assert len(source.location) > 10
        assert len(source.title) > 3
        if not source.undated:
            assert source.date <= catalogue.about.date


@every_edition
def test_model_shapes_give_the_published_cache_and_size(catalogue: Catalogue) -> None:
    assert len(catalogue.models) == 73
    for model in catalogue.models.values():
        if "bert" in model.config["model_type"]:
            assert model.kv_bytes_per_token == 0, model.name  # an encoder keeps no cache
            continue
        if model.kv_heads is None:
            assert model.latent_kv is not None
            assert model.latent_rope is not None
            per_layer = model.latent_kv + model.latent_rope
        else:
            assert model.head_dim is not None
            assert model.query_heads % model.kv_heads == 0
            per_layer = 2 * model.kv_heads * model.head_dim
        # A layer of linear attention keeps a state of constant size, and no token.
        interval, indexer = 1, 0
        text = {**model.config, **model.config.get("text_config", {})}
        interval = text.get("full_attention_interval", 1)
        # DeepSeek-V3.2: the indexer caches a key of 8 bit and a 4-byte scale.
        # GLM-5.2: layers whose indexer is `shared` keep no key of their own.
        own = text.get("indexer_types", ["full"] * model.layers).count("full")
        indexer = own * (128 + 4) if "index_head_dim" in text else 0
        if "hybrid_override_pattern" in text:
            interval = model.layers // text["hybrid_override_pattern"].count("*")
        if "num_global_key_value_heads" in text:
            # Gemma 4: every sixth layer has fewer and wider heads, and sees all tokens.
            wide = 2 * text["num_global_key_value_heads"] * text["global_head_dim"]
            per_layer, interval = 5 * per_layer + wide, 6
        caching = model.layers // interval
        assert model.kv_bytes_per_token == 2 * caching * per_layer + indexer, model.name
        assert model.active_parameters <= model.parameters
        assert (model.active_parameters < model.parameters) == (model.experts is not None)


@every_edition
def test_chart_pins_are_exact(catalogue: Catalogue) -> None:
    for name, chart in catalogue.charts.items():
        assert re.fullmatch(r"v?\d+\.\d+\.\d+", chart.version), name
        assert re.match(r"(https|oci)://[a-z0-9.-]+/", chart.repository), name
        assert not chart.repository.startswith("oci://") or chart.repository.endswith(f"/{name}")
        assert re.fullmatch(r"[a-z0-9-]{1,63}", chart.namespace)
        assert re.fullmatch(r"(1\.\d+)?", chart.min_kubernetes)
    operator = catalogue.chart("gpu-operator")
    assert operator.version == "v26.7.0"
    assert operator.components["mig-manager"] == "v0.15.0"
    assert operator.documented_kubernetes == ("1.33", "1.36")
    for name in ("network-operator", "nvidia-device-plugin"):
        assert "node-feature-discovery" in catalogue.chart(name).dependencies


@every_edition
def test_packages_are_those_of_the_charts(catalogue: Catalogue) -> None:
    for name, package in catalogue.packages.items():
        assert package.catalog in {"certified", "redhat"}
        assert re.fullmatch(r"[a-z0-9-]{1,63}", package.namespace), name
        assert re.fullmatch(r"[a-z0-9-]{1,63}", package.group), name
        assert (name in catalogue.charts) == (package.channel == "")
    operator = catalogue.package("gpu-operator")
    assert operator.package == "gpu-operator-certified"
    assert operator.namespace == "nvidia-gpu-operator"


@every_edition
def test_every_platform_has_an_image(catalogue: Catalogue) -> None:
    images = catalogue.images.values()
    platforms = {"eks", "gke", "vsphere", "openshift", "sandbox", "existing"}
    assert {i.platform for i in images} == platforms
    for image in images:
        assert set(image.architectures) <= {"amd64", "arm64"}
        assert set(image.ami_types) == (
            set(image.architectures) if image.platform == "eks" else set()
        )
        assert not (image.device_plugin and not image.driver)
    assert not catalogue.image("al2023-nvidia").device_plugin
    assert catalogue.image("bottlerocket-nvidia").device_plugin
    assert not catalogue.image("cos").operator_may_install_driver


def test_each_wrong_row_of_a_table_is_named() -> None:
    @every([("first", (1,)), ("second", (0,)), ("third", (0,))])
    def check(number: int) -> None:
        assert number

    with pytest.raises(ExceptionGroup) as failed:
        check()
    assert [one.__notes__ for one in failed.value.exceptions] == [["row: second"], ["row: third"]]
