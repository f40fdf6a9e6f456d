"""Every rule, in the order they are documented and reported: those written here, and those of
configurations."""

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from pathlib import Path

from gpufleet.rules.rule import Rule
from gpufleet_policies.configurations.codes import CONFIGURATION_GROUPS
from gpufleet_policies.rules.checked import CONFIG_RULES

FAMILIES = tuple(
    import_module(f"{__package__}.{name}")
    for name in Path(__file__).with_name("families.txt").read_text(encoding="utf-8").split()
)
"""Modules that hold rules (`families.txt`); each is a page of the documentation."""

PACK_RULES: tuple[Rule, ...] = tuple(
    value
    for family in FAMILIES
    for value in (*vars(family).values(), *vars(family).get("RULES", ()))
    if isinstance(value, Rule) and value.family == family.__name__.rsplit(".", 1)[-1]
)
"""Rules of the modules, of each family in the order they are written."""

RULES: tuple[Rule, ...] = (*(one for one in PACK_RULES if not one.group), *CONFIGURATION_GROUPS)
"""The rules that are listed: those of configurations and relations have faults."""

EXCEPTION_INVALID = "policy-exception-invalid"
"""Code of the finding about an exception that does not count: no reason, past or bad date."""

RULE_FAILED = "policy-rule-failed"
"""Code of the note about a rule that could not validate an object because the rule itself broke."""

NOTES = frozenset({EXCEPTION_INVALID, RULE_FAILED})
"""Codes of findings about the policy itself."""


@cache
def by_id() -> dict[str, Rule]:
    """Rules and faults by their id. Raises ValueError when two have the same."""
    rules = (*all_rules(), *CONFIGURATION_GROUPS)
    found = {rule.id: rule for rule in rules}
    if len(found) < len(rules):
        twice = sorted({one.id for one in rules if one is not found[one.id]})
        raise ValueError(f"two rules have one id: {', '.join(twice)}")
    return found


@cache
def validating(subject: type) -> tuple[Rule, ...]:
    """Rules that validate facts of this type."""
    return tuple(rule for rule in all_rules() if subject in rule.subjects)


def listed(code: str) -> Rule | None:
    """The listed rule of a code: itself, or the rule whose fault it is; None for notes."""
    rule = by_id().get(code)
    return by_id()[rule.group] if rule is not None and rule.group else rule


def type_of(facts: object) -> type:
    """Type of facts, by which rules are chosen."""
    return type(facts)


_OWN: list[Rule] = []


def all_rules() -> tuple[Rule, ...]:
    """The rules in use: of this package, with their faults, then the project's own."""
    return (*PACK_RULES, *CONFIG_RULES, *_OWN)


def add_rules(rules: Iterable[Rule]) -> None:
    """Apply rules of the project's own too; one replaces another that was added with its id."""
    added = {rule.id: rule for rule in (*_OWN, *rules)}
    _OWN[:] = added.values()
    by_id.cache_clear()
    validating.cache_clear()


def remove_own_rules() -> None:
    """Apply only the rules of this package again."""
    _OWN.clear()
    add_rules(())
