"""The tables of docs/check.md: every rule of every kind."""

from gpufleet.contract.foreign import context, document
from gpufleet.contract.foreign.judgement import RuleTable
from gpufleet.contract.foreign.kinds import KINDS, rules_of

BEGIN = "<!-- rules: made by `python -m gpufleet.contract.foreign.rule_page` -->"


def rule_page() -> str:
    """One table per kind in Markdown, in the order of the kinds and of their rules."""
    parts = [BEGIN, ""]
    shared = {**context.RULES, **document.RULES}
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


if __name__ == "__main__":
    print(rule_page())
