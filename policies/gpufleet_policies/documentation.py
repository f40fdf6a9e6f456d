"""The reference pages of the policies, written from the rules and their case table.

`python -m gpufleet_policies.documentation docs/policies.md`, started in the repository, writes the
table of all rules between the markers of that page, and a page for each family in the folder
`policies` in the same folder.
"""

import difflib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from gpufleet.documents.writing import yaml_text
from gpufleet_policies.facts import Provenance
from gpufleet_policies.rules.registry import FAMILIES, PACK_RULES
from gpufleet_policies.rules.rule import Level, Needs, Profile, Rule

BEGIN = "<!-- rules: begin, written by python -m gpufleet_policies.documentation -->"
END = "<!-- rules: end -->"
_CONTEXT = 3
"""Unchanged lines shown around a change."""


class Example(Protocol):
    """A case of the table: what passes, what does not, and what is reported about it."""

    @property
    def rule(self) -> str:
        """Id of the rule."""
        ...

    def shown(self) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """The object that passes and the one that does not, as their author writes them."""
        ...

    def message(self) -> str:
        """What is reported about the second one."""
        ...


def reference() -> str:
    """The table of all rules, by family."""
    lines: list[str] = []
    for family in _families():
        rules = [rule for rule in PACK_RULES if rule.family == family]
        head = "| rule | what must not be | " + " | ".join(Profile) + " |"
        lines += [f"### {_title(family)}", "", head, "|---|---|" + "---|" * len(Profile)]
        for rule in rules:
            levels = " | ".join(rule.levels[profile].value for profile in Profile)
            link = f'<a id="{rule.id}"></a>[{rule.id}](policies/{family}.md#{rule.id})'
            lines.append(f"| {link} | {rule.sentence} | {levels} |")
        lines.append("")
    return "\n".join(lines).rstrip()


def page(family: str, examples: Sequence[Example]) -> str:
    """The page of a family: each rule with its reason, money, source and examples."""
    lines = [
        f"# {_title(family)}",
        "",
        "Written from the rules; the overview is [docs/policies.md](../policies.md).",
        "",
    ]
    by_rule = {example.rule: example for example in reversed(examples)}
    for rule in PACK_RULES:
        if rule.family == family:
            lines += _section(rule, by_rule.get(rule.id))
    return "\n".join(lines).rstrip() + "\n"


def _families() -> list[str]:
    return [module.__name__.rsplit(".", 1)[-1] for module in FAMILIES]


def _title(family: str) -> str:
    module = next(m for m in FAMILIES if m.__name__.endswith(f".{family}"))
    return (module.__doc__ or family).strip().splitlines()[0].rstrip(".")


def _section(rule: Rule, example: Example | None) -> list[str]:
    levels = ", ".join(f"{profile.value} {rule.levels[profile].value}" for profile in Profile)
    lines = [f"## {rule.id}", "", rule.sentence, "", rule.detail, ""]
    lines += [f"* Levels: {levels}.{_stops(rule)}"]
    lines += [
        f"* Validates {' and '.join(_subject(subject) for subject in rule.subjects)}{_sees(rule)}."
    ]
    if rule.formula:
        lines.append(f"* Money: {rule.formula}.")
    lines += [f"* Source: {rule.source}.", f"* Kept for a reason with `{rule.annotation}`.", ""]
    return lines if example is None else lines + _shown(example)


def _stops(rule: Rule) -> str:
    if Level.MANDATORY not in rule.levels.values():
        return ""
    if rule.mandatory_needs is Provenance.INFERRED:
        return " Stops a deployment on any evidence."
    return f" Stops a deployment on evidence that is at least {rule.mandatory_needs.name.lower()}."


_SUBJECTS = {
    "FleetFacts": "a fleet (`GpuFleet`)",
    "WorkloadFacts": "workloads",
    "DeviceClaim": "device claims",
    "NodePool": "node pools",
    "Autoscaler": "autoscalers of pods",
    "AutoscalerLimit": "limits of node auto-provisioning",
    "CapacityBuffer": "capacity buffers",
    "ClusterQueue": "Kueue's ClusterQueues",
    "KaiQueue": "queues of KAI Scheduler",
    "MigLayouts": "mig-parted configurations",
    "DeclaredNamespace": "namespaces",
    "NvidiaConfig": "configurations of NVIDIA's software",
    "OperatorChoices": "installations of NVIDIA's software",
    "Reservation": "reservations",
    "ResourceFlavor": "Kueue's ResourceFlavors",
    "SharingConfig": "sharing in device-plugin configurations",
}


def _subject(subject: type) -> str:
    return _SUBJECTS.get(subject.__name__, f"`{subject.__name__}`")


def _sees(rule: Rule) -> str:
    sees = {
        Needs.FLEET: "the pools of a GpuFleet",
        Needs.POOLS: "pools, of a GpuFleet or declared with the workloads",
        Needs.SURROUNDINGS: "everything declared together",
    }
    needed = [sees[need] for need in Needs if need in rule.needs]
    return f"; silent without {' and '.join(needed)}" if needed else ""


def _shown(example: Example) -> list[str]:
    passes, fails = example.shown()
    good, bad = _lines(passes), _lines(fails)
    change = list(difflib.unified_diff(bad, good, n=_CONTEXT, lineterm=""))[2:]
    whole = ["Not like this:", "", "```yaml", *bad, "```", ""] if len(bad) < _LONG else []
    return [
        *whole,
        "> " + example.message(),
        "",
        "But like this:",
        "",
        "```diff",
        *(line for line in change if not line.startswith("@@")),
        "```",
        "",
    ]


_LONG = 60
"""Lines from which an object is shown by its change alone."""


def _lines(document: Mapping[str, Any]) -> list[str]:
    return yaml_text(document).splitlines()


def written(document: str) -> str:
    """A document with its reference part written again. Raises ValueError without the markers."""
    if BEGIN not in document or END not in document:
        raise ValueError(f"the document lacks the markers {BEGIN!r} and {END!r}")
    before, _, rest = document.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{reference()}\n\n{END}{after}"


def pages(examples: Sequence[Example]) -> dict[str, str]:
    """File name -> page, of every family."""
    return {f"{family}.md": page(family, examples) for family in _families()}


def _examples() -> Sequence[Example]:
    """The case table of the repository; empty where only the package is installed."""
    try:
        from tests.policies.cases import CASES  # type: ignore[import-not-found]
    except ModuleNotFoundError:
        return ()
    return CASES  # type: ignore[no-any-return]


def write(overview: Path) -> None:
    """Write the overview, and the pages into the folder with the overview's name."""
    overview.write_text(written(overview.read_text(encoding="utf-8")), encoding="utf-8")
    folder = overview.with_suffix("")
    folder.mkdir(exist_ok=True)
    made = pages(_examples())
    for old in folder.glob("*.md"):
        if old.name not in made:
            old.unlink()
    for name, text in made.items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
