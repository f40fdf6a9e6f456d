"""Arguments of cloud resources that their provider refuses, before any resource is registered;
findings about an add-on with the argument names of its component."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from gpufleet.catalogue.provider_inputs import violations
from gpufleet.catalogue.provider_shapes import unknown_inputs
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


def in_own_words(addon: str, findings: Iterable[Finding]) -> Iterator[Finding]:
    """The findings with the paths of a component's arguments.

    `addon` is the section of a FleetSpec in the paths. A component has the same settings as
    `settings`, and raw values as `values`.
    """

    def own_words(text: str) -> str:
        return text.replace(f"{addon}.values", "values").replace(f"{addon}.", "settings.")

    for finding in findings:
        yield replace(
            finding,
            path=own_words(finding.path),
            message=own_words(finding.message),
            fix=None if finding.fix is None else own_words(finding.fix),
        )
