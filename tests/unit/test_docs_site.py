"""The documentation as a site: every page near the start, and every link of a staged page alive.

`make docs` builds the site itself with MkDocs, where every warning is an error.
"""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from tests.reading import yaml_data

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"\]\(([^)\s#]+)(?:#[^)]*)?\)")


@pytest.fixture(scope="module")
def stage() -> ModuleType:
    path = ROOT / "tools" / "site" / "stage.py"
    spec = importlib.util.spec_from_file_location("stage", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def site(stage: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    stage.main(folder)
    return folder


def links(page: Path) -> list[Path]:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    targets = [target for target in LINK.findall(text) if ":" not in target]
    return [(page.parent / target).resolve() for target in targets]


def test_no_link_of_a_staged_page_is_dead(site: Path) -> None:
    pages = sorted((site / "docs").rglob("*.md"))
    assert len(pages) > 90
    dead = [f"{page.name} -> {link}" for page in pages for link in links(page) if not link.exists()]
    assert dead == []


def test_every_page_is_two_clicks_from_the_start(site: Path) -> None:
    reached = {(site / "docs" / "index.md").resolve()}
    for _ in range(2):
        reached |= {link for page in reached for link in links(page) if link.suffix == ".md"}
    pages = {page.resolve() for page in (site / "docs").rglob("*.md")}
    assert sorted(page.name for page in pages - reached) == []


def test_the_navigation_has_the_pages_of_the_index(site: Path) -> None:
    text = (site / "mkdocs.yml").read_text(encoding="utf-8")
    sections = yaml_data(text)["nav"]
    assert sections[0] == {"Start": "index.md"}
    named = [page for one in sections[1:] for part in one.values() for page in part]
    assert all((site / "docs" / target).is_file() for one in named for target in one.values())
    assert [next(iter(one)) for one in sections][1] == "Tutorials"


def test_the_start_page_shows_what_it_is_for() -> None:
    """In one screen: what it is, a declaration, a picture, commands."""
    text = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    screen = "\n".join(text.splitlines()[:35])
    for part in ("refused while it is a file", "pools:", "![", "gpufleet explain"):
        assert part in screen


MOST_WORDS = 80_000
"""Hand-written pages, without generated ones and records of decisions."""
GENERATED = {
    "benchmarks.md",
    "change-classes.md",
    "check.md",
    "doctor-causes.md",
    "fleet-spec.md",
    "platforms.md",
    "policies.md",
    "sizing-measured.md",
}


def test_pages_for_people_stay_readable() -> None:
    """Code counts: all words of `docs`, of the pages at the root and of the examples'."""
    docs = [
        page
        for page in (ROOT / "docs").rglob("*.md")
        if page.name not in GENERATED and page.parent.name not in {"policies", "decisions"}
    ]
    others = [page for page in ROOT.glob("*.md") if page.name != "CHANGELOG.md"]
    pages = [*docs, *others, *ROOT.glob("examples/README.md"), *ROOT.glob("examples/*/README.md")]
    assert sum(len(page.read_text(encoding="utf-8").split()) for page in pages) <= MOST_WORDS


TABLE = re.compile(r"^(\|.*)\n\|[-|]+\n((?:\|.*\n)+)", re.MULTILINE)
CODE = re.compile(r"`([a-z][a-z0-9]*(?:-[a-z0-9]+)+)`")


def codes(page: Path) -> set[str]:
    """Codes of findings in the tables of a page."""
    found: set[str] = set()
    for head, rows in TABLE.findall(page.read_text(encoding="utf-8")):
        for number, title in enumerate(head.split("|")):
            if title.strip() in {"code", "codes", "finding", "findings"}:
                cells = (row.replace("\\|", "").split("|")[number] for row in rows.splitlines())
                found |= {code for cell in cells for code in CODE.findall(cell)}
    return found


def test_codes_in_tables_of_findings_exist() -> None:
    """Some codes are made of a part's name, `mig`, and the code of its reason, `count-invalid`."""
    roots = [ROOT / root for root in ("components", "policies/gpufleet_policies", "planner")]
    files = [one for root in roots for one in root.rglob("*") if one.suffix in {".py", ".jsonl"}]
    texts = "\n".join(file.read_text(encoding="utf-8") for file in files)
    known = set(re.findall(r"[a-z0-9]+(?:-[a-z0-9]+)+", texts))
    named = {page.name: codes(page) for page in (ROOT / "docs").glob("*.md")}
    assert {"contract.md", "vgpu.md"} <= {page for page, found in named.items() if found}
    unknown = [
        f"{page}: {code}"
        for page, found in sorted(named.items())
        for code in sorted(found)
        if not {code, code.partition("-")[2]} & known
    ]
    assert unknown == []
