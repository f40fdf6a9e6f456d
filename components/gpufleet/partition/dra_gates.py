"""Feature gates of NVIDIA's DRA driver: features that need them, and conflicts.

Source: kubernetes-sigs/dra-driver-nvidia-gpu v0.5.0 `pkg/featuregates/featuregates.go`. The chart
checks none of this: a conflict renders, and the driver's pods crash. Which release has which gate
is in the catalogue's features.jsonl.
"""

from collections.abc import Collection, Iterable

TIME_SLICING = "TimeSlicingSettings"
MPS = "MPSSupport"
DYNAMIC_MIG = "DynamicMIG"
PASSTHROUGH = "PassthroughSupport"
SHARES = "ConsumableShares"
HOST_IMEX = "HostManagedIMEXDaemon"

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


def conflicts(enabled: Iterable[str], known: Collection[str] | None = None) -> list[str]:
    """Reasons why the driver refuses the enabled gates, one sentence each.

    `known`: the gates of its release; others are refused too. None: not checked. Gates that
    are on by default count only when they are given.
    """
    given = set(enabled)
    said = [f"there is no gate {name}" for name in sorted(given - set(known or given))]
    said += [f"{one} excludes {other}" for one, other in EXCLUDES if {one, other} <= given]
    said += [f"{one} needs {other}" for one, other in NEEDS if one in given and other not in given]
    return said
