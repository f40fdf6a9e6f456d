"""Settings of a pool for OpenShift on Google Cloud only.

Fields and limits: openshift/api bfa868a `machine/v1beta1/types_gcpprovider.go`; types of disks:
openshift/machine-api-operator 7dc0e85 `pkg/webhooks/machine_webhook.go`, read 2026-11-23.
"""

from typing import Literal

from pydantic import Field

from gpufleet.spec.platforms.openshift import OpenShiftMachineOptions


class OpenShiftGcpOptions(OpenShiftMachineOptions):
    """Settings for OpenShift on Google Cloud only."""

    image: str | None = Field(default=None, min_length=1, max_length=300)
    """Disk image of Red Hat CoreOS, `projects/P/global/images/I`. Default: the connection's."""
    disk_type: Literal["pd-balanced", "pd-ssd", "pd-standard"] | None = None
    """Type of the boot disk. Default: `pd-ssd` on A3, else `pd-balanced`."""
    spot_model: Literal["preemptible", "spot"] = "preemptible"
    """With `capacity: [{spot: {}}]`: `preemptible` machines (default) end after at most 24 hours;
    `spot` machines do not, and need a release whose machine API has `provisioningModel`: others
    ignore the field, and the machines are on demand."""
