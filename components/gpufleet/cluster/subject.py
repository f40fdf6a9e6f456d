"""Subject: the common fields of all checked objects except workloads and fleets."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpufleet.cluster.fact import Fact, absent, known
from gpufleet.findings.locator import Locator

ENVIRONMENT_KEYS = (
    "gpufleet.dev/environment",
    "environment",
    "Environment",
    "env",
    "Env",
    "gpufleet-environment",
)
"""Annotations, labels and tags that hold the environment; gpufleet's own come first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One declared object that is not a workload."""

    locator: Locator
    annotations: Mapping[str, str] = field(default_factory=dict[str, str])
    """Annotations, labels and tags with known values, in one map; it includes exceptions."""
    environment: Fact[str] = field(default_factory=lambda: absent("environment"))
    """The environment that the object itself declares; default: that of its annotations."""

    def __post_init__(self) -> None:
        if self.environment.is_absent:
            object.__setattr__(self, "environment", environment(self.annotations))


def environment(texts: Mapping[str, str]) -> Fact[str]:
    """The environment that annotations, labels or tags declare."""
    for key in ENVIRONMENT_KEYS:
        if key in texts:
            return known(texts[key], place=key)
    return absent("environment")
