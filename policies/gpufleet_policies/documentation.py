"""The reference part of docs/policies.md, written from the rules themselves.

`python -m gpufleet_policies.documentation docs/policies.md` writes it between the markers again.
"""

import sys
from pathlib import Path

from gpufleet_policies.rules.registry import RULES
from gpufleet_policies.rules.rule import Needs, Profile, Rule

BEGIN = "<!-- rules: begin, written by python -m gpufleet_policies.documentation -->"
END = "<!-- rules: end -->"


def reference() -> str:
    """The table of all rules and a section for each."""
    head = "| rule | what must not be | " + " | ".join(Profile) + " |"
    lines = [head, "|---|---|" + "---|" * len(Profile)]
    for rule in RULES:
        levels = " | ".join(rule.levels[profile].value for profile in Profile)
        lines.append(f"| [{rule.id}](#{rule.id}) | {rule.sentence} | {levels} |")
    return "\n".join([*lines, "", *(line for rule in RULES for line in _section(rule))]).rstrip()


def _section(rule: Rule) -> list[str]:
    judged = "a fleet (`GpuFleet`)" if "FleetFacts" in rule.subject.__name__ else "workloads"
    evidence = rule.mandatory_needs.name.lower()
    facts = [f"Judges {judged}; stops a deployment on evidence that is at least {evidence}."]
    if Needs.FLEET in rule.needs:
        facts.append("Silent where the pools are not known.")
    detail = (rule.check.__doc__ or "").strip().splitlines()
    facts.extend(line.strip() for line in detail if line.strip())
    lines = [f"### {rule.id}", "", rule.sentence, "", " ".join(facts), ""]
    if rule.formula:
        lines += [f"Money: {rule.formula}.", ""]
    return [*lines, f"Source: {rule.source}.", ""]


def written(document: str) -> str:
    """A document with its reference part written again. Raises ValueError without the markers."""
    if BEGIN not in document or END not in document:
        raise ValueError(f"the document lacks the markers {BEGIN!r} and {END!r}")
    before, _, rest = document.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{reference()}\n\n{END}{after}"


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(written(path.read_text(encoding="utf-8")), encoding="utf-8")
