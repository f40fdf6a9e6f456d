"""`python -m tools.catalogue`: differences, refused rows, the overlay it writes, what it tells."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gpufleet.catalogue import load
from gpufleet.cli.compile import command as compile_command
from tools.catalogue.command import command

STORED = Path(__file__).parents[2] / "data" / "collected"


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(command, [*map(str, arguments)])


def document(*arguments: str | Path, code: int = 0) -> dict[str, Any]:
    result = run(*arguments, "--format", "json")
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


def changes(found: dict[str, Any]) -> dict[str, Any]:
    """`table row` -> field -> (before, after)."""
    return {
        f"{one['table']} {one['row']}": {
            name: (field["before"], field["after"]) for name, field in one["fields"].items()
        }
        for one in found["changes"]
    }


def stored(tmp_path: Path, **generations: str) -> Path:
    """A stored folder with the named generation of each named source."""
    folder = tmp_path / "stored"
    for name, generation in generations.items():
        key = name.replace("_", "-")
        shutil.copytree(STORED / generation / key, folder / key)
    return folder


OLDER = {
    "prices-aws g6f.4xlarge spot ap-northeast-1": {
        "usd": (None, "0.3482"), "usd_high": (None, "1.0929")},
    "prices-aws g6f.4xlarge spot ap-south-1": {"usd": (None, "0.2511")},
    "prices-aws g6f.4xlarge spot us-east-1": {
        "usd": (None, "0.3937"), "usd_high": (None, "0.427")},
    "prices-aws p5.48xlarge capacityBlock us-east-2": {"usd": (None, "31.46")},
    "prices-gcp a3-highgpu-8g spot asia-east1": {"usd": (None, "29.627139")},
    "prices-gcp g2-standard-4 spot asia-east1": {"usd": (None, "0.31874")},
    "models Llama-3.3-70B": {"layers": (80, 81)},
}  # fmt: skip
NEWER = {
    "prices-aws g6.48xlarge onDemand ap-northeast-1": {"usd": ("19.36206", "18")},
    "prices-aws g6e.48xlarge spot ap-northeast-1": {
        "usd": (None, "8.171"), "usd_high": (None, "8.8851")},
    "prices-aws g6e.48xlarge spot ap-northeast-3": {
        "usd": (None, "20.703"), "usd_high": (None, "20.8658")},
    "prices-aws g6e.48xlarge spot eu-central-1": {
        "usd": (None, "12.488"), "usd_high": (None, "14.7643")},
    "prices-aws p5.48xlarge capacityBlock us-east-2": {
        "usd": (None, "31.46"), "usd_high": (None, "35.3875")},
    "prices-gcp g2-standard-4 onDemand europe-west4": {"usd": ("0.742916", "0.778")},
    "prices-gcp g2-standard-4 spot europe-west4": {"usd": (None, "0.311")},
    "spot-advisor-aws g4ad.xlarge": {
        "interruption": ("<5%", "10-15%"), "saving_percent": (67, 61)},
}  # fmt: skip
"""Differences from edition 2026.11, written from the stored files and the edition's rows."""


@pytest.mark.parametrize(("generation", "expected"), [("older", OLDER), ("newer", NEWER)])
def test_two_generations_differ_from_the_edition_as_their_files_say(
    generation: str, expected: dict[str, Any]
) -> None:
    found = document("--from", STORED / generation)
    assert changes(found) == expected
    assert len(found["sources"]) == 12
    assert not found["findings"]
    assert found["written"] is None


def test_pins_behind_are_named_and_moved_by_nobody(tmp_path: Path) -> None:
    """The older index has 0.14.0, which is not a news."""
    assert document("--from", STORED / "older")["behind"] == []
    behind = document("--from", STORED / "newer")["behind"]
    assert [(one["row"], one["fields"]["version"]["after"]) for one in behind] == [
        ("nvidia-device-plugin", "0.20.1"),
        ("kueue", "0.20.0"),
    ]
    folder = stored(tmp_path, charts="newer")
    result = run("--from", folder, "--out", tmp_path / "out")
    assert "Pin behind: kueue version 0.19.2 -> 0.20.0" in result.output
    assert not (tmp_path / "out").exists()


def test_a_machine_type_that_nobody_describes_is_named() -> None:
    assert document("--from", STORED / "newer")["unknownTypes"] == {
        "g8.2xlarge": "no source states what it carries"
    }


def test_the_newer_generation_since_the_older(tmp_path: Path) -> None:
    """Facts of the older edition are no difference: for the block only its highest price."""
    assert run("--from", STORED / "older", "--out", tmp_path / "older").exit_code == 0
    since = document("--from", STORED / "newer", "--since", tmp_path / "older")
    expected = {
        **NEWER,
        "prices-aws p5.48xlarge capacityBlock us-east-2": {"usd_high": (None, "35.3875")},
    }
    assert changes(since) == expected


