"""Findings about an add-on's values, told in the words of the component's own arguments."""

from collections.abc import Iterable
from dataclasses import replace

from gpufleet.findings import Finding, Severity, has_errors, ordered
from gpufleet.inputs import refuse


def judged(component: str, addon: str, findings: Iterable[Finding]) -> list[str]:
    """Texts of the warnings. Raises InvalidArgumentsError with every finding when one is an error.

    `addon` is the section of a FleetSpec that paths begin with: arguments have no such section.
    """
    prefix = f"{addon}."
    own = [
        replace(
            finding,
            path=finding.path.removeprefix(prefix),
            message=finding.message.replace(prefix, ""),
            fix=None if finding.fix is None else finding.fix.replace(prefix, ""),
        )
        for finding in ordered(findings)
    ]
    if has_errors(own):
        refuse(component, own)
    return [str(f).removeprefix("warning ") for f in own if f.severity is Severity.WARNING]
