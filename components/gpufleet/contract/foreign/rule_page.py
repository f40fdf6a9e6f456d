"""The tables of docs/check.md: every rule of every kind."""

import sys
from pathlib import Path

from gpufleet.contract.foreign.codes import EVERY_KIND, tables
from gpufleet.contract.foreign.validation import RuleTable

BEGIN = "<!-- rules: made by `make generate` -->"


def rule_page() -> str:
    """One table per kind in Markdown, in the order of the kinds and of their rules."""
    parts = [BEGIN, ""]
    anchored: set[str] = set()
    for kind, rules in tables().items():
        title = "every kind" if kind == EVERY_KIND else kind
        parts += [f"### {title}", "", _table(rules, anchored), ""]
    return "\n".join(parts)


def _table(rules: RuleTable, anchored: set[str]) -> str:
    lines = ["| rules | finding | verdict | when, and what upstream does | source |"]
    lines.append("|---|---|---|---|---|")
    for rule in rules.values():
        anchor = "" if rule.code in anchored else f'<a id="{rule.code}"></a>'
        anchored.add(rule.code)
        lines.append(
            f"| {', '.join(rule.ids)} | {anchor}`{rule.code}` | {rule.verdict.value} "
            f"| {_cell(rule.sentence)} | {_cell(rule.source)} |"
        )
    return "\n".join(lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def write(page: Path) -> None:
    """Write the tables again, at the end of a page that holds the mark."""
    text = page.read_text(encoding="utf-8")
    if BEGIN not in text:
        sys.exit(f"{page} does not hold the line {BEGIN}")
    page.write_text(f"{text.partition(BEGIN)[0]}{rule_page().strip()}\n", encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
