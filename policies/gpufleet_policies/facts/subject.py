"""Subject: the common fields of all checked objects except workloads and fleets."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpufleet_policies.facts.locator import Locator
from gpufleet_policies.facts.tristate import Fact, absent

ENVIRONMENT_KEYS = (
    "gpufleet.dev/environment",
    "environment",
    "Environment",
    "env",
    "Env",
    "gpufleet-environment",
)
"""Annotations, labels and tags people write the environment into, ours first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One declared object that is not a workload."""

    locator: Locator
    annotations: Mapping[str, str] = field(default_factory=dict[str, str])
    """Annotations, labels and tags whose values are known, in one map: exceptions are in it."""
    environment: Fact[str] = field(default_factory=lambda: absent("environment"))
    """What the object itself says about where it runs."""
