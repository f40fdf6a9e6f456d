"""Level: what a finding of a rule does."""

from enum import StrEnum


class Level(StrEnum):
    """Effect of a finding."""

    OFF = "off"
    ADVISORY = "advisory"
    """The finding is shown, and nothing stops."""
    MANDATORY = "mandatory"
    """The deployment stops before anything is made."""
    REMEDIATE = "remediate"
    """`pulumi` fixes it where the rule has a patch. Other findings of the rule are mandatory. In
    audits and admission policies all its findings are."""

    @property
    def enforced(self) -> "Level":
        """What a finding of this level does when nothing fixes it."""
        return Level.MANDATORY if self is Level.REMEDIATE else self
