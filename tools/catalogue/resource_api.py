"""Rows of features.jsonl about resource.k8s.io: gates, fields that a gate keeps, limits of lists.

Read from Go modules: `pkg/features/kube_features.go` of the newest k8s.io/kubernetes, with the
state of each gate in each minor, and `resource/*/types.go` of k8s.io/api of every minor.

    python -m tools.catalogue.resource_api $(go env GOMODCACHE)/k8s.io 1.37.2 0.32.13 ... 0.37.0
"""

import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

Row = dict[str, Any]
SOURCE = "kubernetes-gates"
_GATES = re.compile(r"^\t(DRA\w+|DynamicResourceAllocation): \{\n(.*?)^\t\},$", re.M | re.S)
_STAGE = re.compile(r'MustParse\("(1\.\d+)"\), Default: (true|false)(.*?)\},')
_TYPE = re.compile(r"^type (\w+) struct \{\n(.*?)^\}$", re.M | re.S)
_FIELD = re.compile(r"((?:^\t//[^\n]*\n)+)^\t\w+ [^\n]*`json:\"(\w+)", re.M)
_GATE = re.compile(r"\+featureGate=(\w+)")
_LIMIT = re.compile(r"^(?:const )?\s*(\w+)(?: int)?\s*= (\d+|\w+)$", re.M)
OWNERS = (
    "DeviceClassSpec", "DeviceClaim", "DeviceRequest", "ExactDeviceRequest", "DeviceSubRequest",
    "DeviceConstraint", "DeviceToleration", "CapacityRequirements",
)  # fmt: skip
"""Types of a class or claim; those of slices and of status are written by programs."""
LISTS = {
    "requests": "DeviceRequestsMaxSize", "constraints": "DeviceConstraintsMaxSize",
    "config": "DeviceConfigMaxSize", "selectors": "DeviceSelectorsMaxSize",
    "firstAvailable": "FirstAvailableDeviceRequestMaxSize",
    "tolerations": "DeviceTolerationsMaxLength",
}  # fmt: skip
"""List of a class or claim -> the constant that limits it."""


def gate_rows(text: str) -> Iterator[Row]:
    """A row for each gate: its first minor, where it is on, and from when it cannot be changed."""
    for name, body in _GATES.findall(text):
        stages: dict[str, bool] = {}
        locked = None
        for minor, on, rest in _STAGE.findall(body):
            # Two stages of one minor: the later one counts for a cluster that runs nothing older.
            stages[minor] = on == "true"
            if "LockToDefault: true" in rest and locked is None:
                locked = minor
        first = next(iter(stages))
        row: Row = {"program": "kubernetes", "kind": "gate", "name": name, "since": first}
        if stages[first]:
            row["on"] = True
        changed: dict[str, bool] = {}
        now = stages[first]
        for minor, on in stages.items():
            if on is not now:
                changed[minor] = now = on
        yield row | ({"changed": changed} if changed else {}) | (
            {"locked": locked} if locked else {}
        ) | {"source": SOURCE}


def gated_fields(types: str) -> dict[str, str]:
    """Field of a class or claim -> the gate without which the API server drops it."""
    return {
        name: gate[1]
        for owner, body in _TYPE.findall(types)
        if owner in OWNERS
        for comment, name in _FIELD.findall(body)
        if (gate := _GATE.search(comment))
    }


def limits(types: str) -> dict[str, int]:
    """List of a class or claim -> maximum number of entries."""
    found = dict(_LIMIT.findall(types))

    def number(name: str) -> int | None:
        value = found.get(name)
        return None if value is None else int(value) if value.isdigit() else number(value)

    known = {key: number(constant) for key, constant in LISTS.items()}
    return {key: value for key, value in known.items() if value is not None}


def field_rows(types_by_minor: Mapping[str, list[str]]) -> Iterator[Row]:
    """Rows of fields and limits; `types_by_minor` in order, each with every served version."""
    seen: dict[tuple[str, str], Any] = {}
    for minor, texts in types_by_minor.items():
        for text in texts:
            for kind, read in (("field", gated_fields), ("limit", limits)):
                for name, value in read(text).items():
                    if (kind, name) in seen:
                        if seen[kind, name] != value:
                            raise ValueError(f"{name} was {seen[kind, name]}, is {value}")
                        continue
                    seen[kind, name] = value
                    of = {"gate": value} if kind == "field" else {"limit": value}
                    yield {"program": "kubernetes", "kind": kind, "name": name, "since": minor,
                           **of, "source": "kubernetes-api-types"}  # fmt: skip


def main() -> None:
    """Print the rows."""
    folder, newest, *apis = sys.argv[1:]
    modules = Path(folder)
    gates = modules / f"kubernetes@v{newest}" / "pkg/features/kube_features.go"
    texts = {
        f"1.{api.split('.')[1]}": [
            path.read_text()
            for path in sorted((modules / f"api@v{api}" / "resource").glob("v1*/types.go"))
        ]
        for api in apis
    }
    for row in (*gate_rows(gates.read_text()), *field_rows(texts)):
        print(json.dumps(row))  # noqa: T201


if __name__ == "__main__":
    main()
