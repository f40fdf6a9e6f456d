"""Every code of the rules of configurations in one table: a code has one meaning for all kinds."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from gpufleet.contract.programs import context
from gpufleet.rules.rows import RuleTable
from gpufleet.rules.rule import Rule
from gpufleet_policies.configurations import manifest
from gpufleet_policies.configurations.kinds import KINDS, rules_of

EVERY_KIND = "every-kind"
"""Family of the rules that hold for documents of every kind."""


@cache
def tables() -> Mapping[str, RuleTable]:
    """Kind -> its rules; first those of every kind."""
    shared = {**context.RULES, **manifest.RULES}
    return {EVERY_KIND: shared, **{kind: rules_of(kind) for kind in KINDS}}


@cache
def code_space() -> Mapping[str, Rule]:
    """Code -> its rule, whose family is the first kind that has it. Raises ValueError when two
    tables give one code two meanings."""
    found: dict[str, Rule] = {}
    for kind, table in tables().items():
        for code, rule in table.items():
            known = found.get(code)
            if known is None:
                found[code] = replace(rule, family=kind)
            elif replace(known, family="") != rule:
                raise ValueError(
                    f"the code {code} means one thing in {known.family}, another in {kind}"
                )
    return found
