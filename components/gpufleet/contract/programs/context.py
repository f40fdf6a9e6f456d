"""What is known about the place where a configuration will be read: hardware, versions, chart."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from gpufleet.catalogue import Catalogue, Gpu, UnknownKeyError, load
from gpufleet.catalogue.lookup import nearest_fix
from gpufleet.contract.programs.autoscaler_signals import AutoscalerTarget, TargetKey
from gpufleet.contract.programs.validation import CheckReport, reject, rule_table
from gpufleet.documents.paths import value_at

Layout = Mapping[str, int]

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
    "previous",
)
"""Keys of the context file."""

RULES = rule_table(
    reject(
        "context-key-unknown",
        ("context",),
        "The context file has a key this command does not know: what it says would be overlooked.",
        "docs/check.md",
    ),
    reject(
        "context-value-invalid",
        ("context",),
        "A value of the context file has the wrong type.",
        "docs/check.md",
    ),
    reject(
        "gpu-unknown",
        ("context",),
        "The named GPU is not in the catalogue, or the name fits several.",
        "gpufleet catalogue gpus",
    ),
)

_CHART_KEYS = frozenset({"name", "version", "namespace", "values", "kubernetesVersion"})


@dataclass(frozen=True, slots=True)
class InstalledChart:
    """A chart that is, or will be, installed in the same cluster."""

    name: str | None = None
    version: str | None = None
    namespace: str | None = None
    values: Mapping[str, Any] | None = None
    """None: nothing is known about them."""
    kubernetes_version: str | None = None

    def value(self, path: str) -> Any:
        """The value at a dotted path, None where nothing is written."""
        return value_at(self.values, path)


@dataclass(frozen=True, slots=True)
class CheckContext:
    """What the context file says. What it does not say is None, and only then a default counts."""

    gpu: Gpu | None = None
    gpus_per_node: int | None = None
    product: str | None = None
    """Value of the node label `nvidia.com/gpu.product`, suffixes included."""
    layouts: tuple[Layout | None, ...] | None = None
    """What each GPU of the node is cut into; None in it: MIG off."""
    feature_gates: Mapping[str, bool] = field(default_factory=dict[str, bool])
    version: tuple[int, ...] | None = None
    """Of the component that will read the configuration."""
    env: Mapping[str, str] | None = None
    """Environment of that component. None: nothing is known about it."""
    chart: InstalledChart | None = None
    environment: str | None = None
    """`prod`, `staging`, `dev`: what must be pinned there."""
    kubernetes_version: tuple[int, ...] | None = None
    """Minor version of the cluster, `(1, 36)`."""
    previous: Any = None
    """The object as it is now, where changes are validated."""
    select: str | None = None
    """The config, or ConfigMap key, that a node will be given."""
    device_classes: frozenset[str] = frozenset()
    """DeviceClasses that the text itself creates."""
    targets: Mapping[TargetKey, AutoscalerTarget] = field(
        default_factory=dict[TargetKey, AutoscalerTarget]
    )
    """Workloads of other documents that an autoscaler may name."""

    @property
    def bare_product(self) -> str | None:
        """The product label of a whole, unshared GPU."""
        if self.product is not None:
            return re.sub(r"(-MIG-[0-9a-zA-Z.]+)?(-SHARED)?$", "", self.product.replace(" ", "-"))
        return self.gpu.product_label if self.gpu is not None else None

    @property
    def labelled_profile(self) -> str | None:
        """The MIG profile in the product label, in the label's spelling."""
        found = re.search(r"-MIG-([0-9][0-9a-zA-Z.]*)", self.product or "")
        return found[1] if found else None

    @property
    def gpu_count(self) -> int | None:
        """GPUs of the node, where known."""
        if self.gpus_per_node is not None:
            return self.gpus_per_node
        return len(self.layouts) if self.layouts is not None else None


