"""Arguments of cloud resources that their provider refuses, before any resource is registered;
findings about a FleetSpec with the argument names of a component."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from gpufleet.catalogue.provider_inputs import violations
from gpufleet.catalogue.provider_shapes import unknown_inputs
from gpufleet.documents.shapes import rewritten
from gpufleet.findings import Finding, findings_in

_finding = findings_in(__file__)


def refused_arguments(
    type_: str, arguments: Mapping[str, Any], place: str = ""
) -> Iterator[Finding]:
    """Errors in the arguments of one resource by its provider.

    Args:
        type_: Type of the resource, `aws:eks/nodeGroup:NodeGroup`.
        arguments: Its arguments, in the provider's spelling.
        place: Path of the arguments in the declaration; empty if they have none.
    """
    for found in (*unknown_inputs(type_, arguments), *violations(type_, arguments)):
        yield _finding(
            "provider-refuses-argument",
            f"{place}.{found.path}" if place else found.path,
            found=found.path,
            type=type_,
            reason=found.reason,
        )


def in_own_words(names: Mapping[str, str], findings: Iterable[Finding]) -> list[Finding]:
    """The findings with the names of a component's arguments.

    `names` has the argument of each field of a FleetSpec that the component takes, the longer
    field first: `{"pools[0]": "pool"}`.
    """
    field = re.compile(rf"(?<![\w.\"'])({'|'.join(map(re.escape, names))})(?![\w-])")

    def own_words(value: Any) -> Any:
        text = isinstance(value, str)
        return field.sub(lambda found: names[found[1]], value) if text else value

    parts = ("path", "message", "fix", "evidence")
    return [
        replace(one, **{part: rewritten(getattr(one, part), own_words) for part in parts})
        for one in findings
    ]


def own_words_of(addon: str) -> dict[str, str]:
    """Arguments of a component that installs an add-on: settings, and raw values."""
    return {f"{addon}.values": "values", addon: "settings"}
