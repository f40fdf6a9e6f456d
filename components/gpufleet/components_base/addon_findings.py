"""Findings about an add-on's values, told in the words of the component's own arguments."""

from collections.abc import Iterable
from dataclasses import replace

from gpufleet.components_base.inputs import refuse
from gpufleet.findings import Finding, Severity, has_errors, ordered


def judged(component: str, addon: str, findings: Iterable[Finding]) -> list[str]:
    """Texts of the warnings. Raises InvalidArgumentsError with every finding when one is an error.

    `addon` is the section of a FleetSpec that paths begin with. A component takes the same settings
    as `settings`, and raw values beside them as `values`.
    """

    def own_words(text: str) -> str:
        return text.replace(f"{addon}.values", "values").replace(f"{addon}.", "settings.")

    own = [
        replace(
            finding,
            path=own_words(finding.path),
            message=own_words(finding.message),
            fix=None if finding.fix is None else own_words(finding.fix),
        )
        for finding in ordered(findings)
    ]
    if has_errors(own):
        refuse(component, own)
    return [str(f).removeprefix("warning ") for f in own if f.severity is Severity.WARNING]
