"""Objects that a cluster in Autopilot mode refuses: other node pools, and privileged pods.

Sources: GKE documentation, Autopilot overview, security capabilities in Autopilot (the Baseline
policy: no privileged containers, no folders of the node) and privileged open-source workloads
(the allowlist has none of NVIDIA), read 2026-11-23; NVIDIA/gpu-operator issue 581.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from gpufleet.catalogue.edition import read_rows
from gpufleet.findings import Finding, rules_in
from gpufleet.fleet.model import AddonPlan, Pool
from gpufleet.spec.fleet_spec import FleetSpec

_rules = rules_in(__file__)

ADMITTED = frozenset(
    row["accelerator"] for row in read_rows(Path(__file__).parent, "autopilot_gpus")
)
"""Accelerator types in the admission rule of Autopilot clusters: the answer of
`autogke-gpu-limitation` to another type (pastebin.com/cVrwvR2j, 2025-05-13). Until 2023-11 it
listed three (substratusai/helm issue 8), so missing types may have been added since."""


def validate_autopilot(
    spec: FleetSpec, pools: Sequence[Pool], addons: AddonPlan
) -> Iterable[Finding]:
    """A fleet whose cluster is in Autopilot mode."""
    return _rules("autopilot", spec=spec, pools=pools, addons=addons, admitted=sorted(ADMITTED))
