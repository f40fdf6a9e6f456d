"""Findings about an add-on's values, with the argument names of the component."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from gpufleet.findings import Finding


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
