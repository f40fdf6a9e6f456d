"""Pictures: what they show, that the same content gives the same bytes, and what is refused."""

from fractions import Fraction
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from click.testing import CliRunner

from gpufleet.catalogue import load
from gpufleet.cli.canvas import COLOURS, PictureError, save
from gpufleet_planner.commands.pack import command as pack_command
from gpufleet_planner.commands.plan import command as plan_command
from gpufleet_planner.packing.pack import pack
from gpufleet_planner.packing.read import read_problem
from gpufleet_planner.packing.request import parse_request
from gpufleet_planner.pictures.packing_picture import (
    MOST_ROWS,
    GpuPart,
    PictureRow,
    packing_picture,
    packing_rows,
    plan_rows,
)
from gpufleet_planner.planning.plan import plan

pytest.importorskip("matplotlib", reason="the extra `planner` is not installed")

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


def words(file: Path) -> str:
    root = ElementTree.fromstring(file.read_text(encoding="utf-8"))
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


def test_commands_write_svg_and_png(tmp_path: Path) -> None:
    svg, png = tmp_path / "a.svg", tmp_path / "a.png"
    arguments = ["-", "--svg", str(svg), "--png", str(png)]
    result = CliRunner().invoke(pack_command, arguments, input=SHARES)
    assert result.exit_code == 0, result.output
    text = words(svg)
    for word in (
        "notebooks 1g.10gb",
        "train",
        "1 of 4 GPUs",
        "1/4",
        "in use",
        "there already: old",
    ):
        assert word in text
    assert "at least" in text
    assert png.read_bytes().startswith(b"\x89PNG")
    before = svg.read_bytes(), png.read_bytes()
    CliRunner().invoke(pack_command, arguments, input=SHARES)
    assert (svg.read_bytes(), png.read_bytes()) == before
    drawn = tmp_path / "plan.svg"
    source = str(EXAMPLES / "slices.yaml")
    assert CliRunner().invoke(plan_command, [source, "--svg", str(drawn)]).exit_code == 0
    assert "pool inference-a100-40gb-mig" in words(drawn)


def test_wrong_endings_and_folders_are_told(tmp_path: Path) -> None:
    result = CliRunner().invoke(pack_command, ["-", "--png", "a.svg"], input=SHARES)
    assert result.exit_code == 2
    assert "--png writes PNG: a.svg should end with .png" in result.output
    figure = packing_picture("t", "s", rows_of(SHARES))
    with pytest.raises(PictureError, match=r"ends with neither \.svg nor \.png"):
        save(figure, str(tmp_path / "a.pdf"))


def test_many_kinds_of_node_and_owners_stay_a_picture(tmp_path: Path) -> None:
    rows = [
        PictureRow(1, f"m{n}", "note", ((GpuPart(Fraction(0), Fraction(1), f"owner{n}", "GPU"),),))
        for n in range(MOST_ROWS + 3)
    ]
    file = tmp_path / "many.svg"
    save(packing_picture("Many", "cost", rows), str(file))
    text = words(file)
    assert "cost; 3 further kinds of node are not drawn" in text
    assert f"{MOST_ROWS - len(COLOURS)} others" in text
    assert f"m{MOST_ROWS - 1}" in text
    assert f"m{MOST_ROWS} " not in text
