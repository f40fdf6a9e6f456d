"""The reference of all rules, written from the rules and their examples.

`python -m gpufleet_policies.documentation docs/policies.md` writes the table of all rules between
the markers of that page, and a page for each family and each kind of configuration into the folder
with the overview's name. `make generate` runs it.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from gpufleet.documents.whole_file import write_whole_text
from gpufleet.rules.rule import Profile, Rule
from gpufleet_policies.configurations.groups import CONFIGURATION_GROUPS, RELATIONS
from gpufleet_policies.explanation import SEEN, explanation
from gpufleet_policies.rule_evidence import rule_evidence
from gpufleet_policies.rules.registry import FAMILIES, RULES, by_id

_GROUPS = {rule.id for rule in CONFIGURATION_GROUPS}
BEGIN = "<!-- rules: begin, written by python -m gpufleet_policies.documentation -->"
END = "<!-- rules: end -->"


def reference() -> str:
    """The tables of all rules, by family and kind of configuration."""
    lines: list[str] = []
    for family, rules in _families().items():
        head = ["rule", "what must not be", *Profile]
        head += ["seen in", "false errors"]
        lines += [f"### {_title(family)}", "", f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
        for rule in rules:
            levels = " | ".join(rule.levels[profile].value for profile in Profile)
            link = f'<a id="{rule.id}"></a>[{rule.id}](policies/{family}.md#{rule.id})'
            seen = f" {_seen(rule)} |"
            lines.append(f"| {link} | {_cell(rule.sentence)} | {levels} |{seen}")
        lines.append("")
    return "\n".join(lines).rstrip()


def page(family: str, rules: Sequence[Rule]) -> str:
    """The page of a family: each rule with its reason, source, a bad and a good example."""
    lines = [
        f"# {_title(family)}",
        "",
        "Written from the rules; the overview is [docs/policies.md](../policies.md).",
        "",
    ]
    faults = [one for one in by_id().values() if one.group == family]
    for rule in (*rules, *faults):
        # A pattern in a message is not a link.
        text = (
            line if line.startswith(SEEN) else line.replace("](", "]\\(")
            for line in explanation(rule)
        )
        lines += [f"## {rule.id}", "", *text]
    return "\n".join(lines).rstrip() + "\n"


def _families() -> dict[str, list[Rule]]:
    """Rules by family, in the order of the registry; those of configurations come last."""
    found: dict[str, list[Rule]] = {}
    for rule in RULES:
        found.setdefault(rule.family, []).append(rule)
    return found


def _title(family: str) -> str:
    if family in _GROUPS and family != RELATIONS:
        return f"Configurations: `{family}`"
    module = next(m for m in FAMILIES if m.__name__.endswith(f".{family}"))
    return (module.__doc__ or family).strip().splitlines()[0].rstrip(".")


def _seen(rule: Rule) -> str:
    found = rule_evidence().get(rule.id)
    if found is None:
        return "not seen | 0"
    return f"[{found.source.split()[0]}]({found.link}) | {found.false_errors}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def written(document: str) -> str:
    """A document with its reference part written again. Raises ValueError without the markers."""
    if BEGIN not in document or END not in document:
        raise ValueError(f"the document lacks the markers {BEGIN!r} and {END!r}")
    before, _, rest = document.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{reference()}\n\n{END}{after}"


def pages() -> dict[str, str]:
    """File name -> page, of every family."""
    return {f"{family}.md": page(family, rules) for family, rules in _families().items()}


def write(overview: Path) -> None:
    """Write the overview, and the pages into the folder with the overview's name."""
    write_whole_text(overview, written(overview.read_text(encoding="utf-8")))
    folder = overview.with_suffix("")
    folder.mkdir(exist_ok=True)
    made = pages()
    for old in folder.glob("*.md"):
        if old.name not in made:
            old.unlink()
    for name, text in made.items():
        write_whole_text(folder / name, text)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
