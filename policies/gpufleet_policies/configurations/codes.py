"""Every code of the rules of configurations in one table: a code has one meaning for all kinds."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from gpufleet.contract.programs import context
from gpufleet.contract.programs.validation import CheckRule, RuleTable
from gpufleet_policies.configurations import document, manifest, wrapped
from gpufleet_policies.configurations.kinds import KINDS, rules_of

EVERY_KIND = "every-kind"
"""Family of the rules that hold for documents of every kind."""


@dataclass(frozen=True, slots=True)
class KindRule:
    """A rule with the first kind that has it."""

    kind: str
    rule: CheckRule


@cache
def tables() -> Mapping[str, RuleTable]:
    """Kind -> its rules; first those of every kind."""
    shared = {**context.RULES, **document.RULES, **manifest.RULES, **wrapped.RULES}
    return {EVERY_KIND: shared, **{kind: rules_of(kind) for kind in KINDS}}


@cache
def code_space() -> Mapping[str, KindRule]:
    """Code -> its rule. Raises ValueError when two tables give one code two meanings."""
    found: dict[str, KindRule] = {}
    for kind, table in tables().items():
        for code, rule in table.items():
            known = found.setdefault(code, KindRule(kind, rule))
            if known.rule != rule:
                raise ValueError(
                    f"the code {code} means one thing in {known.kind}, another in {kind}"
                )
    return found
