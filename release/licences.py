"""The licences of all parts of a release, from its bills of materials."""

import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_CLASSIFIER = "License :: OSI Approved :: "
UNKNOWN = "not known"
"""What is written where a bill has no licence: the part was not on the machine, or names none."""


def licence_of(component: dict[str, Any]) -> str:
    """Licences that a component of CycloneDX declares, SPDX identifiers before other names."""
    identifiers: list[str] = []
    names: list[str] = []
    for one in component.get("licenses", ()):
        licence = one.get("license", {})
        if identifier := one.get("expression") or licence.get("id"):
            identifiers.append(identifier)
        elif name := licence.get("name", "").removeprefix(_CLASSIFIER):
            names.append(name)
    return ", ".join(sorted({*(identifiers or names)})) or UNKNOWN


def write_licences(bills: Sequence[Path], target: Path) -> None:
    """Write each licence with the parts that have it, as Markdown.

    Args:
        bills: Bills of materials, CycloneDX as JSON.
        target: The file to write.
    """
    parts: defaultdict[str, set[str]] = defaultdict(set)
    for bill in bills:
        for component in json.loads(bill.read_text(encoding="utf-8"))["components"]:
            if component["type"] == "library":
                name = f"{component['name']} {component.get('version', '')}".strip()
                parts[licence_of(component)].add(name)
    known = sorted(parts.keys() - {UNKNOWN}, key=lambda one: (-len(parts[one]), one))
    sections = [
        f"## {licence} ({len(parts[licence])})\n\n"
        + "".join(f"- {name}\n" for name in sorted(parts[licence]))
        for licence in [*known, *({UNKNOWN} & parts.keys())]
    ]
    files = ", ".join(f"`{bill.name}`" for bill in bills)
    head = f"# Licences of the parts\n\nFrom {files}. gpufleet itself is Apache-2.0.\n\n"
    target.write_text(head + "\n".join(sections), encoding="utf-8")
