"""Lines of Python by package against their ceilings (tools/ceilings.csv). `make check` runs it.

A ceiling only falls. A package above its ceiling is an error, and so is a ceiling that is more than 1 % above the
package: a change that removes lines lowers it, so that they do not come back. `--lower` writes the ceilings that are too high
again, as the lines that there are; it never raises one.
"""

import csv
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
TABLE = ROOT / "tools" / "ceilings.csv"
SLACK = 0.01
"""Maximum distance of a ceiling above the lines that it limits, as a part of them."""


@dataclass(frozen=True)
class Ceiling:
    """One package: its folder, the folders in it that do not count, and its lines, now and at most."""

    package: str
    folder: str
    without: tuple[str, ...]
    ceiling: int
    target: int

    def lines(self, root: Path = ROOT) -> int:
        """Lines of all Python files of the package, empty ones and comments too."""
        excluded = [root / folder for folder in self.without]
        return sum(
            len(path.read_bytes().splitlines())
            for path in (root / self.folder).rglob("*.py")
            if not any(path.is_relative_to(folder) for folder in excluded)
        )


def read(text: str) -> tuple[Ceiling, ...]:
    """The rows of the table; lines that start with # are comments."""
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    return tuple(
        Ceiling(
            row["package"], row["folder"], tuple(row["without"].split()), int(row["ceiling"]), int(row["target"])
        )
        for row in rows
    )


def problem(ceiling: Ceiling, lines: int) -> str | None:
    """Error of a package's number of lines, with the remedy; None without one."""
    if lines > ceiling.ceiling:
        return (
            f"{ceiling.package}: {lines} lines, {lines - ceiling.ceiling} above the ceiling of {ceiling.ceiling}: "
            f"remove as many in {ceiling.folder} (tools/ceilings.csv)"
        )
    if ceiling.ceiling > lines * (1 + SLACK):
        return (
            f"{ceiling.package}: {lines} lines, and the ceiling of {ceiling.ceiling} is more than {SLACK:.0%} above: "
            "lower it with `python tools/ceilings.py --lower`"
        )
    return None


def lowered(text: str, lines: dict[str, int]) -> str:
    """The table with each ceiling that is too high for the lines of its package replaced by these lines."""
    for ceiling in read(text):
        if ceiling.ceiling > lines[ceiling.package] * (1 + SLACK):
            ends = f",{ceiling.target}"
            text = text.replace(f",{ceiling.ceiling}{ends}", f",{lines[ceiling.package]}{ends}")
    return text


def main(arguments: list[str]) -> int:
    """0 if every package is within its ceiling and every ceiling is close to its package, else 1."""
    text = TABLE.read_text()
    lines = {ceiling.package: ceiling.lines() for ceiling in read(text)}
    if arguments == ["--lower"]:
        text = lowered(text, lines)
        TABLE.write_text(text)
    problems = 0
    for ceiling in read(text):
        found = problem(ceiling, lines[ceiling.package])
        problems += found is not None
        print(
            found
            or f"{ceiling.package}: {lines[ceiling.package]} lines (ceiling {ceiling.ceiling}, target {ceiling.target})"
        )
    return int(problems > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
