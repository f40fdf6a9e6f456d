import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gpufleet.cli.output import UnreadableInputError
from gpufleet.cli.partition import command


def run(*arguments: str, given: str | None = None) -> Result:
    return CliRunner().invoke(command, list(arguments), input=given)


def answer(gpu: str, want: str) -> tuple[int, dict[str, Any]]:
    result = run("--gpu", gpu, "--want", want, "--format", "json")
    assert not isinstance(result.exception, Exception), result.exception
    return result.exit_code, json.loads(result.stdout)


def test_placeable() -> None:
    code, document = answer("A100-80GB", '{"1g.10gb": 3, "3g.40gb": 1}')
    assert code == 0
    assert document["placeable"] is True
    assert document["placements"] == [
        {"profile": "1g.10gb", "start": 0, "size": 1},
        {"profile": "1g.10gb", "start": 1, "size": 1},
        {"profile": "1g.10gb", "start": 2, "size": 1},
        {"profile": "3g.40gb", "start": 4, "size": 4},
    ]
    assert document["free"] == {"1g.10gb": 1, "1g.10gb+me": 1}
    assert document["alternatives"] == []
    assert [f["code"] for f in document["findings"]] == ["mig-layout-unfinished"]


def test_how_many_a_machine_holds() -> None:
    result = run("--gpu", "A100-80GB", "--want", "2g.20gb=1", "--gpus", "8", "--format", "json")
    document = json.loads(result.stdout)
    assert (document["gpus"], document["setsPerMachine"]) == (8, 24)
    text = run("--gpu", "A100-80GB", "--want", "2g.20gb=1", "--gpus", "8").stdout
    assert "8 GPUs hold 24 of these sets, 3 on each GPU" in text
    text = run("--gpu", "A100-80GB", "--want", "2g.20gb=1", "--gpus", "1").stdout
    assert "1 GPU holds 3 of these sets" in text


def test_not_placeable() -> None:
    code, document = answer("A100-80GB", '{"1g.10gb": 3, "2g.20gb": 1, "3g.40gb": 1}')
    assert code == 1
    assert document["placeable"] is False
    assert document["placements"] == []
    assert document["free"] == {}
    assert document["alternatives"][0] == {
        "devices": {"1g.10gb": 2, "2g.20gb": 1, "3g.40gb": 1},
        "changes": 1,
        "unusedCompute": 0,
        "unusedMemorySlots": 0,
    }
    assert document["findings"][0]["code"] == "mig-layout-impossible"


@pytest.mark.parametrize(
    ("gpu", "want", "code"),
    [
        ("B200-180GB", '{"2g.40gb": 1}', "mig-profile-unknown"),
        ("A100-80GB", '{"nonsense": 1}', "mig-profile-unknown"),
        ("A100-80GB", '{"1g.10gb": -1}', "mig-count-invalid"),
        ("A100-80GB", '{"1g.10gb": "3"}', "mig-count-invalid"),
        ("A100-80GB", '{"1g.10gb": NaN}', "mig-count-invalid"),
        ("A100-80GB", '{"1g.10gb": 1e999}', "mig-count-invalid"),
        ("A100-80GB", '{"1g.10gb": .inf}', "mig-count-invalid"),
        ("L4", '{"1g.10gb": 1}', "mig-unsupported"),
        ("RTX-PRO-4500-BLACKWELL-32GB", '{"1g.16gb": 1}', "mig-placement-unknown"),
        ("A100", '{"1g.10gb": 1}', "gpu-unknown"),
        ("Z9", '{"1g.10gb": 1}', "gpu-unknown"),
    ],
)
def test_errors_are_findings(gpu: str, want: str, code: str) -> None:
    exit_code, document = answer(gpu, want)
    assert exit_code == 1
    assert document["placeable"] is False
    assert [f["code"] for f in document["findings"]] == [code]


