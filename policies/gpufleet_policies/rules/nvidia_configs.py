"""Configurations of NVIDIA's software that fail, or do something else than their text suggests."""

from collections.abc import Iterator

from gpufleet.findings import Finding, Severity
from gpufleet_policies.facts.nvidia import NvidiaConfig
from gpufleet_policies.facts.workload import MIG_PREFIX
from gpufleet_policies.rules.checked import of_check, verdict
from gpufleet_policies.rules.context import RuleContext
from gpufleet_policies.rules.rule import Level, Violation, rule
from gpufleet_policies.rules.sharing import SAID_BY_SHARING

_ABSENCE = ("-missing", "-absent", "-incomplete", "-empty", "-no-resources")
"""Ends of codes that say something is not there: proof of nothing where parts were not readable."""

_MIG = frozenset(
    {
        "mig-profile-unknown",
        "mig-layout-impossible",
        "mig-unsupported",
        "mig-layout-nowhere",
        "mig-compute-instance-too-large",
        "mig-parted-profile-malformed",
        "mig-layout-wasteful",
    }
)
"""Reported by mig-layout-infeasible and mig-layout-strands-slices."""


_SET_BY_THE_CHART = frozenset(
    {"device-plugin-mps-root-missing", "device-plugin-mps-root-elsewhere"}
)
"""What operator and chart set through the environment: a ConfigMap need not."""

_SLICES = frozenset({"device-plugin-resource-not-offered", "device-plugin-resource-skipped"})
"""Reported by timeslicing-of-mig-resources where the resource is a MIG slice."""


def _told(config: NvidiaConfig, finding: Finding) -> bool:
    code = finding.code
    if code in _MIG or code in SAID_BY_SHARING or code in _SET_BY_THE_CHART:
        return False
    if code in _SLICES and MIG_PREFIX in finding.message:
        return False
    return config.complete or not code.endswith(_ABSENCE)


@rule(
    "nvidia-config-rejected",
    "A configuration that NVIDIA's software refuses, or silently turns into something else.",
    subject=NvidiaConfig,
    dev=Level.MANDATORY,
    prod=Level.MANDATORY,
    strict=Level.MANDATORY,
    source="`gpufleet check`: docs/check.md gives each verdict with its source upstream",
)
def rejected(context: RuleContext, config: NvidiaConfig) -> Iterator[Violation]:
    """Values of gpu-operator and network-operator, ClusterPolicy, NicClusterPolicy, device-plugin
    and mig-parted ConfigMaps, opaque DRA configuration: the verdict `reject` of `gpufleet check`.
    """
    for finding in verdict(context, config).findings:
        if finding.severity is Severity.ERROR and _told(config, finding):
            yield of_check(config, finding)


@rule(
    "nvidia-config-surprising",
    "A configuration that works, but not as its text suggests.",
    subject=NvidiaConfig,
    dev=Level.ADVISORY,
    prod=Level.ADVISORY,
    strict=Level.ADVISORY,
    source="`gpufleet check`: docs/check.md gives each verdict with its source upstream",
)
def surprising(context: RuleContext, config: NvidiaConfig) -> Iterator[Violation]:
    """The verdict `warn` of `gpufleet check` on the same configurations."""
    for finding in verdict(context, config).findings:
        if finding.severity is Severity.WARNING and _told(config, finding):
            yield of_check(config, finding)
