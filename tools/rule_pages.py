"""The reference of all rules, written from the rules and their examples by `make generate`.

`docs/policies.md` gets the table of all rules between its markers, and a page for each family and
each kind of configuration in the folder of the same name; the end of `docs/check.md` lists the page
of each rule of a kind, so that old links to that page still work. `docs/doctor-causes.md` lists the
causes of the doctor.
"""

import re

from collections.abc import Sequence
from pathlib import Path

from gpufleet.documents.whole_file import write_whole_text
from gpufleet.rules.rule import Profile, Rule
from gpufleet_policies.configurations.codes import (
    CONFIGURATION_GROUPS,
    EVERY_KIND,
    RELATIONS,
    code_space,
    group_of,
    tables,
)
from gpufleet_policies.doctor.diagnosis import CAUSES
from gpufleet_policies.explanation import SEEN, explanation
from gpufleet_policies.rule_evidence import rule_evidence
from gpufleet_policies.rules.registry import FAMILIES, RULES, by_id

_GROUPS = {rule.id for rule in CONFIGURATION_GROUPS}
BEGIN = "<!-- rules: begin, written by make generate -->"
END = "<!-- rules: end -->"
BEGIN_OF_KINDS = "<!-- rules: made by `make generate` -->"


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


def kinds() -> str:
    """The rules of each kind in Markdown, each a link into the reference."""
    parts = [BEGIN_OF_KINDS, ""]
    anchored: set[str] = set()
    for kind, rules in tables().items():
        title = "every kind" if kind == EVERY_KIND else kind
        parts += [f"### {title}", "", "| survey | rule | verdict |", "|---|---|---|"]
        parts += [*(_kind_row(code, anchored) for code in rules), ""]
    return "\n".join(parts)


def _kind_row(code: str, anchored: set[str]) -> str:
    found = code_space()[code]
    anchor = "" if code in anchored else f'<a id="{code}"></a>'
    anchored.add(code)
    link = f"{anchor}[`{code}`](policies/{group_of(found)}.md#{code})"
    return f"| {', '.join(found.survey)} | {link} | {found.verdict.value} |"


def with_kinds(document: str) -> str:
    """A document whose end is written again. Raises ValueError without the marker."""
    if BEGIN_OF_KINDS not in document:
        raise ValueError(f"the document lacks the marker {BEGIN_OF_KINDS!r}")
    return f"{document.partition(BEGIN_OF_KINDS)[0]}{kinds().strip()}\n"


def causes() -> str:
    """The page of all causes that the doctor knows, with what shows each."""
    lines = [
        "# Causes that the doctor knows",
        "",
        "Written from `doctor/causes.jsonl` by `make generate`; [the doctor](doctor.md) explains the columns.",
        "",
        "| code | severity | sure | what | shown by |",
        "|---|---|---|---|---|",
    ]
    for cause in sorted(CAUSES, key=lambda one: one.code):
        shown = ", ".join(_report(one) for one in cause.reports)
        row = (f"`{cause.code}`", cause.severity.value, cause.sure.value, _cell(cause.title), shown)
        lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines) + "\n"


def _report(source: str) -> str:
    """A link named by its repository and number, or by its host; else the text itself."""
    if not source.startswith("https://"):
        return f"`{source}`"
    of_github = re.match(r"https://github\.com/([\w.-]+/[\w.-]+)(?:/(?:issues|pull)(/\d+)$)?", source)
    if of_github is None:
        return f"[{source.split('/')[2]}]({source})"
    number = (of_github[2] or "").replace("/", "#")
    return f"[{of_github[1]}{number}]({source})"


def write(docs: Path) -> None:
    """Write the pages again in a folder of documentation that has `policies.md` and `check.md`."""
    write_whole_text(docs / "doctor-causes.md", causes())
    for name, again in (("policies.md", written), ("check.md", with_kinds)):
        write_whole_text(docs / name, again((docs / name).read_text(encoding="utf-8")))
    folder = docs / "policies"
    folder.mkdir(exist_ok=True)
    made = pages()
    for old in folder.glob("*.md"):
        if old.name not in made:
            old.unlink()
    for name, text in made.items():
        write_whole_text(folder / name, text)


if __name__ == "__main__":
    write(Path(__file__).parents[1] / "docs")
