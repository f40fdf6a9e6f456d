"""The context file: facts that it adds to a `Site`."""

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from gpufleet.catalogue import Catalogue, Gpu, UnknownKeyError, load
from gpufleet.cluster.fact import NOTHING, Fact, Provenance, known, unknown
from gpufleet.cluster.program import Program, program_name
from gpufleet.cluster.site import Site
from gpufleet.contract.programs.rule_tables import rules_in
from gpufleet.contract.programs.validation import CheckReport
from gpufleet.contract.schemas.report import report_problems, schema_codes
from gpufleet.contract.schemas.validator import part_problems
from gpufleet.documents.reading import read_strict
from gpufleet.documents.shapes import as_list, as_mapping
from gpufleet.rules.rows import rule_table

RULES = rule_table(*rules_in("context"))

UNKNOWN_RELEASE = "unknown"
"""`chart.version` of the context for a release that is named and cannot be read, like any text that
does not begin with two numbers."""
_CHART_KEYS = frozenset({"name", "version", "namespace", "values", "kubernetesVersion"})
_VERSION = re.compile(r"v?(\d+)\.(\d+)")


@cache
def _schema() -> dict[str, Any]:
    data = read_strict(Path(__file__).with_suffix(".yaml").read_bytes()).data
    data["properties"]["images"]["items"]["enum"] = list(load().images)
    return data


def read_context(
    data: object, gpu: str | None = None, select: str | None = None, reader: str = ""
) -> tuple[Site, CheckReport]:
    """The context file as data (None: no file), with `--gpu` in front of its `gpu`. `reader`: the
    program to which its `version` applies; empty: the reader of the configuration.

    All errors in it are in the report; the context then lacks that part.
    """
    report = CheckReport(RULES)
    problems = part_problems("context", _schema(), {} if data is None else data, nulls=True)
    for problem in {one.steps[:1]: one for one in problems}.values():  # one for each key
        at_key = replace(problem, steps=problem.steps[:1])
        report_problems([at_key], schema_codes(), report, "context")
    wrong = {one.steps[0] for one in problems if one.steps}
    raw = {k: v for k, v in (as_mapping(data) or {}).items() if v is not None and k not in wrong}
    product, env, layouts = raw.get("product"), raw.get("env"), raw.get("gpus")
    version, key = raw.get("version"), gpu if gpu is not None else raw.get("gpu")
    return (
        Site(
            gpu=_gpu(key, product, report),
            gpus_per_node=raw.get("gpusPerNode"),
            product=product,
            layouts=None if layouts is None else tuple(layouts),
            feature_gates=_gates(raw.get("featureGates", {})),
            gates_named="featureGates" in (as_mapping(data) or {}),
            reader=reader,
            version=NOTHING if version is None else _declared(str(version), "context.version"),
            env=None if env is None else _env(env),
            images=tuple(raw.get("images", ())),
            programs=() if "chart" not in raw else (_program(raw["chart"]),),
            environment=raw.get("environment"),
            kubernetes=_kubernetes(raw),
            previous=raw.get("previous"),
            select=select,
        ),
        report,
    )


def _gpu(key: str | None, product: str | None, report: CheckReport) -> Gpu | None:
    catalogue: Catalogue = load()
    if key is None:
        if product is None:
            return None
        try:
            return catalogue.gpu_by_product_label(product.replace(" ", "-"))
        except UnknownKeyError:
            return None  # the label of a board outside the catalogue adds no information
    try:
        return catalogue.find_gpu(key)
    except UnknownKeyError as problem:
        near = ", ".join(problem.nearest)
        fix = f"one of {near}" if near else "`gpufleet catalogue gpus` lists them"
        report.add("gpu-unknown", "gpu", str(problem), fix, value=key)
        return None


def _kubernetes(raw: Mapping[str, Any]) -> Fact[tuple[int, ...]]:
    """The minor version of the cluster; from `chart` if the file has none."""
    value, place = raw.get("kubernetesVersion"), "context.kubernetesVersion"
    if value is None:
        value = (as_mapping(raw.get("chart")) or {}).get("kubernetesVersion")
        place = "context.chart.kubernetesVersion"
    found = None if value is None or isinstance(value, bool) else _VERSION.match(str(value))
    if found is None:
        return NOTHING
    return known((int(found[1]), int(found[2])), Provenance.DECLARED, place)


def _program(chart: Any) -> Program:
    """A chart: its name, or {name, version, namespace, values}, or its values alone."""
    raw: dict[str, Any] = {"name": chart} if isinstance(chart, str) else as_mapping(chart) or {}
    if not _CHART_KEYS & set(raw):
        raw = {"values": raw}
    name, in_name = _split_chart(str(raw["name"])) if raw.get("name") else (None, None)
    version, namespace = raw.get("version"), raw.get("namespace")
    return Program(
        name=None if name is None else program_name(name),
        release=_release(in_name if version is None else str(version)),
        namespace=NOTHING
        if namespace is None
        else _declared(str(namespace), "context.chart.namespace"),
        values=(raw["values"] or {}) if "values" in raw else None,
        place="context.chart.values",
    )


def _release(version: str | None) -> Fact[str]:
    place = "context.chart.version"
    if version is None:
        return NOTHING
    return _declared(version, place) if _VERSION.match(version) else unknown(place)


def _declared(value: str, place: str) -> Fact[str]:
    return known(value, Provenance.DECLARED, place)


def _gates(value: Any) -> dict[str, bool]:
    if not isinstance(value, str):
        return dict(value)
    pairs = [part.partition("=") for part in value.split(",") if part.strip()]
    return {name.strip(): text.strip().lower() == "true" for name, _, text in pairs}


def _env(value: Any) -> dict[str, str]:
    """Variables as a mapping, or as a list as pods have it."""
    entries = as_list(value)
    pairs = value.items() if entries is None else ((e["name"], e.get("value", "")) for e in entries)
    words = {True: "true", False: "false"}
    return {str(k): words[v] if isinstance(v, bool) else str(v) for k, v in pairs}


def _split_chart(text: str) -> tuple[str, str | None]:
    """Name and version of `nvidia/gpu-operator`, `gpu-operator@v26.7.0`, `gpu-operator-v26.7.0`."""
    name = text.rsplit("/", 1)[-1]
    found = re.fullmatch(r"(.+?)(?:@|-(?=v?\d+\.\d))(.+)", name)
    return (found[1], found[2]) if found else (name, None)
