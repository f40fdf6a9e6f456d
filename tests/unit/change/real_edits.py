"""Thirty usual edits, and the effect of each on nodes by the provider's own source.

Written from these sources, before `change` ran:

- aws: `ForceNew` and `resourceNodeGroupUpdate` of hashicorp/terraform-provider-aws
  `internal/service/eks/node_group.go` (b11fc0f, 012e0a3): instance types (a list, whose order
  counts), AMI type, capacity type and subnets make another group; a launch template's version and a
  release replace nodes one after the other; sizes, labels, taints and update settings change in
  place.
- karpenter: `hash:"ignore"` of kubernetes-sigs/karpenter `pkg/apis/v1/nodeclaim.go` and the static
  hash of `nodepool.go` (013941a): `spec.template` (the grace period of an intent in it) and the
  EC2NodeClass count, requirements, limits and disruption do not; a node that no longer meets the
  requirements drifts.
- google: `ForceNew` of hashicorp/terraform-provider-google
  `google/services/container/{node_config,resource_container_node_pool}.go` (e03b762).
- vsphere: docs/vsphere-gpu-node-group.md, "No running machine is lost".
- gpufleet: the declaration has the same meaning; no provider or cluster object depends on it.
"""

from enum import StrEnum
from typing import Any

from tests.unit.change.edits import BARE, L4, MACHINE, MANAGED_GPU, SLICED, TAINT, Data, fleet


class Effect(StrEnum):
    """Effect on running nodes."""

    NOTHING = "nothing"
    """No input, file or object differs."""
    IN_PLACE = "in place"
    """Something differs, and every node stays."""
    NODES = "nodes"
    """Nodes are replaced, or powered off: pods leave them."""
    REFUSED = "refused"
    """`pulumi up` ends with an error."""


NOTHING, IN_PLACE, NODES, REFUSED = Effect
Edit = tuple[Data, Data, Effect]
_TWO = {"instanceTypes": ["g6.xlarge", "g6.2xlarge"], "nodes": {"min": 1, "max": 4}}
_SWAPPED = {**_TWO, "instanceTypes": ["g6.2xlarge", "g6.xlarge"]}
_LABELS = {"labels": {"example.com/tier": "web"}}
_HELD = {"cpus": 8, "memoryGib": 64, "template": "gpu-template"}

AWS: dict[str, Edit] = {
    "more-nodes": (L4, {**L4, "nodes": {"min": 1, "max": 8}}, IN_PLACE),
    "label": (L4, {**L4, **_LABELS}, IN_PLACE),
    "taint": (L4, {**L4, "taints": [TAINT]}, IN_PLACE),
    "type": (L4, {**L4, "instanceTypes": ["g6.2xlarge"]}, NODES),
    "order-of-types": (_TWO, _SWAPPED, NODES),
    "spot": (L4, {**L4, "capacity": [{"spot": {}}]}, NODES),
    "bottlerocket": (L4, {**L4, "image": "bottlerocket-nvidia"}, NODES),
    "release": (L4, {**L4, "eks": {"releaseVersion": "1.36.0-20261101"}}, NODES),
    "larger-disk": (L4, {**L4, "disk": {"sizeGib": 400}}, NODES),
    "zone": (L4, {**L4, "zones": ["us-east-1a"]}, NODES),
    "two-at-once": (L4, {**L4, "eks": {"update": {"maxUnavailable": 2}}}, IN_PLACE),
    "default-written": (L4, {**L4, "sharing": {"exclusive": {}}}, NOTHING),
}
KARPENTER: dict[str, Edit] = {
    "k-order-of-types": (_TWO, _SWAPPED, NOTHING),
    "k-another-type": (L4, _TWO, IN_PLACE),
    "k-type-gone": (_TWO, {**_TWO, "instanceTypes": ["g6.2xlarge"]}, NODES),
    "k-label": (L4, {**L4, **_LABELS}, NODES),
    "k-disk": (L4, {**L4, "disk": {"sizeGib": 400}}, NODES),
    "k-limit": (L4, {**L4, "nodes": {"min": 0, "max": 8}}, IN_PLACE),
    "k-intent": (L4, {**L4, "intent": "interactive"}, NODES),
}
GOOGLE: dict[str, Edit] = {
    "g-more-nodes": (MANAGED_GPU, {**MANAGED_GPU, "nodes": {"min": 1, "max": 9}}, IN_PLACE),
    "g-label": (MANAGED_GPU, {**MANAGED_GPU, **_LABELS}, IN_PLACE),
    "g-spot": (MANAGED_GPU, {**MANAGED_GPU, "capacity": [{"spot": {}}]}, NODES),
    "g-sharing": (MANAGED_GPU, {**MANAGED_GPU, "sharing": SLICED}, NODES),
    "g-driver": (MANAGED_GPU, {**MANAGED_GPU, "gke": {"driverVersion": "latest"}}, NODES),
    "g-max-pods": (MANAGED_GPU, {**MANAGED_GPU, "gke": {"maxPods": 32}}, NODES),
    "g-blue-green": (
        MANAGED_GPU,
        {**MANAGED_GPU, "gke": {"upgrade": {"strategy": "blueGreen"}}},
        IN_PLACE,
    ),
}
VSPHERE: dict[str, Edit] = {
    "v-label": ({**BARE, "vsphere": _HELD}, {**BARE, "vsphere": _HELD, **_LABELS}, REFUSED),
    "v-cpus": ({**BARE, "vsphere": _HELD}, {**BARE, "vsphere": {**_HELD, "cpus": 16}}, REFUSED),
    "v-cpus-restart": (BARE, {**BARE, "vsphere": {**MACHINE, "cpus": 16}}, NODES),
    "v-note": (BARE, {**BARE, "vsphere": {**MACHINE, "annotation": "owned by ml"}}, IN_PLACE),
}
GROUPS: dict[str, tuple[str, dict[str, Edit], dict[str, Any]]] = {
    "aws": ("eks", AWS, {}),
    "karpenter": ("eks", KARPENTER, {"provisioner": "karpenter"}),
    "google": ("gke", GOOGLE, {}),
    "vsphere": ("vsphere", VSPHERE, {}),
}


def both(group: str) -> tuple[Data, Data]:
    """The declarations before and after all edits of a group, each edit a pool."""
    platform, edits, more = GROUPS[group]
    pairs = {name: (old, new) for name, (old, new, _) in edits.items()}
    return fleet(platform, 0, pairs, **more), fleet(platform, 1, pairs, **more)
