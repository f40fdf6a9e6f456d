"""What the standalone device plugin may be told in typed form.

Chart nvidia-device-plugin 0.20.0 (NVIDIA/k8s-device-plugin `deployments/helm`, read 2026-11-21).
"""

from pydantic import Field

from gpufleet.spec.base import SecretName, SpecModel
from gpufleet.spec.gpu_operator import Switch


class DevicePluginSettings(SpecModel):
    """What the chart runs."""

    gpu_feature_discovery: Switch = Field(default_factory=Switch)
    """Labels that describe the GPUs; MPS needs it. Default on."""
    node_feature_discovery: Switch = Field(default_factory=Switch)
    """Labels GPU nodes. Default on, unless another add-on brings it."""
    image_pull_secret: SecretName | None = None
    """Name of the Secret for images. Default: none."""
