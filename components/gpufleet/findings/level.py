"""Level: the effect of a rule's finding."""

from enum import StrEnum


class Level(StrEnum):
    """Effect of a finding."""

    OFF = "off"
    ADVISORY = "advisory"
    """The finding is printed, and nothing stops."""
    MANDATORY = "mandatory"
    """The deployment stops before any resource is created."""
    REMEDIATE = "remediate"
    """`pulumi` fixes it if the rule has a patch; the rule's other findings are mandatory. In audits
    and admission policies all its findings are mandatory."""

    @property
    def enforced(self) -> "Level":
        """The effect of this level if the finding is not fixed."""
        return Level.MANDATORY if self is Level.REMEDIATE else self
