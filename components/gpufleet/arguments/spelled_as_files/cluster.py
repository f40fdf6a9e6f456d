"""The FleetSpec in the spelling of files: what restates `gpufleet.spec.cluster`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from collections.abc import Mapping
from typing import NotRequired, TypedDict


class ClusterDict(TypedDict):
    """Name, location and version; values of other resources belong in `connection`."""

    name: str
    """Name of the cluster, at most 100 characters."""
    region: NotRequired[str]
    """Region of the cloud, `us-east-1`, `us-central1`. Required there; own hardware has none."""
    kubernetesVersion: NotRequired[str]
    """Minor version of the API server. Default "1.36"."""
    featureGates: NotRequired[Mapping[str, bool]]
    """Feature gates of resource.k8s.io with which your API server, scheduler and kubelets start,
    if they differ from the defaults of the version: `{DRADeviceTaintRules: true}`. gpufleet does
    not set them: it accepts or refuses the settings that need a gate. Default: none."""
    project: NotRequired[str]
    """GKE: the Google Cloud project. Default: the provider's."""
    autopilot: NotRequired[bool]
    """GKE: whether the cluster is in Autopilot mode, where only GKE creates nodes. Pools then
    need `provisioner: computeClass`; programs with privileges on nodes are refused. Default
    false."""
