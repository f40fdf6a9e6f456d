"""Which rules an audit applies: patterns of the command line over the settings."""

from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from fnmatch import fnmatchcase

from gpufleet.findings import Level
from gpufleet_policies.configurations.codes import CONFIGURATION_GROUPS
from gpufleet_policies.rules.registry import EXCEPTION_INVALID, by_id
from gpufleet_policies.rules.settings import RuleSettings


class UnknownRuleError(ValueError):
    """A pattern fits no rule; the text names the nearest."""


def selected(
    settings: RuleSettings, include: Sequence[str], exclude: Sequence[str]
) -> RuleSettings:
    """Settings in which only included rules apply, without the excluded ones.

    A rule that is included by its own name, and not by a pattern, is at least advisory. Notes about
    the policies themselves stay unless they are excluded.

    Raises UnknownRuleError.
    """
    notes = {EXCEPTION_INVALID}
    wanted = rules_of(include, notes) if include else {*by_id(), *notes}
    unwanted = rules_of(exclude, notes)
    # Each fault is off, and not its rule: other faults of the rule may be selected.
    groups = {rule.id for rule in CONFIGURATION_GROUPS}
    off = ({rule for rule in by_id() if rule not in wanted} | unwanted) - groups
    named = frozenset(rule for rule in include if rule in by_id() and rule not in unwanted)
    levels = {**settings.levels, **dict.fromkeys(off, Level.OFF)}
    return replace(settings, levels=levels, asked_for=named)


def rules_of(patterns: Sequence[str], others: set[str] | None = None) -> set[str]:
    """Ids that fit one of the patterns. Raises UnknownRuleError for one that fits none."""
    ids = [*by_id(), *(others or ())]
    found: set[str] = set()
    for pattern in patterns:
        fits = {one for one in ids if fnmatchcase(one, pattern)}
        if not fits:
            raise UnknownRuleError(no_such_rule(pattern))
        found |= fits | {rule.id for rule in by_id().values() if rule.group in fits}
    return found


def no_such_rule(name: str) -> str:
    """The text about an id or a pattern that fits no rule."""
    near = get_close_matches(name, list(by_id()), n=3, cutoff=0.4)
    hint = f"did you mean {', '.join(near)}?" if near else "see `gpufleet policies rules`"
    return f"there is no rule {name!r}; {hint}"
