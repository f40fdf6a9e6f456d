"""Ids that once represented what other rules report now: they stay valid in settings, annotations
and baselines."""

from collections.abc import Mapping
from functools import cache

from gpufleet_policies.configurations.codes import EVERY_KIND
from gpufleet_policies.rules.configurations import CONFIG_RULES
from gpufleet_policies.rules.rule import Level, Profile

_OLD_KINDS = (
    EVERY_KIND,
    "mig-parted",
    "mig-placement",
    "mig-strategy",
    "device-plugin",
    "dra-config",
    "gpu-operator-values",
    "network-operator-values",
    "rdma-shared-config",
    "sriov-config",
)
"""Kinds whose findings were once reported under two ids."""

_GAVE_AWAY: Mapping[str, tuple[str, ...]] = {
    "mig-layout-infeasible": (
        "mig-profile-unknown",
        "mig-layout-impossible",
        "mig-unsupported",
        "mig-layout-nowhere",
        "mig-compute-instance-too-large",
        "mig-parted-profile-malformed",
    ),
    "sharing-replicas-out-of-range": (
        "device-plugin-replicas-invalid",
        "device-plugin-replicas-missing",
        "device-plugin-mps-too-many-clients",
    ),
    "mps-with-mig": (
        "device-plugin-mps-mixed",
        "device-plugin-mps-on-mig",
        "device-plugin-mps-single",
    ),
    "timeslicing-of-mig-resources": (
        "device-plugin-resource-not-offered",
        "device-plugin-resource-skipped",
    ),
}
"""Rules that still exist, and the rules that report part of what they did."""


_MERGED = {
    "whole-gpu-where-slice-fits": "gpu-oversized-for-model",
    "premium-gpu-for-small-model": "gpu-oversized-for-model",
    "tensor-parallel-wider-than-needed": "gpu-oversized-for-model",
    "karpenter-static-gpu-pool": "gpu-pool-fixed-size",
    "nonprod-without-expiry": "nonprod-pool-minimum-above-zero",
    "karpenter-no-limits": "gpu-pool-unbounded",
}
"""Rules that are one question now -> the rule that asks it."""


def _of_level(level: Level) -> tuple[str, ...]:
    return tuple(
        rule.id
        for rule in CONFIG_RULES
        if rule.family in _OLD_KINDS and rule.levels[Profile.PROD] is level
    )


@cache
def replaced() -> Mapping[str, tuple[str, ...]]:
    """Ids that no rule has any more -> the rules in their place."""
    return {
        "nvidia-config-rejected": _of_level(Level.MANDATORY),
        "nvidia-config-surprising": _of_level(Level.ADVISORY),
        **{old: (new,) for old, new in _MERGED.items()},
        "gpu-scaled-on-cpu": ("autoscaler-cpu-of-gpu-workload",),
        "idle-replicas-invalid": ("autoscaler-idle-not-below-minimum",),
    }


@cache
def covered() -> Mapping[str, tuple[str, ...]]:
    """Id in a setting or annotation -> the other rules that it holds for as well."""
    return {**replaced(), **_GAVE_AWAY}


@cache
def former_ids(rule: str) -> tuple[str, ...]:
    """Ids under which findings of a rule were once reported."""
    return tuple(old for old, rules in covered().items() if rule in rules)


def is_known(rule: str, rules: Mapping[str, object]) -> bool:
    """Whether an id may be written in settings and annotations."""
    return rule in rules or rule in replaced()