def test_karpenters_new_table_gives_what_karpenter_changed(tmp_path: Path) -> None:
    """Compared with an edition that has v1.14.1's facts of the network of G7."""
    older = tmp_path / "older"
    older.mkdir()
    rows = [
        {"cloud": "aws", "name": f"g7.{size}xlarge", "family": "g7", "architecture": "amd64",
         "vcpu": size * 4, "memoryGib": size * 16, "gpu": "RTX-PRO-4500-BLACKWELL-32GB",
         "count": 1, "apiCount": 1, "networkGbps": gbps, "networkCards": 1}
        for size, gbps in ((2, "60"), (4, "60"), (8, "80"))
    ]  # fmt: skip
    text = json.dumps({"date": "2026-08-20", "source": "Karpenter v1.14.1", "instances": rows})
    (older / "g7.json").write_text(text, encoding="utf-8")
    found = document("--from", stored(tmp_path, karpenter_aws="newer"), "--since", older)
    assert changes(found) == {
        "instances-aws g7.2xlarge": {"network_gbps": ("60", "40")},
        "instances-aws g7.4xlarge": {"network_gbps": ("60", "80")},
        "instances-aws g7.8xlarge": {"network_gbps": ("80", "100")},
    }
    assert changes(document("--from", tmp_path / "stored")) == {}


def test_a_contradiction_is_refused_with_both_values(tmp_path: Path) -> None:
    """gpuhunt's 0.8148 of 2026-08-20 against Karpenter's 0.8048 of the same day."""
    folder = stored(tmp_path, karpenter_aws="older", gpuhunt="newer")
    found = document("--from", folder, "--out", tmp_path / "out", code=1)
    (finding,) = found["findings"]
    assert finding["code"] == "catalogue-contradiction"
    assert finding["path"] == "prices-aws.g6.xlarge onDemand us-east-1.usd"
    assert finding["evidence"]["values"] == {"karpenter-aws": "0.8048", "gpuhunt": "0.8148"}
    assert "v1.14.1 of 2026-08-20" in finding["message"]
    assert "20260820 of 2026-08-20" in finding["message"]
    assert found["written"] is None
    assert not (tmp_path / "out").exists()


def test_what_was_refused_can_be_left_out(tmp_path: Path) -> None:
    folder = stored(tmp_path, karpenter_aws="older", gpuhunt="newer")
    out = tmp_path / "out"
    found = document("--from", folder, "--out", out, "--leave-out-refused", code=1)
    assert found["written"] == str(out)
    (file,) = out.iterdir()
    rows = json.loads(file.read_text(encoding="utf-8"))["prices"]
    assert {(row["instance"], row["buy"]) for row in rows} == {
        ("g2-standard-4", "onDemand"),
        ("g2-standard-4", "spot"),
    }


def test_a_more_trusted_and_much_newer_list_contradicts_nothing(tmp_path: Path) -> None:
    """Karpenter's of 2026-10-23 is 64 days newer than gpuhunt's."""
    folder = stored(tmp_path, karpenter_aws="newer", gpuhunt="newer")
    found = document("--from", folder)
    assert not found["findings"]
    assert not [row for row in changes(found) if "g6.xlarge" in row]


def test_the_calculator_counts_where_a_type_is_sold(tmp_path: Path) -> None:
    """It prices africa-south1 and us-south1, which have no A2: no list of zones names them."""
    folder = stored(tmp_path, gcp_calculator="newer", skypilot="newer")
    assert not [row for row in changes(document("--from", folder)) if "south1" in row]
    zones = folder / "skypilot" / "gcp-vms.csv"
    line = "a2-highgpu-1g,12.0,85.0,,,,us-south1,us-south1-a,0.9,0.5\n"
    zones.write_text(zones.read_text(encoding="utf-8") + line, encoding="utf-8")
    found = changes(document("--from", folder))
    assert found["prices-gcp a2-highgpu-1g onDemand us-south1"] == {"usd": (None, "4.334594")}


def test_a_list_price_of_what_is_not_sold_stays_out(tmp_path: Path) -> None:
    """Google's list prices a3-highgpu-1g on demand; it cannot be bought so."""
    assert changes(document("--from", stored(tmp_path, karpenter_gcp="newer"))) == {}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        # Dollars of a month in place of an hour; a spot price above on demand (0.8048).
        ("g6.xlarge,us-east-1,587.5,4,16.0,1,L4,22.0,False,,nvidia,,x86,{}", "5 times off"),
        ("g6.xlarge,us-east-1,0.9,4,16.0,1,L4,22.0,True,,nvidia,,x86,{}", "above on demand"),
        ("g6.xlarge,us-east-1,0.8048,4,1600.0,1,L4,22.0,False,,nvidia,,x86,{}", "1600 GiB for 4"),
    ],
)
def test_a_row_that_cannot_be_true_is_refused(tmp_path: Path, line: str, reason: str) -> None:
    folder = stored(tmp_path, gpuhunt="newer")
    table = folder / "gpuhunt" / "aws.csv"
    head = table.read_text(encoding="utf-8").splitlines()[0]
    table.write_text(f"{head}\n{line}\n", encoding="utf-8")
    today = '{"version": "20261120", "date": "2026-11-20"}'
    (folder / "gpuhunt" / "origin.json").write_text(today, encoding="utf-8")
    (finding,) = document("--from", folder, code=1)["findings"]
    assert finding["code"] == "catalogue-implausible"
    assert reason in finding["message"]


