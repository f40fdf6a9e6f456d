"""The cluster of a fleet."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, StringConstraints

from gpufleet.spec.base import SpecModel

OPENSHIFT_BEHIND = 13
"""OpenShift 4.N runs Kubernetes 1.(N+13): 4.21 is 1.34 (NVIDIA/cloud-native-docs
`openshift/dra-gpu-ocp.rst`)."""


def _quoted(version: Any) -> Any:
    if isinstance(version, float):
        written = f"{version:.2f}"  # YAML read 1.30 as 1.3
        raise ValueError(  # noqa: TRY004 - pydantic collects ValueError only
            f'YAML reads {version} as a number and drops zeros: quote it, "{written}"'
        )
    return version


KubernetesVersion = Annotated[
    str, BeforeValidator(_quoted), StringConstraints(pattern=r"^1\.[1-9][0-9]$")
]
"""Minor version, quoted: `"1.36"`."""

DEFAULT_KUBERNETES_VERSION: KubernetesVersion = "1.36"
"""Minor version if a declaration names none."""


def minor_of(version: str) -> tuple[int, int]:
    """`(1, 36)` for `1.36`, with or without a patch release."""
    major, minor = version.split(".")[:2]
    return int(major), int(minor)


class Cluster(SpecModel):
    """Name, location and version; values of other resources belong in `connection`."""

    name: Annotated[
        str, StringConstraints(pattern=r"^[a-zA-Z0-9]([-a-zA-Z0-9_]*[a-zA-Z0-9])?$", max_length=100)
    ]
    """Name of the cluster, at most 100 characters."""
    region: str | None = Field(default=None, min_length=1, max_length=40)
    """Region of the cloud, `us-east-1`, `us-central1`. Required there; own hardware has none."""
    kubernetes_version: KubernetesVersion = DEFAULT_KUBERNETES_VERSION
    """Minor version of the API server. Default "1.36"."""
    feature_gates: Annotated[dict[str, bool], Field(max_length=64)] = Field(
        default_factory=dict[str, bool]
    )
    """Feature gates of resource.k8s.io with which your API server, scheduler and kubelets start, if
    they differ from the defaults of the version: `{DRADeviceTaintRules: true}`. gpufleet does not
    set them: it accepts or refuses the settings that need a gate. Default: none."""
    project: str | None = Field(default=None, min_length=1, max_length=63)
    """GKE: the Google Cloud project. Default: the provider's."""
    autopilot: bool = False
    """GKE: whether the cluster is in Autopilot mode, where only GKE creates nodes. Pools then need
    `provisioner: computeClass`; programs with privileges on nodes are refused. Default false."""
