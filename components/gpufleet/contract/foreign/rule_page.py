"""The tables of docs/check.md: every rule of every kind."""

import sys
from pathlib import Path

from gpufleet.contract.foreign import context, document, manifest
from gpufleet.contract.foreign.kinds import KINDS, rules_of
from gpufleet.contract.foreign.validation import RuleTable

BEGIN = "<!-- rules: made by `make generate` -->"


def rule_page() -> str:
    """One table per kind in Markdown, in the order of the kinds and of their rules."""
    parts = [BEGIN, ""]
    shared = {**context.RULES, **document.RULES, **manifest.RULES}
    for title, rules in (("every kind", shared), *((kind, rules_of(kind)) for kind in KINDS)):
        parts += [f"### {title}", "", _table(rules), ""]
    return "\n".join(parts)


def _table(rules: RuleTable) -> str:
    lines = ["| rules | finding | verdict | when, and what upstream does | source |"]
    lines.append("|---|---|---|---|---|")
    lines += [
        f"| {', '.join(rule.ids)} | `{rule.code}` | {rule.verdict.value} "
        f"| {_cell(rule.sentence)} | {_cell(rule.source)} |"
        for rule in rules.values()
    ]
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
