"""`--html`: one page without other files, hosts or scripts, with the content of the text."""

import base64
import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import yaml
from click.testing import CliRunner

from gpufleet.cli.explain import command as explain
from gpufleet.platforms.compiled import compile_data
from gpufleet.render.slots_svg import draw_partition_svg
from tests.reading import yaml_data

SPEC = """\
catalogue: "2026.11"
platform: eks
cluster: {name: ml, region: us-east-1}
pools:
  - name: notebooks
    instanceTypes: [p4de.24xlarge]
    nodes: {min: 0, max: 2}
    sharing: {mig: {layouts: [{devices: {1g.10gb: 7}}]}}
  - name: block
    instanceTypes: [p5.48xlarge]
    nodes: {min: 0, max: 1}
    capacity:
      - capacityBlock:
          id: cr-0123456789abcdef0
          zone: us-east-1a
          until: 2026-12-20T11:30:00Z
addons: {gpuOperator: {migManager: {env: {WITH_REBOOT: "true"}}}}
"""
CHAT = {
    "name": "chat",
    "gpu": "L4",
    "nodes": {"min": 0, "max": 4},
    "sharing": {"timeSlicing": {"replicas": 4}},
}
VOID = {"meta", "img", "br", "link", "source"}


class Balanced(HTMLParser):
    """Fails on a tag that is closed in another order than opened."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def read(page: str) -> Balanced:
    parser = Balanced()
    parser.feed(page)
    assert parser.open == []
    return parser


def explained(tmp_path: Path) -> str:
    file = tmp_path / "fleet.html"
    arguments = ["-", "--as-of", "2026-12-01", "--html", str(file)]
    result = CliRunner().invoke(explain, arguments, input=SPEC)
    assert result.exit_code == 0, result.output
    return file.read_text(encoding="utf-8")


def test_the_page_needs_nothing_else(tmp_path: Path) -> None:
    page = explained(tmp_path)
    links = read(page).links
    assert all(link.startswith(("data:image/svg+xml;base64,", "#")) for link in links)
    assert "<script" not in page


def test_it_has_slots_spend_and_calendar(tmp_path: Path) -> None:
    page = explained(tmp_path)
    for alt in ("GPUs of one node of notebooks", "Spend of each pool", "Calendar, 30 days"):
        assert f'alt="{alt}' in page
    assert "nvidia.com/mig-1g.10gb: 1" in unescape(page)
    assert "0.00 to 54.89 USD/h" in unescape(page)


def test_a_telephone_gets_narrow_pictures_and_rows_as_lists(tmp_path: Path) -> None:
    page = explained(tmp_path)
    narrow = re.findall(
        r'<source media="\(max-width: 34rem\)" srcset="(data:image/svg[^"]+)">', page
    )
    assert len(narrow) == 3  # two pools and the spend
    drawn = [base64.b64decode(one.partition(",")[2]).decode() for one in narrow]
    assert [int(re.findall(r'viewBox="0 0 (\d+)', one)[0]) <= 400 for one in drawn] == [True] * 3
    assert page.count('<td data-label="expected USD a month" class="number">') == 2


def test_a_page_that_cannot_be_written_is_one_error(tmp_path: Path) -> None:
    file = tmp_path / "no" / "fleet.html"
    result = CliRunner().invoke(explain, ["-", "--html", str(file)], input=SPEC)
    assert "No such file or directory" in str(result.exception)


def test_facts_are_a_list_and_shares_are_drawn_as_shares(tmp_path: Path) -> None:
    page = explained(tmp_path)
    assert "<pre>" not in page
    assert "<dt>Pods ask for</dt>" in page
    assert "USD a month" in page
    shared = {**yaml_data(SPEC), "pools": [CHAT]}
    fleet = compile_data(shared).fleet
    assert fleet is not None
    picture = draw_partition_svg(fleet.pools[0].gpu, fleet.pools[0].partition, "Pool chat")
    assert [f"share {number}" in picture for number in (1, 4, 5)] == [True, True, False]


def test_one_finding_of_several_pools_is_shown_once(tmp_path: Path) -> None:
    file = tmp_path / "fleet.html"
    document = yaml_data(SPEC)
    more = [{**CHAT, "name": name} for name in ("one", "two", "three")]
    text = yaml.safe_dump({**document, "environment": "prod", "pools": more})
    CliRunner().invoke(explain, ["-", "--html", str(file)], input=text)
    page = unescape(file.read_text(encoding="utf-8"))
    kinds = re.findall(r'<p class="where">([a-z-]+): ', page)
    assert len(kinds) == len(set(kinds))
    assert re.search(r"<code>pools\[0\][^<]*</code>, <code>pools\[1\]", page)


def test_a_fix_is_code(tmp_path: Path) -> None:
    file = tmp_path / "fleet.html"
    text = SPEC.replace("cluster:", "environment: prod\ncluster:", 1)
    CliRunner().invoke(explain, ["-", "--html", str(file)], input=text)
    assert re.search(r"<p>Fix: [^<]*<code>", file.read_text(encoding="utf-8"))
