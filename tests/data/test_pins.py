"""A pinned release has rows: its notes, breaking changes, keys of its chart, gates, pairs.

`pins.jsonl` has a row for each pin of charts.jsonl. To move a pin, read the release notes and add
their changes to transitions.jsonl, to features.jsonl and to the schema of the chart.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpufleet.catalogue import Catalogue, load
from gpufleet.catalogue.features import numbers
from gpufleet.catalogue.transitions import ordinal

PINS = Path(__file__).parent / "pins.jsonl"
ROWS = [json.loads(line) for line in PINS.read_text(encoding="utf-8").splitlines()]
SCHEMAS = Path(load().folder) / "schemas"


def missing(
    pins: Mapping[str, str], catalogue: Catalogue, written: Sequence[dict[str, Any]] = ROWS
) -> Iterator[str]:
    """Missing rows of a release whose chart is to be pinned."""
    rows = {row["program"]: row for row in written}
    for name, version in pins.items():
        row = rows.get(name)
        if row is None or row["release"] != version:
            at = "none" if row is None else f"of {row['release']}"
            yield f"{name} {version}: no row in pins.jsonl ({at}): read its release notes"
            continue
        yield from (f"{name} {version}: {text}" for text in _lacking(row, catalogue, pins))


def _lacking(row: dict[str, Any], catalogue: Catalogue, pins: Mapping[str, str]) -> Iterator[str]:
    name, version = row["program"], row["release"]
    breaks = [one for one in catalogue.transitions.get(name, ()) if _same(one.at, version)]
    said = row.get("breaks", "")
    before = said == f"not known: {version} was pinned before this table"
    if not breaks and said != "nothing" and not before:
        yield "no row in transitions.jsonl, and its row does not say that nothing breaks"
    if breaks and said:
        yield f"its row says {said!r}, and transitions.jsonl has rows of it"
    schema = SCHEMAS / f"chart-{name}.json"
    if schema.is_file():
        read = json.loads(schema.read_text())["source"]["release"]
        if ordinal(read) != ordinal(row.get("keys", version)):
            yield f"the keys of its chart are those of {read}: run tools/schemas/generate.py"
    gates = catalogue.features(name).gates
    for gate in row.get("gates", ()):
        if gate not in gates or not gates[gate].is_in(numbers(version)):
            yield f"features.jsonl does not have its gate {gate}"
    for other, wanted in row.get("pairs", {}).items():
        if not _same(wanted, pins[other]):
            yield f"it belongs together with {other} {wanted}, and {pins[other]} is pinned"


def _same(one: str, other: str) -> bool:
    """`0.20` is every 0.20.x."""
    first, second = ordinal(one), ordinal(other)
    return first == second[: len(first)]


def pinned(**moved: str) -> dict[str, str]:
    pins = {chart.name: chart.version for chart in load().charts.values()}
    return pins | {name.replace("_", "-"): version for name, version in moved.items()}


def test_every_pin_has_its_rows() -> None:
    assert list(missing(pinned(), load())) == []


def later(version: str) -> str:
    """The next patch release."""
    return re.sub(r"[0-9]+$", lambda number: str(int(number[0]) + 1), version)


@pytest.mark.parametrize("name", sorted(pinned()))
def test_each_pin_that_is_moved_by_hand_is_missed(name: str) -> None:
    """Alone, and with the release of its row: the breaking changes between are still missing."""
    version = later(pinned()[name])
    moved = {**pinned(), name: version}
    assert f"{name} {version}: no row in pins.jsonl" in " ".join(missing(moved, load()))
    rows = [{**row, "release": version} if row["program"] == name else row for row in ROWS]
    found = [text for text in missing(moved, load(), rows) if text.startswith(f"{name} {version}:")]
    assert any("no row in transitions.jsonl" in text for text in found)
    if (SCHEMAS / f"chart-{name}.json").is_file():
        keyed = name != "karpenter"  # the keys of its next minor release are read already
        assert keyed is any("the keys of its chart are those of" in text for text in found)


@pytest.mark.parametrize(
    ("moved", "said"),
    [
        ({"kueue": "0.20.0"}, "kueue 0.20.0: no row in pins.jsonl (of 0.19.2)"),
        (
            {"dra_driver_nvidia_gpu": "0.4.1"},
            "v26.7.0: it belongs together with dra-driver-nvidia-gpu 0.5.0, and 0.4.1 is pinned",
        ),
    ],
)
def test_a_pin_that_is_moved_by_hand_says_what_is_missing(moved: dict[str, str], said: str) -> None:
    assert any(said in text for text in missing(pinned(**moved), load()))


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("gpu-operator", {"transitions": {}}, "no row in transitions.jsonl"),
        ("dra-driver-nvidia-gpu", {"feature_tables": {}}, "does not have its gate"),
    ],
)
def test_a_row_that_goes_is_missed(name: str, change: dict[str, Any], said: str) -> None:
    lacking = replace(load())
    # Tables are read once, on first use.
    lacking.__dict__.update(change)
    found = [text for text in missing(pinned(), lacking) if text.startswith(f"{name} ")]
    assert any(said in text for text in found)


def test_rows_are_of_pins_and_say_what_was_read() -> None:
    assert {row["program"] for row in ROWS} == set(pinned())
    assert all(re.search(r"[a-z]", row["read"]) for row in ROWS)
