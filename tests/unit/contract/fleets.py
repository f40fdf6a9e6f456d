"""Declarations for the contract tests, and what is found in them."""

from typing import Any

from gpufleet.findings import Finding, Severity
from gpufleet.platforms.compiled import Compiled, compile_data

REGION = {"eks": "us-east-1", "gke": "us-central1"}


def declaration(platform: str, *pools: dict[str, Any], **addons: dict[str, Any]) -> dict[str, Any]:
    """A fleet of these pools; keywords are add-ons in the file's spelling."""
    cluster: dict[str, Any] = {"name": "ml"}
    if platform in REGION:
        cluster["region"] = REGION[platform]
    return {
        "catalogue": "2026.11",
        "platform": platform,
        "cluster": cluster,
        "pools": [{"nodes": {"min": 1, "max": 3}, **pool} for pool in pools],
        "addons": addons,
    }


def validated(platform: str, *pools: dict[str, Any], **addons: dict[str, Any]) -> Compiled:
    """The same, compiled."""
    return compile_data(declaration(platform, *pools, **addons))


def codes(compiled: Compiled, severity: Severity = Severity.ERROR) -> set[str]:
    """Codes of all findings of one severity."""
    return {finding.code for finding in compiled.findings if finding.severity is severity}


def one(compiled: Compiled, code: str) -> Finding:
    """The finding of that code, which must be there exactly once."""
    (found,) = [finding for finding in compiled.findings if finding.code == code]
    return found


def facts(finding: Finding) -> list[dict[str, str]]:
    """Its chain of facts; each link has a statement and a source."""
    chain: Any = finding.evidence["facts"]
    assert all(link["fact"] and link["source"] for link in chain)
    return chain


def cites(finding: Finding, source: str) -> bool:
    """Whether a link of the chain rests on this source."""
    return source in {link["source"] for link in facts(finding)}
