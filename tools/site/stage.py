"""Stage the documentation for MkDocs: `python tools/site/stage.py FOLDER`.

The pages stay where GitHub shows them. Staged are those of `docs/`, and other pages that they link
to (README, ARCHITECTURE, those of examples), with links rewritten; the navigation is that of
`docs/index.md`. A link to a file that is not a page becomes its name.
"""

import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
FENCE = re.compile(r"(^```.*?^```)", re.MULTILINE | re.DOTALL)
NAV = re.compile(r"^## (.+)$|\[([^\]]+)\]\(([\w/-]+\.md)\)", re.MULTILINE)
OUTSIDE = "project"
"""Folder of staged pages that are not below `docs/`."""


def staged_name(page: Path) -> Path:
    """Staged path of a page."""
    if page.is_relative_to(DOCS):
        return page.relative_to(DOCS)
    parts = page.relative_to(ROOT).with_suffix("").parts
    kept = [part for part in parts if part != "README"] or ["README"]
    return Path(OUTSIDE, "-".join(kept).lower() + ".md")


def linked_pages(page: Path) -> list[Path]:
    """Pages that a page links to, wherever they are."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    found: list[Path] = []
    for _, _, target in LINK.findall(text):
        file = (page.parent / target.partition("#")[0]).resolve()
        if ":" not in target and file.suffix == ".md" and file.is_file():
            found.append(file)
    return found


def rewritten(page: Path, pages: set[Path]) -> str:
    """The text with links as the site needs them."""

    def link(found: re.Match[str]) -> str:
        picture, text, target = found.groups()
        name, _, anchor = target.partition("#")
        if not name or ":" in target:
            return found[0]
        file = (page.parent / name).resolve()
        if file not in pages:
            return found[0] if picture else text
        depth = len(staged_name(page).parts) - 1
        there = "/".join([*[".."] * depth, staged_name(file).as_posix()])
        return f"[{text}]({there}{'#' + anchor if anchor else ''})"

    parts = FENCE.split(page.read_text(encoding="utf-8"))
    return "".join(part if part.startswith("```") else LINK.sub(link, part) for part in parts)


def navigation() -> list[str]:
    """Sections and pages of the index, as lines of YAML."""
    lines, named = ["nav:", "  - Start: index.md"], {"index.md"}
    for section, title, target in NAV.findall((DOCS / "index.md").read_text(encoding="utf-8")):
        if section:
            lines.append(f"  - {section}:")
        elif target not in named:
            named.add(target)
            label = title.strip("`")
            if label[1:2].islower() or label[1:2] == " ":  # vGPU stays as it is
                label = label[:1].upper() + label[1:]
            lines.append(f'      - "{label}": {target}')
    empty = {
        i
        for i, line in enumerate(lines)
        if i > 0 and line.endswith(":") and not "".join(lines[i + 1 : i + 2]).startswith("   ")
    }
    return [line for i, line in enumerate(lines) if i not in empty]


def main(folder: Path) -> None:
    """Write the staged pages and the configuration of MkDocs."""
    shutil.rmtree(folder, ignore_errors=True)
    pages = set(DOCS.rglob("*.md")) - set((DOCS / "decisions").rglob("*.md"))
    for page in sorted(pages):
        pages |= set(linked_pages(page))
    for page in sorted(pages):
        file = folder / "docs" / staged_name(page)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(rewritten(page, pages), encoding="utf-8")
    for other in DOCS.rglob("*"):
        if other.is_file() and other.suffix in {".svg", ".png", ".css"}:
            file = folder / "docs" / other.relative_to(DOCS)
            file.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(other, file)
    base = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    text = base + "\n".join(navigation()) + "\n"
    (folder / "mkdocs.yml").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