FLEET = """
catalogue: "2026.11"
{overlay}
platform: eks
cluster: {{name: ml, region: ap-northeast-1}}
pools:
  - {{name: chat, instanceTypes: [{type}], nodes: {{min: 1, max: 1}}}}
"""


def compiled(folder: Path, machine: str, overlay: str) -> dict[str, Any]:
    file = folder / "fleet.yaml"
    file.write_text(FLEET.format(type=machine, overlay=overlay), encoding="utf-8")
    answer = CliRunner().invoke(compile_command, [str(file), "--format", "json"])
    assert answer.exit_code == 0, answer.output
    return json.loads(answer.stdout)


def test_an_edition_of_a_refresh_is_an_overlay_that_compile_uses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("--from", STORED / "newer", "--out", "facts").exit_code == 0
    before = compiled(tmp_path, "g6.48xlarge", "")
    after = compiled(tmp_path, "g6.48xlarge", "catalogueOverlay: facts")
    assert "19.36206" in json.dumps(before) or "19362060" in json.dumps(before)
    assert "18000000" in json.dumps(after)
    assert "overlay:aws-price-files.json" in json.dumps(
        [price.source.key for price in _prices("facts", "g6.48xlarge", "onDemand")]
    )
    band = load(overlay="facts").instance("g4ad.xlarge")
    assert (band.spot_interruption, band.spot_saving_percent) == ("10-15%", 61)


def _prices(overlay: str, name: str, buy: str) -> Any:

    return load(overlay=overlay).prices["aws"][name, buy]


def test_a_new_machine_type_compiles_the_day_a_source_describes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A type that no edition has, with a GPU that the edition has."""
    monkeypatch.chdir(tmp_path)
    folder = stored(tmp_path, skypilot="newer")
    table = folder / "skypilot" / "aws-vms.csv"
    lines = table.read_text(encoding="utf-8")
    new = next(line for line in lines.splitlines() if "ap-northeast-1" in line)
    text = new.replace("g6e.48xlarge", "g9e.48xlarge")
    other = text.replace("g9e.48xlarge", "g9x.48xlarge").replace(",L40S,", ",L99,")
    table.write_text(f"{lines}{text}\n{other}\n", encoding="utf-8")
    found = document("--from", folder, "--out", "facts")
    assert "no GPU named 'L99'" in found["unknownTypes"]["g9x.48xlarge"]
    added = [one for one in found["changes"] if one["row"] == "g9e.48xlarge"]
    assert added[0]["kind"] == "added"
    assert added[0]["fields"]["gpu"]["after"] == "L40S"
    fleet = compiled(tmp_path, "g9e.48xlarge", "catalogueOverlay: facts")
    assert "43699120" in json.dumps(fleet)


def test_nothing_is_written_into_a_folder_with_something_in_it(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine.txt").write_text("mine", encoding="utf-8")
    result = run("--from", STORED / "newer", "--out", out)
    assert result.exit_code == 2
    assert "not empty: name a new folder" in result.output
    assert [path.name for path in out.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--out", "no/such/folder"), "there is no folder"),
        (("--out", "x", "--since", "."), "--since only shows"),
        (("--source", "prices.com"), "is not one of"),
        (("--edition", "2019.01"), "there is 2026.11"),
    ],
)
def test_wrong_usage(
    arguments: tuple[str, ...], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("--from", STORED / "newer", *arguments)
    assert result.exit_code == 2
    assert words in " ".join(result.output.split())


def test_a_stored_folder_without_any_source_is_refused(tmp_path: Path) -> None:
    result = run("--from", tmp_path)
    assert result.exit_code == 2
    assert "no source could be read" in result.output


def test_a_source_in_an_unknown_form_is_an_error_and_the_rest_is_shown(tmp_path: Path) -> None:
    folder = stored(tmp_path, karpenter_aws="newer", gpuhunt="newer")
    (folder / "gpuhunt" / "aws.csv").write_text("<html>log in</html>\n", encoding="utf-8")
    found = document("--from", folder, code=1)
    (finding,) = found["findings"]
    assert finding["code"] == "catalogue-source-unreadable"
    assert finding["path"] == "gpuhunt"
    assert [one["key"] for one in found["sources"]] == ["karpenter-aws"]
