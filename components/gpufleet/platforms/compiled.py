"""From the text of a declaration to its Fleet in one step, for programs.

This module passes all platforms to compile.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

from gpufleet.catalogue import Catalogue, UnknownEditionError, load
from gpufleet.findings import Finding, FleetError, findings_in, has_errors, ordered
from gpufleet.fleet.compile import compile_fleet
from gpufleet.fleet.model import Fleet
from gpufleet.platforms.registry import PLATFORMS
from gpufleet.spec.document import fleet_part, read_document
from gpufleet.spec.parse import parse

_finding = findings_in(__file__)


@dataclass(frozen=True, slots=True)
class Compiled:
    """The result of reading and compiling a declaration."""

    fleet: Fleet | None
    """The compiled part; None when nothing could be compiled. Deploy it only when no finding is an
    error."""
    findings: tuple[Finding, ...]

    @property
    def deployable(self) -> bool:
        """Whether the declaration compiled without an error."""
        return self.fleet is not None and not has_errors(self.findings)


def compile_document(
    text: str | bytes,
    *,
    prices: Path | None = None,
    as_of: date | None = None,
    at: datetime | None = None,
) -> Compiled:
    """Read and compile a FleetSpec or stack file.

    `prices` overrides list prices from a file. `as_of` is the day for the age of prices, `at` the
    time at which windows are evaluated (`compile_fleet`). Raises UnreadableDocumentError when the
    text is not a bounded YAML or JSON mapping; all other errors are
    returned
    as findings.
    """
    return compile_data(fleet_part(read_document(text)), prices=prices, as_of=as_of, at=at)


def compile_data(
    data: Mapping[str, Any],
    *,
    prices: Path | None = None,
    as_of: date | None = None,
    at: datetime | None = None,
) -> Compiled:
    """Compile plain data, as YAML or JSON gives it."""
    parsed = parse(data)
    if parsed.readable is None:
        return Compiled(None, ordered(parsed.findings))
    try:
        catalogue: Catalogue = load(
            parsed.readable.catalogue, prices=prices, overlay=parsed.readable.catalogue_overlay
        )
    except UnknownEditionError as unknown:
        edition = parsed.readable.catalogue
        finding = _finding("catalogue-edition-unknown", found=edition, allowed=unknown.nearest)
        return Compiled(None, ordered((*parsed.findings, finding)))
    except FleetError as problem:
        return Compiled(None, ordered((*parsed.findings, *problem.findings)))
    fleet = compile_fleet(
        parsed.readable,
        catalogue,
        PLATFORMS,
        pool_index=parsed.pool_index,
        as_of=as_of,
        at=at,
    )
    findings = ordered((*parsed.findings, *fleet.findings, *_overlay_findings(catalogue)))
    return Compiled(fleet, findings)


def _overlay_findings(catalogue: Catalogue) -> list[Finding]:
    if not catalogue.overlay.sources:
        return []
    # Only a program with an overlay pays for importing the review.
    from gpufleet.catalogue.overlay_review import review_overlay

    return review_overlay(catalogue)
