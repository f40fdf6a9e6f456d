"""Pictures: what they show, that the same content gives the same bytes, and what is refused."""

import re
from fractions import Fraction
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from click.testing import CliRunner

from gpufleet.catalogue import load
from gpufleet.render.slots_svg import GpuPart
from gpufleet_planner.commands.pack import command as pack_command
from gpufleet_planner.commands.plan import command as plan_command
from gpufleet_planner.packing.pack import pack
from gpufleet_planner.packing.read import read_problem
from gpufleet_planner.packing.request import parse_request
from gpufleet_planner.pictures.packing_picture import (
    MOST_ROWS,
    PictureRow,
    packing_rows,
    packing_svg,
    plan_rows,
)
from gpufleet_planner.planning.plan import plan

EXAMPLES = Path(__file__).parents[3] / "examples" / "plan"
SHARES = """
machines:
  - {name: a100, instanceType: p4de.24xlarge, maxNodes: 2}
  - {name: l4, instanceType: g6.xlarge}
shares:
  - {name: notebooks, count: 9, mig: 1g.10gb}
  - {name: train, count: 1, gpus: 4, memory: 60GiB}
  - {name: dev, count: 3, mps: {part: 0.25, memory: 4GiB}}
existing:
  - {node: old, machine: a100, gpus: [{mig: [{profile: 3g.40gb, start: 4}]}, {whole: true}]}
"""


def rows_of(text: str) -> tuple[PictureRow, ...]:
    request, findings = parse_request(yaml.safe_load(text))
    assert request is not None, findings
    problem, _ = read_problem(request, load())
    assert problem is not None
    return packing_rows(problem, pack(problem))


def words(text: str) -> str:
    root = ElementTree.fromstring(text)
    assert root.tag.endswith("svg")
    return " ".join("".join(node.itertext()) for node in root.iter())


def test_rows_hold_every_share_once_and_nothing_overlaps() -> None:
    rows = rows_of(SHARES)
    owners = [
        block.owner for row in rows for _ in range(row.count) for gpu in row.gpus for block in gpu
    ]
    assert owners.count("notebooks") == 9
    assert owners.count("train") == 4
    assert owners.count("dev") == 3
    assert owners.count(None) == 2
    for gpu in (gpu for row in rows for gpu in row.gpus):
        end = Fraction(0)
        for block in gpu:
            assert block.start >= end
            end = block.start + block.size
        assert end <= 1
    old = next(row for row in rows if row.note == "there already: old")
    assert len(old.gpus) == 8
    assert GpuPart(Fraction(1, 2), Fraction(1, 2), None, "3g.40gb") in old.gpus[0]


@pytest.mark.parametrize("name", ["team", "slices", "sandbox-shared", "sandbox-training"])
def test_a_plan_is_drawn_with_every_workload_on_so_many_devices(name: str) -> None:
    answer = plan(yaml.safe_load((EXAMPLES / f"{name}.yaml").read_text(encoding="utf-8")))
    rows = plan_rows(answer)
    drawn = [
        block.owner for row in rows for _ in range(row.count) for gpu in row.gpus for block in gpu
    ]
    for work in answer.workloads:
        assert drawn.count(work.entry.name) == work.option.devices
    assert sum(row.count for row in rows) == sum(pool.nodes for _, pool in answer.pools)


def test_commands_write_svg(tmp_path: Path) -> None:
    svg = tmp_path / "a.svg"
    arguments = ["-", "--svg", str(svg)]
    result = CliRunner().invoke(pack_command, arguments, input=SHARES)
    assert result.exit_code == 0, result.output
    before = svg.read_text(encoding="utf-8")
    for word in (
        "notebooks 1g.10gb",
        "train",
        "1 of 4 GPUs",
        "1/4",
        "in use",
        "there already: old; GPU 0",
    ):
        assert word in words(before)
    assert "at least" in words(before)
    CliRunner().invoke(pack_command, arguments, input=SHARES)
    assert svg.read_text(encoding="utf-8") == before
    drawn = tmp_path / "plan.svg"
    source = str(EXAMPLES / "slices.yaml")
    assert CliRunner().invoke(plan_command, [source, "--svg", str(drawn)]).exit_code == 0
    assert "pool inference-a100-40gb-mig" in words(drawn.read_text(encoding="utf-8"))


def test_many_kinds_of_node_and_narrow_parts_stay_a_picture() -> None:
    """48 time slices of a GPU have boxes of 16 pixels: no text leaves them."""
    part = Fraction(1, 48)
    gpu = tuple(GpuPart(n * part, part, f"a-long-name-{n % 9}", "1/48") for n in range(48))
    rows = [PictureRow(1, f"m{n}", "note", (gpu,)) for n in range(MOST_ROWS + 3)]
    drawn = packing_svg("Many", "cost", rows)
    assert "cost; 3 further kinds of node are not drawn" in words(drawn)
    assert f">m{MOST_ROWS - 1}<" in drawn
    assert f">m{MOST_ROWS}<" not in drawn
    texts = re.findall(r'<text [^>]*class="used[^>]*>([^<]*)<', drawn)
    assert max(map(len, texts)) <= 3
    assert "<title>a-long-name-8 1/48</title>" in drawn
