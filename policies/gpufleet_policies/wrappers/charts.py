"""Charts whose values the rules understand: exact names, own keys, configurations inside.

Read by `gpufleet check` and by the policies. A name is never a part of another:
`fake-gpu-operator` and `amd-gpu-operator` are other charts than `gpu-operator`.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, cast

from gpufleet.documents.paths import value_at


@dataclass(frozen=True, slots=True)
class KnownChart:
    """A published chart."""

    name: str
    """Its name today."""
    others: tuple[str, ...] = ()
    """Names it is or was published under as well."""
    signs: tuple[frozenset[str], ...] = ()
    """Sets of keys that only its values have together; `a.b` is the key b below a."""
    kind: str | None = None
    """Kind of `gpufleet check` that validates its values."""
    holds: tuple[tuple[str, str], ...] = ()
    """Path of a mapping in its values, and the kind of configuration each entry of it is."""
    of_gpus: bool = True
    """Whether its values can ask for GPUs or configure them."""


def _chart(row: Mapping[str, Any]) -> KnownChart:
    return KnownChart(
        row["name"],
        tuple(row.get("others", ())),
        tuple(map(frozenset[str], row.get("signs", ()))),
        row.get("kind"),
        tuple(row.get("holds", {}).items()),
        row.get("of_gpus", True),
    )


_ROWS = Path(__file__).with_name("charts.jsonl").read_text(encoding="utf-8").splitlines()
CHARTS = tuple(_chart(json.loads(row)) for row in _ROWS)
"""Every chart whose values give facts."""

_BY_NAME = {name: chart for chart in CHARTS for name in (chart.name, *chart.others)}
_VALUES = re.compile(r"[-_.]?(?:helm[-_.])?values(?:[-_.].*)?$")
_VALUES_OF = re.compile(r"^(?:helm[-_.])?values[-_.]")
_OF_HELM = ("enabled", "global", "commonLabels", "fullnameOverride", "nameOverride")
_FOLDERS = 3
"""Folders above a values file that may name its chart."""


def chart_name(reference: str) -> str:
    """`gpu-operator` of `oci://registry.example/charts/gpu-operator:v1`, `nvidia/gpu-operator` or
    `./charts/gpu-operator-v26.7.0.tgz`."""
    last = reference.rstrip("/").rsplit("/", 1)[-1]
    if last.endswith(".tgz"):
        last = re.sub(r"-v?\d+\.\d.*$", "", last.removesuffix(".tgz"))
    return last.partition("@")[0].partition(":")[0]


def known_chart(name: str) -> KnownChart | None:
    """The chart of a name, exactly; None for charts that no rule reads."""
    return _BY_NAME.get(name)


def is_values_file(path: str) -> bool:
    """Whether a file is named like the values of a chart; `values.schema.json` is none."""
    return "values" in (name := PurePath(path).name.lower()) and ".schema." not in name


def chart_of_file(document: Mapping[str, Any], path: str) -> KnownChart | None:
    """The chart of values that no wrapper names: by the file's name, its keys, then its folders.

    None where the chart is unknown.
    """
    named = is_values_file(path)
    pure = PurePath(path.lower())
    if named:
        for name in _names_in(pure.stem):
            if name in _BY_NAME:
                return _BY_NAME[name]
    found = chart_of_keys(document)
    own = _BY_NAME.get(pure.stem)
    if found is None and own is not None and own.kind and reads_most_of(own, document):
        return own
    if found is not None or not named:
        return found
    for folder in reversed(pure.parts[:-1][-_FOLDERS:]):
        if folder in _BY_NAME:
            chart = _BY_NAME[folder]
            return chart if reads_most_of(chart, document) else None
    return None


def dependencies_of(document: Mapping[str, Any]) -> list[tuple[str, KnownChart]]:
    """The keys and charts of values for a chart that has known ones as its dependencies: Helm
    passes each the values below its name."""
    if chart_of_keys(document):
        return []
    return [
        (key, chart)
        for key, chart in _BY_NAME.items()
        if isinstance(below := document.get(key), Mapping)
        and reads_most_of(chart, cast("Mapping[str, Any]", below))
    ]


def reads_most_of(chart: KnownChart, values: Mapping[str, Any]) -> bool:
    """Whether a chart has most top-level keys of values; also where its keys are unknown.

    Your own chart may have the name of a published one.
    """
    if chart.kind is None or chart.name in ("nvidia-device-plugin", "dra-driver-nvidia-gpu"):
        return True
    from gpufleet.contract.schemas.chart_values import values_schema  # imports this package

    known = values_schema(chart.name)["properties"]
    keys = [key for key in values if key not in _OF_HELM]
    return 2 * sum(key in known for key in keys) > len(keys)


def _names_in(stem: str) -> Iterator[str]:
    """Chart names in a file name: `NAME-values`, `NAME-values-prod`, `values-NAME`."""
    rest = _VALUES.sub("", stem)
    if rest and rest != stem:
        yield rest
    after = _VALUES_OF.sub("", stem)
    if after != stem:
        parts = re.split(r"([-_.])", after)
        for end in range(len(parts), 0, -2):
            yield "".join(parts[:end])


_NOTHING = object()
_TOP_KEYS = {key.partition(".")[0] for one in CHARTS for sign in one.signs for key in sign}


def chart_of_keys(document: Mapping[str, Any]) -> KnownChart | None:
    """The chart whose keys values have; None where they are no chart's alone."""
    if _TOP_KEYS.isdisjoint(document):
        return None  # as nearly every document: it is not compared with each chart

    def has(key: str) -> bool:
        return value_at(document, key, absent=_NOTHING, unreadable=_NOTHING) is not _NOTHING

    return next((one for one in CHARTS if any(all(map(has, sign)) for sign in one.signs)), None)
