"""The end of docs/check.md: where each rule is explained. Old links to that page still work."""

import sys
from pathlib import Path

from gpufleet_policies.configurations.codes import EVERY_KIND, code_space, tables
from gpufleet_policies.configurations.groups import group_of

BEGIN = "<!-- rules: made by `make generate` -->"


def rule_page() -> str:
    """The rules of each kind in Markdown, each a link into the reference."""
    parts = [BEGIN, ""]
    anchored: set[str] = set()
    for kind, rules in tables().items():
        title = "every kind" if kind == EVERY_KIND else kind
        parts += [f"### {title}", "", "| survey | rule | verdict |", "|---|---|---|"]
        parts += [*(_row(code, anchored) for code in rules), ""]
    return "\n".join(parts)


def _row(code: str, anchored: set[str]) -> str:
    found = code_space()[code]
    anchor = "" if code in anchored else f'<a id="{code}"></a>'
    anchored.add(code)
    link = f"{anchor}[`{code}`](policies/{group_of(found)}.md#{code})"
    return f"| {', '.join(found.survey)} | {link} | {found.verdict.value} |"


def write(page: Path) -> None:
    """Write the lists again, at the end of a page that holds the mark."""
    text = page.read_text(encoding="utf-8")
    if BEGIN not in text:
        sys.exit(f"{page} does not hold the line {BEGIN}")
    page.write_text(f"{text.partition(BEGIN)[0]}{rule_page().strip()}\n", encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
