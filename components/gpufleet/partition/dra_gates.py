"""Feature gates of NVIDIA's DRA driver: defaults by version, what needs them, which exclude others.

Source: kubernetes-sigs/dra-driver-nvidia-gpu v0.4.1 `pkg/featuregates/featuregates.go`. The chart
checks none of this: a conflict renders, and the driver's pods crash.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

Version = tuple[int, ...]

DEFAULT_VERSION: Version = (0, 4, 1)
"""The chart of the catalogue."""

TIME_SLICING = "TimeSlicingSettings"
MPS = "MPSSupport"
DYNAMIC_MIG = "DynamicMIG"

ALPHA: Mapping[str, Version] = MappingProxyType(
    {
        TIME_SLICING: (0, 2),
        MPS: (0, 2),
        "PassthroughSupport": (0, 3),
        DYNAMIC_MIG: (0, 3),
        "NVMLDeviceHealthCheck": (0, 3),
        "DeviceMetadata": (0, 4),
        "FabricManagerPartitioning": (0, 5),
        "HostManagedIMEXDaemon": (0, 5),
        "DRAListTypeAttributes": (0, 5),
        "ConsumableShares": (0, 5),
    }
)
"""Gates that are off by default, with the version that brought each."""
BETA: Mapping[str, Version] = MappingProxyType(
    {
        "IMEXDaemonsWithDNSNames": (0, 2),
        "ComputeDomainCliques": (0, 3),
        "CrashOnNVLinkFabricErrors": (0, 3),
    }
)
"""Gates that are on by default, with the version that brought each."""


def defaults(version: Version) -> dict[str, bool]:
    """Every gate of a version and whether it is on by default."""
    gates = {name: False for name, since in ALPHA.items() if version >= since}
    return gates | {name: True for name, since in BETA.items() if version >= since}


DEFAULTS: Mapping[str, bool] = MappingProxyType(defaults(DEFAULT_VERSION))
"""Every gate of the default version and whether it is on by default."""

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
