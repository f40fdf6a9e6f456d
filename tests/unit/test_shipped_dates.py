"""Shipped files preview for months after their date: their windows of capacity are open."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from gpufleet.platforms.compiled import compile_data
from gpufleet.spec.document import fleet_part, read_document

ROOT = Path(__file__).parents[2]
HALF_A_YEAR_ON = datetime(2027, 6, 1, tzinfo=UTC)
"""Counted from the release. A Capacity Block is bought at most eight weeks ahead and for 182 days
(Amazon EC2 user guide, How Capacity Blocks work), so that no honest example ends much later."""
STACKS = sorted((ROOT / "stacks").glob("Pulumi.*.yaml"))


@pytest.mark.parametrize("file", STACKS, ids=lambda file: file.name)
def test_a_shipped_stack_is_open(file: Path) -> None:
    fleet = fleet_part(read_document(file.read_bytes()))
    compiled = compile_data(fleet, at=HALF_A_YEAR_ON)
    ended = [one for one in compiled.findings if one.code.endswith("-ended")]
    assert [one.path for one in ended if one.severity.value == "error"] == []


def test_an_ended_block_is_refused_with_what_to_do() -> None:
    file = ROOT / "stacks" / "Pulumi.eks-prod.yaml"
    fleet = fleet_part(read_document(file.read_bytes()))
    (found,) = [
        one
        for one in compile_data(fleet, at=datetime(2027, 8, 1, tzinfo=UTC)).findings
        if one.code == "capacity-block-ended"
    ]
    assert found.fix is not None
    assert "name a block that has not ended" in found.fix
