"""Renting against buying: by hand, by a simulation of months, and bad files."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from gpufleet.catalogue import load
from gpufleet.cli.output import UnreadableInputError
from gpufleet_planner.commands.own import command
from gpufleet_planner.own.own_or_rent import OwnOrRent, own_or_rent, read_own_hardware
from tests.unit.render.fleets import compiled

ROOT = Path(__file__).parents[3]
CATALOGUE = load()
SPEC = {
    "catalogue": "2026.11",
    "platform": "eks",
    "cluster": {"name": "ml", "region": "us-east-1"},
}
NODES = {"min": 0, "expected": 3, "max": 4}
DOLLARS = Decimal("55.04")
"""p5.48xlarge in us-east-1, on demand (Amazon EC2 price list, row of the catalogue)."""


def pool(**fields: Any) -> dict[str, Any]:
    return {"name": "train", "instanceTypes": ["p5.48xlarge"], **fields}


def compared(hardware: dict[str, Any], **nodes: int) -> OwnOrRent:
    plan, findings = read_own_hardware(hardware, CATALOGUE)
    assert plan is not None, findings
    fleet = compiled("eks", {"train": {"instanceTypes": ["p5.48xlarge"], "nodes": nodes}})
    return own_or_rent(fleet, plan, CATALOGUE)


def machine(**fields: Any) -> dict[str, Any]:
    return {"gpu": "H100-80GB", "gpus": 8, "usd": 300_000, "kw": 10, **fields}


def test_one_machine_for_one_year_by_hand() -> None:
    answer = compared(
        {"machines": [machine()], "years": 1, "usdPerKwh": 0.1, "pue": 1.5}, min=1, max=1
    )
    # 55.04 x 8,766 h; 300,000 + 10 kW x 1.5 x 8,766 h x 0.1.
    assert answer.cloud == DOLLARS * 8766 == Decimal("482480.64")
    assert answer.own == Decimal("313149.0")
    # 300,000 / (482,480.64 / 12 - 13,149 / 12) = 7.67 months.
    assert answer.months_to_even == 8
    assert answer.even_at is not None
    assert round(answer.even_at, 3) == Decimal("0.649")  # 313,149 / 482,480.64


def test_growth_buys_machines_when_they_are_needed() -> None:
    answer = compared({"machines": [machine()], "years": 3, "growth": 1.5}, min=2, max=2)
    assert [(y.gpus, y.machines, y.bought) for y in answer.years] == [
        (16, 2, 600_000),
        (24, 3, 300_000),
        (36, 5, 600_000),
    ]


def test_until_the_machines_run_the_cloud_is_paid() -> None:
    answer = compared({"machines": [machine()], "years": 1, "leadWeeks": 26}, min=1, max=1)
    part = Decimal(26 * 168) / 8766
    assert answer.own == 300_000 + part * DOLLARS * 8766


def test_what_is_left_of_machines_and_interest() -> None:
    hardware = {"machines": [machine()], "years": 2, "residual": 0.5, "interest": 0.1}
    answer = compared(hardware, min=1, max=1)
    assert answer.residual == Decimal(150_000) / Decimal("1.21")
    assert answer.own == 300_000 - answer.residual
    yearly = DOLLARS * 8766
    assert answer.cloud == yearly / Decimal("1.1") + yearly / Decimal("1.21")


def test_expected_nodes_are_rented_and_most_nodes_are_bought() -> None:
    answer = compared({"machines": [machine()], "years": 1}, min=0, expected=1, max=4)
    assert answer.years[0].machines == 4
    assert answer.cloud == DOLLARS * 8766
    stated = compared({"machines": [machine()], "years": 1, "utilisation": 0.5}, min=0, max=4)
    assert stated.cloud == 2 * DOLLARS * 8766


def test_a_pool_that_expects_no_node_has_a_price_at_which_both_cost_the_same() -> None:
    answer = compared({"machines": [machine()], "years": 1}, min=0, expected=0, max=1)
    assert answer.cloud == 0
    assert answer.even_at == 300_000 / (DOLLARS * 8766)


NUMBERS = st.decimals(0, 2, places=2, allow_nan=False)


@settings(max_examples=60, deadline=None)
@given(
    price=st.integers(0, 900_000),
    kw=st.decimals(1, 20, places=1),
    idle=st.decimals(0, 1, places=1),
    kwh=NUMBERS,
    hosting=st.integers(0, 400),
    maintenance=st.decimals(0, 1, places=2),
    people=st.integers(0, 500_000),
    growth=st.decimals("0.5", 2, places=1),
    years=st.integers(1, 6),
    most=st.integers(1, 5),
)
def test_a_simulation_by_months_gives_the_same(
    price: int,
    kw: Decimal,
    idle: Decimal,
    kwh: Decimal,
    hosting: int,
    maintenance: Decimal,
    people: int,
    growth: Decimal,
    years: int,
    most: int,
) -> None:
    row = machine(usd=price, kw=kw, idleKw=idle)
    hardware = {"machines": [row], "years": years, "growth": growth, "usdPerKwh": kwh}
    hardware |= {"usdPerKwMonth": hosting, "maintenance": maintenance, "usdPerYear": people}
    answer = compared(hardware, min=0, expected=1, max=most)
    own = cloud = 0.0
    owned, good_since = 0, None
    for month in range(12 * years):
        need = 8 * most * float(growth) ** (month // 12)
        if month % 12 == 0:
            while owned * 8 < need - 1e-9:
                owned, own = owned + 1, own + price
        busy = -(-need // 1) if abs(need - round(need)) > 1e-9 else round(need)
        load = busy / (owned * 8) / most
        power = float(idle) + load * float(kw - idle)
        own += owned * power * 8766 / 12 * float(kwh) + owned * float(kw) * hosting
        own += owned * price * float(maintenance) / 12 + people / 12
        cloud += float(DOLLARS) * 8766 / 12 * float(growth) ** (month // 12)
        good_since = None if own > cloud + 1e-6 else good_since or month + 1
    assert float(answer.own + answer.residual) == pytest.approx(own)
    assert float(answer.cloud) == pytest.approx(cloud)
    if abs(own - cloud) > 1:
        assert (answer.months_to_even is None) == (good_since is None)


def run(tmp_path: Path, hardware: Any, *options: str) -> Result:
    spec, own = tmp_path / "fleet.yaml", tmp_path / "own.yaml"
    block = {"id": "cr-0123456789abcdef0", "usdPerHour": "40", "zone": "us-east-1a"}
    blocks = [{"capacityBlock": {**block, "until": "2027-06-01T11:30:00Z"}}]
    pools = [
        pool(nodes={"min": 1, "max": 1}),
        pool(name="block", nodes={"min": 1, "max": 1}, capacity=blocks),
        {"name": "small", "instanceTypes": ["g6.xlarge"], "nodes": {"min": 0, "max": 2}},
    ]
    spec.write_text(yaml.safe_dump({**SPEC, "pools": pools}))
    own.write_text(hardware if isinstance(hardware, str) else yaml.safe_dump(hardware))
    return CliRunner().invoke(command, [str(spec), str(own), *options])


def test_pools_that_cannot_be_compared_are_named(tmp_path: Path) -> None:
    result = run(tmp_path, {"machines": [machine()]})
    assert result.exit_code == 0, result.output
    assert "own hardware against the cloud: train, block\n" in result.output
    assert "no machine of the plan has L4: small is not compared" in result.output
    assert "bought at most 8 weeks before it starts: block" in result.output
    assert max(len(line) for line in result.stdout.splitlines()) <= 80


def test_json_has_every_year(tmp_path: Path) -> None:
    result = run(tmp_path, {"machines": [machine()], "years": 3}, "--format", "json")
    answer = json.loads(result.stdout)
    assert [year["year"] for year in answer["comparison"]["years"]] == [1, 2, 3]
    assert {one["code"] for one in answer["findings"]} >= {"own-hardware-of-other-gpus"}


def test_a_wrong_file_gives_every_problem_at_once(tmp_path: Path) -> None:
    wrong = {
        "machines": [machine(gpu="H1000"), machine(idleKw=11), machine(), machine(usd=-1)],
        "yeers": 4,
    }
    result = run(tmp_path, wrong)
    assert result.exit_code == 1
    assert "write years" in result.output
    assert "machines[3].usd" in result.output
    del wrong["yeers"]
    wrong["machines"].pop()
    result = run(tmp_path, wrong)
    for text in ("no GPU named 'H1000'", "11 kW without load is more than 10 kW", "has the GPU"):
        assert text in result.output
    assert isinstance(run(tmp_path, "machines: [").exception, UnreadableInputError)


@pytest.mark.parametrize(
    ("change", "message", "fix"),
    [
        ({"machines": [machine(usd="300k")]}, "machines[0].usd", "write 300000"),
        ({"growth": "30%"}, "growth", "write 1.3"),
        ({"residual": "10%"}, "residual", "write 0.1"),
        ({"residual": 10}, "residual should be at most 1", "write at most 1"),
        ({"usdPerKWh": 1}, "`usdPerKWh` is not a key here", "write usdPerKwh"),
    ],
)
def test_a_slip_gives_one_error_with_what_to_write(
    change: dict[str, Any], message: str, fix: str
) -> None:
    plan, findings = read_own_hardware({"machines": [machine()], **change}, CATALOGUE)
    assert plan is None
    (found,) = findings
    assert message in f"{found.path} {found.message}"
    assert fix in (found.fix or "")


def test_the_example_of_the_page(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "cost.md").read_text("utf-8")
    hardware = page.split("```yaml\n")[1].split("```")[0]
    shown = page.split("    $ gpufleet own fleet.yaml hardware.yaml\n")[1].split("\n\n")[0]
    spec, own = tmp_path / "fleet.yaml", tmp_path / "own.yaml"
    spec.write_text(yaml.safe_dump({**SPEC, "pools": [pool(nodes=NODES)]}))
    own.write_text(hardware)
    result = CliRunner().invoke(command, [str(spec), str(own)])
    assert result.stdout.splitlines() == [line[4:] for line in shown.splitlines()]


def test_nothing_that_could_be_compared_is_no_success(tmp_path: Path) -> None:
    spec, own = tmp_path / "fleet.yaml", tmp_path / "own.yaml"
    spec.write_text(yaml.safe_dump({**SPEC, "pools": [pool(nodes=NODES)]}))
    own.write_text(yaml.safe_dump({"machines": [machine(gpu="L4")], "years": 1}))
    result = CliRunner().invoke(command, [str(spec), str(own)])
    assert result.exit_code == 2
    assert "no pool can be compared" in result.output


@pytest.mark.parametrize(
    ("hardware", "words"),
    [
        ({"machines": 3}, "machines must be a list: 3"),
        ({"machines": [3]}, "machines[0] must be a mapping: 3"),
        ({"machines": [machine(gpu=[])]}, "gpu must be text"),
        ({"machines": [machine(gpus="x")]}, "gpus must be a whole number: 'x'"),
        ({"machines": [machine(gpus=1.5)]}, "gpus must be a whole number: 1.5"),
        ({"machines": [machine(gpus=1e308)]}, "gpus has too many digits: 1e+308"),
        ({"machines": [machine(usd=10**20)]}, "usd has too many digits"),
        ({"machines": [machine(usd={})]}, "usd must be a number"),
        ({"machines": [machine()], "pue": float("inf")}, "pue must be a finite number"),
    ],
)
def test_a_value_of_another_type_is_said_in_words_of_files(
    hardware: dict[str, Any], words: str
) -> None:
    plan, (found,) = read_own_hardware({"years": 1, **hardware}, CATALOGUE)
    assert plan is None
    assert words in found.message
    assert "instance of" not in f"{found.message} {found.fix}"
