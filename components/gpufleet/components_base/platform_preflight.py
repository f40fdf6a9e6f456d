"""What a platform's module `preflight` defines."""

from typing import Protocol

from gpufleet.components_base.answers import Answers, Wiring
from gpufleet.fleet import Fleet


class PlatformPreflight(Protocol):
    """Questions to the real cloud before anything is made."""

    def ask(self, fleet: Fleet, wiring: Wiring) -> Answers:
        """What the cloud answers about every pool. Raises CannotAskError when it cannot be
        reached at all."""
        ...
