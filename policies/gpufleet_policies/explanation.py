"""Markdown text about a rule, for the reference pages and `gpufleet policies explain`."""

import csv
from collections.abc import Iterator
from pathlib import Path

from gpufleet.cluster import Provenance
from gpufleet.findings import Level
from gpufleet.rules.rule import Needs, Profile, Rule
from gpufleet_policies.configurations.codes import code_space
from gpufleet_policies.rule_evidence import rule_evidence
from gpufleet_policies.rule_examples import RuleExample, rule_examples
from gpufleet_policies.rules.registry import by_id

SEEN = "* Seen in "
"""The line with the link to a public report of the fault."""
with Path(__file__).with_suffix(".csv").open(newline="", encoding="utf-8") as _file:
    _SUBJECTS = {row["facts"]: row["words"] for row in csv.DictReader(_file)}
_NEEDS = {
    Needs.FLEET: "the pools of a GpuFleet",
    Needs.POOLS: "pools, of a GpuFleet or declared with the workloads",
    Needs.SURROUNDINGS: "everything declared together",
}


def explanation(rule: Rule) -> list[str]:
    """The forbidden state, reason, levels, source, a bad object and the change that corrects it."""
    lines = [rule.sentence, ""]
    if rule.detail:
        lines += [rule.detail, ""]
    lines += [f"* Level: {_levels(rule)}.{_stops(rule)}"]
    lines += [f"* Validates {_subjects(rule)}{_sees(rule)}."]
    if rule.formula:
        lines.append(f"* Money: {rule.formula}.")
    survey = f" ({', '.join(rule.survey)})" if rule.survey else ""
    lines += [f"* Source: {rule.source}{survey}.", *_seen(rule)]
    lines += [f"* Waived by `{rule.annotation}`{_whole(rule)}.", ""]
    example = rule_examples().get(rule.id)
    return lines if example is None else [*lines, *_shown(example)]


def _whole(rule: Rule) -> str:
    """The other name of a waiver, or what a listed rule has."""
    if rule.group:
        return f", or with all of its kind by `gpufleet.dev/ignore-{rule.group}`"
    number = sum(one.group == rule.id for one in by_id().values())
    return f"; it has {number} faults, each with a name and a waiver of its own" if number else ""


def _levels(rule: Rule) -> str:
    found = {rule.levels[profile] for profile in Profile}
    if len(found) == 1:
        return found.pop().value
    return ", ".join(f"{profile.value} {rule.levels[profile].value}" for profile in Profile)


def _stops(rule: Rule) -> str:
    if Level.MANDATORY not in rule.levels.values() or rule.id in code_space():
        return ""
    if rule.mandatory_needs is Provenance.INFERRED:
        return " Mandatory on any evidence."
    return f" Mandatory on evidence that is at least {rule.mandatory_needs.name.lower()}."


def _subjects(rule: Rule) -> str:
    if rule.id in code_space():
        return f"configurations of the kind `{rule.family}`"
    names = [subject.__name__ for subject in rule.subjects]
    return " and ".join(_SUBJECTS.get(name, f"`{name}`") for name in names)


def _sees(rule: Rule) -> str:
    needed = [_NEEDS[need] for need in Needs if need in rule.needs]
    return f"; silent without {' and '.join(needed)}" if needed else ""


def _seen(rule: Rule) -> Iterator[str]:
    found = rule_evidence().get(rule.id)
    if found is not None and found.between:
        yield f"* Between: {found.between}."
    if found is not None:
        yield f"{SEEN}[{found.source}]({found.link}){found.shows and ': ' + found.shows}."


def _shown(example: RuleExample) -> Iterator[str]:
    if example.given:
        yield from (f"Given `{example.given}`.", "")
    if example.bad:
        yield from ("Bad:", "", *_block("yaml", example.bad), "")
    yield from ("> " + example.message, "")
    if example.change:
        title = "Good:" if example.bad else "Bad (`-`) and good (`+`):"
        yield from (title, "", *_block("diff", example.change), "")
    if example.good:
        yield from ("Good:", "", *_block("yaml", example.good), "")


def _block(language: str, text: str) -> list[str]:
    fence = "~~~" if "```" in text else "```"
    return [f"{fence}{language}", *text.splitlines(), fence]
