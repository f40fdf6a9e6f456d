"""cert-manager: which settings of add-ons need it. No add-on of a fleet installs it."""

from collections.abc import Iterator
from pathlib import Path

from pydantic.alias_generators import to_camel

from gpufleet.catalogue.edition import read_rows
from gpufleet.documents.paths import value_at
from gpufleet.findings import Finding, findings_in
from gpufleet.spec.addons import Addon, Addons

_finding = findings_in(__file__)

USERS = tuple(read_rows(Path(__file__).parent, "certificate_users"))
"""Values by which an add-on asks for certificates of cert-manager, and those that keep it off."""


def validate_certificates(addons: Addons) -> Iterator[Finding]:
    """Raw values that need cert-manager, which someone else must have installed before."""
    for row in USERS:
        addon: Addon = getattr(addons, row["addon"])
        unless = row.get("unless", {}).items()
        if value_at(addon.values, row["asks"]) is not True:
            continue
        if not any(value_at(addon.values, key) == value for key, value in unless):
            path = f"addons.{to_camel(row['addon'])}.values.{row['asks']}"
            yield _finding("cert-manager-by-no-one", path, source=row["source"])
