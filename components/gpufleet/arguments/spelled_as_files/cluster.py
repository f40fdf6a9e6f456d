"""The FleetSpec in the spelling of files: what restates `gpufleet.spec.cluster`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from collections.abc import Mapping
from typing import NotRequired, TypedDict


class ClusterDict(TypedDict):
    """Name, place and version; everything another resource produces belongs to `connection`."""

    name: str
    """Name of the cluster, at most 100 characters."""
    region: NotRequired[str]
    """Region of the cloud, `us-east-1`, `us-central1`. Needed there; own hardware has none."""
    kubernetesVersion: NotRequired[str]
    """Minor version of the API server. Default "1.36"."""
    featureGates: NotRequired[Mapping[str, bool]]
    """Gates of resource.k8s.io that your API server, scheduler and kubelets are started with,
    where they differ from the defaults of the version: `{DRADeviceTaintRules: true}`. gpufleet
    does not set them: what needs a gate is then accepted or refused. Default: none."""
    project: NotRequired[str]
    """GKE: the Google Cloud project. Default: the provider's."""
    autopilot: NotRequired[bool]
    """GKE: whether the cluster is in Autopilot mode, where GKE alone makes nodes. Pools then need
    `provisioner: computeClass`, and what needs privileges on nodes is refused. Default false."""
