"""What a platform's module `preflight` defines."""

from typing import Protocol, cast

from gpufleet.components_base.answers import Answers, Wiring
from gpufleet.contract.platform import PlatformValue
from gpufleet.fleet import Fleet


class PlatformPreflight(Protocol):
    """Questions to the real cloud before anything is made."""

    def ask(self, fleet: Fleet, wiring: Wiring) -> Answers:
        """What the cloud answers about every pool. Raises CannotAskError when it cannot be
        reached at all."""
        ...


def platform_preflight(platform: PlatformValue) -> PlatformPreflight | None:
    """What asks the real cloud; None where there is none to ask. Uses the network."""
    if not platform.preflight:
        return None
    return cast("PlatformPreflight", platform.module("preflight"))
