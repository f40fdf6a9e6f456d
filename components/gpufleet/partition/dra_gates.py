"""Feature gates of NVIDIA's DRA driver: which exist, what needs them, which exclude each other.

Source: kubernetes-sigs/dra-driver-nvidia-gpu v0.4.1 `pkg/featuregates/featuregates.go`. The chart
checks none of this: a conflict renders, and the driver's pods crash.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

TIME_SLICING = "TimeSlicingSettings"
MPS = "MPSSupport"
DYNAMIC_MIG = "DynamicMIG"

DEFAULTS: Mapping[str, bool] = MappingProxyType(
    {
        TIME_SLICING: False,
        MPS: False,
        "PassthroughSupport": False,
        DYNAMIC_MIG: False,
        "NVMLDeviceHealthCheck": False,
        "DeviceMetadata": False,
        "IMEXDaemonsWithDNSNames": True,
        "ComputeDomainCliques": True,
        "CrashOnNVLinkFabricErrors": True,
    }
)
"""Every gate of 0.4.1 and whether it is on when nobody says so."""

EXCLUDES: tuple[tuple[str, str], ...] = (
    (DYNAMIC_MIG, "PassthroughSupport"),
    (DYNAMIC_MIG, "NVMLDeviceHealthCheck"),
    (DYNAMIC_MIG, MPS),
    ("PassthroughSupport", "NVMLDeviceHealthCheck"),
)
"""Pairs that must not both be on."""

NEEDS: tuple[tuple[str, str], ...] = (
    ("DeviceMetadata", "PassthroughSupport"),
    ("ComputeDomainCliques", "IMEXDaemonsWithDNSNames"),
)
"""Gate -> gate that must be on with it."""


def conflicts(enabled: Iterable[str]) -> list[str]:
    """What the driver would refuse of the gates that are on, one sentence each.

    Unknown names are refused too. Gates that are on by default count only when they are given.
    """
    given = set(enabled)
    said = [f"there is no gate {name}" for name in sorted(given - set(DEFAULTS))]
    said += [f"{one} excludes {other}" for one, other in EXCLUDES if {one, other} <= given]
    said += [f"{one} needs {other}" for one, other in NEEDS if one in given and other not in given]
    return said
