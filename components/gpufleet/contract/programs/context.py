"""The context file: facts that it adds to a `Site`."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from gpufleet.catalogue import Catalogue, Gpu, UnknownKeyError, load
from gpufleet.catalogue.lookup import nearest_fix
from gpufleet.cluster.fact import NOTHING, Fact, Provenance, known, unknown
from gpufleet.cluster.program import Program, program_name
from gpufleet.cluster.site import Layout, Site
from gpufleet.contract.programs.rule_tables import rules_in
from gpufleet.contract.programs.validation import CheckReport
from gpufleet.documents.shapes import as_list, as_mapping, is_mapping
from gpufleet.rules.rows import rule_table

KEYS = (
    "gpu",
    "gpusPerNode",
    "product",
    "gpus",
    "featureGates",
    "version",
    "env",
    "chart",
    "environment",
    "kubernetesVersion",
    "images",
    "previous",
)
"""Keys of the context file."""

RULES = rule_table(*rules_in("context"))
Read = TypeVar("Read")

UNKNOWN_RELEASE = "unknown"
"""`chart.version` of the context for a release that is named and cannot be read, like any text that
does not begin with two numbers."""
_CHART_KEYS = frozenset({"name", "version", "namespace", "values", "kubernetesVersion"})


def read_context(
    data: object, gpu: str | None = None, select: str | None = None, reader: str = ""
) -> tuple[Site, CheckReport]:
    """The context file as data (None: no file), with `--gpu` in front of its `gpu`. `reader`: the
    program to which its `version` applies; empty: the reader of the configuration.

    All errors in it are in the report; the context then lacks that part.
    """
    report = CheckReport(RULES)
    if data is None:
        data = {}
    if not isinstance(data, dict):
        report.say("context-value-invalid/whole", "context", fix=_shape())
        data = {}
    raw = cast("dict[str, Any]", data)
    for key in raw:
        if key not in KEYS:
            fix = nearest_fix(key, KEYS)
            report.say("context-key-unknown", f"context.{key}", fix=fix, key=key)
    reading = _Reading(raw, report)
    product = reading.text("product")
    return (
        Site(
            gpu=_gpu(gpu if gpu is not None else reading.text("gpu"), product, report),
            gpus_per_node=reading.count("gpusPerNode"),
            product=product,
            layouts=reading.layouts(),
            feature_gates=reading.gates(),
            gates_named="featureGates" in reading.raw,
            reader=reader,
            version=reading.version(),
            env=reading.env(),
            images=reading.images(),
            programs=reading.programs(),
            environment=reading.text("environment"),
            kubernetes=reading.kubernetes(),
            previous=raw.get("previous"),
            select=select,
        ),
        report,
    )


def _shape() -> str:
    return f"write a mapping with keys such as {', '.join(KEYS)}"


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


@dataclass(slots=True)
class _Reading:
    raw: dict[str, Any]
    report: CheckReport

    def wrong(self, key: str, wanted: str) -> None:
        found = self.raw[key]
        self.report.say(
            "context-value-invalid/key",
            f"context.{key}",
            value=repr(found),
            key=key,
            found=found,
            wanted=wanted,
        )

    def given(self, key: str, wanted: str, read: Callable[[Any], Read | None]) -> Read | None:
        """A value as `read` gives it; None if it is absent, or refused, with a finding."""
        value = self.raw.get(key)
        found = None if value is None else read(value)
        if value is not None and found is None:
            self.wrong(key, wanted)
        return found

    def text(self, key: str) -> str | None:
        return self.given(key, "text", lambda value: value if isinstance(value, str) else None)

    def count(self, key: str) -> int | None:
        def read(value: Any) -> int | None:
            return value if type(value) is int and 1 <= value <= 64 else None

        return self.given(key, "an integer from 1 to 64", read)

    def layouts(self) -> tuple[Layout | None, ...] | None:
        def read(value: Any) -> tuple[Layout | None, ...] | None:
            entries = as_list(value) or []
            fit = all(e is None or _is_layout(e) for e in entries) and 1 <= len(entries) <= 64
            return tuple(entries) if fit else None

        return self.given("gpus", "a list of layouts ({profile: count}) and nulls", read)

    def gates(self) -> dict[str, bool]:
        wanted = "a mapping of gate to true or false"
        return self.given("featureGates", wanted, _gates) or {}

    def images(self) -> tuple[str, ...]:
        value = self.raw.get("images")
        if value is None:
            return ()
        known = load().images
        if isinstance(value, list) and all(key in known for key in cast("list[Any]", value)):
            return tuple(cast("list[str]", value))
        self.wrong("images", f"a list of node images of the catalogue, such as {next(iter(known))}")
        return ()

    def version(self) -> Fact[str]:
        def read(value: Any) -> str | None:
            fits = not isinstance(value, bool) and re.match(r"v?(\d+)\.(\d+)", str(value))
            return str(value) if fits else None

        found = self.given("version", "a version such as v0.15.0", read)
        return NOTHING if found is None else _declared(found, "context.version")

    def kubernetes(self) -> Fact[tuple[int, ...]]:
        """The minor version of the cluster; from `chart` if the file has none."""
        value, place = self.raw.get("kubernetesVersion"), "context.kubernetesVersion"
        if value is None:
            chart = self.raw.get("chart")
            value = chart.get("kubernetesVersion") if is_mapping(chart) else None
            place = "context.chart.kubernetesVersion"
        if value is None:
            return NOTHING
        found = re.match(r"v?(\d+)\.(\d+)", str(value))
        if found is None or isinstance(value, bool):
            if "kubernetesVersion" in self.raw:
                self.wrong("kubernetesVersion", 'a minor version such as "1.36"')
            return NOTHING
        return known((int(found[1]), int(found[2])), Provenance.DECLARED, place)

    def env(self) -> dict[str, str] | None:
        return self.given("env", "a mapping of variable to text", _env)

    def programs(self) -> tuple[Program, ...]:
        value = self.raw.get("chart")
        if value is None:
            return ()
        if isinstance(value, str):
            name, version = _split_chart(value)
            return (_program(name, version),)
        if not isinstance(value, dict):
            self.wrong("chart", "a chart name, or {name, version, namespace, values}")
            return ()
        raw = cast("dict[str, Any]", value)
        if not _CHART_KEYS & set(raw):
            return (_program(values=raw),)
        values: Any = raw.get("values")
        if values is None and "values" in raw:
            values = {}
        if values is not None and not isinstance(values, dict):
            self.wrong("chart", "values as a mapping")
            values = {}
        name, version = _split_chart(str(raw["name"])) if raw.get("name") else (None, None)
        return (
            _program(
                name,
                _optional(raw.get("version")) or version,
                _optional(raw.get("namespace")),
                cast("dict[str, Any] | None", values),
            ),
        )


def _program(
    name: str | None = None,
    version: str | None = None,
    namespace: str | None = None,
    values: dict[str, Any] | None = None,
) -> Program:
    return Program(
        name=None if name is None else program_name(name),
        release=_release(version),
        namespace=NOTHING if namespace is None else _declared(namespace, "context.chart.namespace"),
        values=values,
        place="context.chart.values",
    )


def _release(version: str | None) -> Fact[str]:
    place = "context.chart.version"
    if version is None:
        return NOTHING
    named = re.match(r"v?\d+\.\d+", version) is not None
    return _declared(version, place) if named else unknown(place)


def _declared(value: str, place: str) -> Fact[str]:
    return known(value, Provenance.DECLARED, place)


def _gates(value: Any) -> dict[str, bool] | None:
    if isinstance(value, str):  # the form of the command line: A=true,B=false
        pairs = [part.partition("=") for part in value.split(",") if part.strip()]
        words = {name.strip(): text.strip().lower() for name, _, text in pairs}
        valid = all(text.strip().lower() in ("true", "false") for _, _, text in pairs)
        return {name: word == "true" for name, word in words.items()} if valid else None
    gates = as_mapping(value)
    return gates if gates is not None and all(type(on) is bool for on in gates.values()) else None


def _env(value: Any) -> dict[str, str] | None:
    if (variables := as_mapping(value)) is not None:
        return {str(name): _env_text(text) for name, text in variables.items()}
    if (entries := as_list(value)) is None:
        return None
    named = [one for entry in entries if "name" in (one := as_mapping(entry) or {})]
    whole = len(named) == len(entries)
    return {str(one["name"]): _env_text(one.get("value", "")) for one in named} if whole else None


def _is_layout(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(k, str) and isinstance(v, int) and not isinstance(v, bool)
        for k, v in cast("dict[Any, Any]", value).items()
    )


def _env_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _optional(value: Any) -> str | None:
    return None if value is None else str(value)


def _split_chart(text: str) -> tuple[str, str | None]:
    """Name and version of `nvidia/gpu-operator`, `gpu-operator@v26.7.0`, `gpu-operator-v26.7.0`."""
    name = text.rsplit("/", 1)[-1]
    found = re.fullmatch(r"(.+?)(?:@|-(?=v?\d+\.\d))(.+)", name)
    return (found[1], found[2]) if found else (name, None)