def read_context(
    data: object, gpu: str | None = None, select: str | None = None
) -> tuple[CheckContext, CheckReport]:
    """The context file as data (None: no file), with `--gpu` in front of its `gpu`.

    Everything wrong with it is in the report; the context then lacks that part.
    """
    report = CheckReport(RULES)
    if data is None:
        data = {}
    if not isinstance(data, dict):
        report.add("context-value-invalid", "context", "the context is no mapping", _shape())
        data = {}
    raw = cast("dict[str, Any]", data)
    for key in raw:
        if key not in KEYS:
            fix = nearest_fix(key, KEYS)
            report.add("context-key-unknown", f"context.{key}", f"there is no key {key}", fix)
    reading = _Reading(raw, report)
    product = reading.text("product")
    return (
        CheckContext(
            gpu=_gpu(gpu if gpu is not None else reading.text("gpu"), product, report),
            gpus_per_node=reading.count("gpusPerNode"),
            product=product,
            layouts=reading.layouts(),
            feature_gates=reading.gates(),
            version=reading.version(),
            env=reading.env(),
            chart=reading.chart(),
            environment=reading.text("environment"),
            kubernetes_version=reading.kubernetes_version(),
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
            return None  # a label of a board the catalogue does not have says no more than nothing
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
        self.report.add(
            "context-value-invalid",
            f"context.{key}",
            f"{key} is {found!r}, {wanted} is needed",
            f"write {wanted}",
            value=repr(found),
        )

    def text(self, key: str) -> str | None:
        value = self.raw.get(key)
        if value is None or isinstance(value, str):
            return value
        self.wrong(key, "text")
        return None

    def count(self, key: str) -> int | None:
        value = self.raw.get(key)
        if value is None:
            return None
        if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 64:
            return value
        self.wrong(key, "a whole number from 1 to 64")
        return None

    def layouts(self) -> tuple[Layout | None, ...] | None:
        value = self.raw.get("gpus")
        if value is None:
            return None
        if isinstance(value, list):
            entries = cast("list[Any]", value)
            if all(e is None or _is_layout(e) for e in entries) and 1 <= len(entries) <= 64:
                return tuple(entries)
        self.wrong("gpus", "a list of layouts ({profile: count}) and nulls")
        return None

    def gates(self) -> dict[str, bool]:
        value = self.raw.get("featureGates")
        if value is None:
            return {}
        if isinstance(value, str):  # the form of the command line: A=true,B=false
            pairs = [part.partition("=") for part in value.split(",") if part.strip()]
            if all(text.strip().lower() in ("true", "false") for _, _, text in pairs):
                return {name.strip(): text.strip().lower() == "true" for name, _, text in pairs}
        if isinstance(value, dict):
            gates = cast("dict[str, Any]", value)
            if all(isinstance(on, bool) for on in gates.values()):
                return gates
        self.wrong("featureGates", "a mapping of gate to true or false")
        return {}

    def version(self) -> tuple[int, ...] | None:
        value = self.raw.get("version")
        if value is None:
            return None
        found = re.match(r"v?(\d+)\.(\d+)(?:\.(\d+))?", str(value))
        if found is None or isinstance(value, bool):
            self.wrong("version", "a version such as v0.15.0")
            return None
        return tuple(int(part or 0) for part in found.groups())

    def kubernetes_version(self) -> tuple[int, ...] | None:
        value = self.raw.get("kubernetesVersion")
        if value is None:
            return None
        found = re.match(r"v?(\d+)\.(\d+)", str(value))
        if found is None or isinstance(value, bool):
            self.wrong("kubernetesVersion", 'a minor version such as "1.36"')
            return None
        return int(found[1]), int(found[2])

    def env(self) -> dict[str, str] | None:
        value = self.raw.get("env")
        if value is None:
            return None
        if isinstance(value, dict):
            return {str(k): _env_text(v) for k, v in cast("dict[str, Any]", value).items()}
        if isinstance(value, list):
            entries = [cast("dict[str, Any]", e) for e in value if isinstance(e, dict)]  # pyright: ignore[reportUnknownVariableType]
            if len(entries) == len(cast("list[Any]", value)) and all("name" in e for e in entries):
                return {str(e["name"]): _env_text(e.get("value", "")) for e in entries}
        self.wrong("env", "a mapping of variable to text")
        return None

    def chart(self) -> InstalledChart | None:
        value = self.raw.get("chart")
        if value is None:
            return None
        if isinstance(value, str):
            name, version = _split_chart(value)
            return InstalledChart(name, version)
        if not isinstance(value, dict):
            self.wrong("chart", "a chart name, or {name, version, namespace, values}")
            return None
        raw = cast("dict[str, Any]", value)
        if not _CHART_KEYS & set(raw):
            return InstalledChart(values=raw)
        values: Any = raw.get("values")
        if values is None and "values" in raw:
            values = {}
        if values is not None and not isinstance(values, dict):
            self.wrong("chart", "values as a mapping")
            values = {}
        name, version = _split_chart(str(raw["name"])) if raw.get("name") else (None, None)
        return InstalledChart(
            name,
            _optional(raw.get("version")) or version,
            _optional(raw.get("namespace")),
            cast("dict[str, Any] | None", values),
            _optional(raw.get("kubernetesVersion")),
        )


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