def test_a_resource_name_leads_to_its_profile() -> None:
    _, document = answer("A100-80GB", '{"nvidia.com/mig-1g.10gb.me": 1}')
    (finding,) = document["findings"]
    assert finding["code"] == "mig-profile-unknown"
    assert finding["fix"] == "write `1g.10gb+me`"


@pytest.mark.parametrize(
    ("want", "same"),
    [
        ("3g.40gb=1", '{"3g.40gb": 1}'),
        ("3g.40gb=1,2g.20gb=2", '{"3g.40gb": 1, "2g.20gb": 2}'),
        (" 1g.10gb=3  1g.10gb+me=1 ", '{"1g.10gb": 3, "1g.10gb+me": 1}'),
        ("1c.3g.40gb=2, 2g.20gb=1", '{"1c.3g.40gb": 2, "2g.20gb": 1}'),
        ("7g.80gb=2", '{"7g.80gb": 2}'),
        ("9g.90gb=1", '{"9g.90gb": 1}'),
    ],
)
def test_profile_and_count_are_read_like_the_same_as_json(want: str, same: str) -> None:
    assert answer("A100-80GB", want) == answer("A100-80GB", same)


@pytest.mark.parametrize(
    ("want", "says"),
    [
        ('{"1g.10gb"', "such as 1g.10gb=3"),
        ("[1]", "names no instance with a count"),
        ("{}", "names no instance with a count"),
        ("1g.10gb=0", "names no instance with a count"),
        ('{"1g.10gb": 1, "1g.10gb": 2}', "the key '1g.10gb' is written twice"),
        ("3g.40gb=1,3g.40gb=2", "the key '3g.40gb' is written twice"),
        ("3g.40gb", "such as 1g.10gb=3"),
        ("3g.40gb=", "such as 1g.10gb=3"),
        ("a=1," * 50_000 + "=", "such as 1g.10gb=3"),
        ("[" * 100_000, "nested deeper than 40 levels"),
    ],
)
def test_unreadable_requests(want: str, says: str) -> None:
    result = run("--gpu", "A100-80GB", "--want", want)
    assert isinstance(result.exception, UnreadableInputError)
    assert says in str(result.exception)


def test_the_request_may_come_from_standard_input() -> None:
    result = run("--gpu", "A100-80GB", "--want", "-", given='{"7g.80gb": 1}')
    assert result.exit_code == 0
    assert "can be placed, 7 of 7 compute slices" in result.stdout


def test_text_names_the_nearest_layouts() -> None:
    result = run("--gpu", "A100-80GB", "--want", '{"3g.40gb": 3}')
    assert result.exit_code == 1
    assert "A100-80GB: cannot be placed" in result.stdout
    assert "1 x 3g.40gb + 1 x 4g.40gb  (2 changes," in result.stdout
    assert "3 x 3g.40gb, at most 2 fit on one GPU" in result.stderr


def test_picture(tmp_path: Path) -> None:
    path = tmp_path / "a100.svg"
    result = run("--gpu", "A100-80GB", "--want", '{"7g.80gb": 1}', "--svg", str(path))
    assert result.exit_code == 0
    assert ElementTree.parse(path).getroot().tag.endswith("svg")


def test_picture_that_cannot_be_written(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "a100.svg"
    result = run("--gpu", "A100-80GB", "--want", '{"7g.80gb": 1}', "--svg", str(path))
    assert isinstance(result.exception, UnreadableInputError)
    assert "No such file or directory" in str(result.exception)


@pytest.mark.parametrize(
    ("want", "code"), [("1g.10gb=-1", "mig-count-invalid"), ("1g.10gb=99999999999", None)]
)
def test_a_count_that_cannot_be_is_read_as_a_count(want: str, code: str | None) -> None:
    status, found = answer("A100-80GB", want)
    assert (status, found["placeable"]) == (1, False)
    assert found["findings"][0]["code"] == (code or "mig-layout-impossible")
