"""Collectors on stored files: what is expected was read from the files by eye."""

from pathlib import Path
from typing import Any

import pytest

from gpufleet.catalogue import DEFAULT_EDITION, load
from tools.catalogue.publication import (
    Collected,
    UnreadableSourceError,
    figure,
    read_stored,
)
from tools.catalogue.sources import SOURCES

STORED = Path(__file__).parents[2] / "data" / "collected"
BY_KEY = {one.key: one for one in SOURCES}


def collected(generation: str, key: str) -> Collected:
    return BY_KEY[key].collect(read_stored(STORED / generation / key), load(DEFAULT_EDITION))


def rows(generation: str, key: str, table: str, **wanted: str) -> list[dict[str, Any]]:
    found = collected(generation, key).rows.get(table, [])
    return [row for row in found if wanted.items() <= row.items()]


def price(instance: str, buy: str, region: str, usd: str, **more: str) -> dict[str, str]:
    return {"instance": instance, "buy": buy, "region": region, "usd": usd, **more}


def test_every_source_has_two_stored_generations() -> None:
    for generation in ("older", "newer"):
        assert {path.name for path in (STORED / generation).iterdir()} == set(BY_KEY)


def test_karpenter_of_august_does_not_price_g7_and_of_october_does() -> None:
    older = rows("older", "karpenter-aws", "prices-aws")
    assert {row["instance"].partition(".")[0] for row in older} == {"g6", "p5"}
    assert price("p5.48xlarge", "onDemand", "us-east-1", "55.04") in older
    newer = rows("newer", "karpenter-aws", "prices-aws")
    assert [row for row in newer if row not in older] == [
        price("g7.12xlarge", "onDemand", "us-east-1", "7.12832"),
        price("g7.24xlarge", "onDemand", "us-east-1", "14.25664"),
        price("g7.2xlarge", "onDemand", "us-east-1", "2.52"),
        price("g7.48xlarge", "onDemand", "us-east-1", "28.51328"),
        price("g7.4xlarge", "onDemand", "us-east-1", "3.04208"),
        price("g7.8xlarge", "onDemand", "us-east-1", "4.08624"),
    ]


def test_karpenters_bandwidth_of_g7_changed() -> None:
    def network(generation: str) -> dict[str, str]:
        found = rows(generation, "karpenter-aws", "instances-aws")
        return {row["name"]: row["network_gbps"] for row in found if "network_gbps" in row}

    older, newer = network("older"), network("newer")
    assert {name: (older[name], newer[name]) for name in older if older[name] != newer[name]} == {
        "g7.2xlarge": ("60", "40"),
        "g7.4xlarge": ("60", "80"),
        "g7.8xlarge": ("80", "100"),
    }
    assert newer["p5.48xlarge"] == "3200"


def test_karpenters_limits_and_descriptions() -> None:
    found = rows("newer", "karpenter-aws", "instances-aws")
    cards = {row["name"]: row["network_cards"] for row in found if "network_cards" in row}
    assert cards == {"g7.2xlarge": 1, "g7.48xlarge": 2, "p5.48xlarge": 32}
    described = {row["name"]: row for row in found if "vcpu" in row}
    assert described["g6.12xlarge"] == {
        "name": "g6.12xlarge", "architecture": "amd64", "vcpu": 48, "memory_gib": 192,
        "api_count": 4, "local_nvme_gb": 3760, "efa_interfaces": 1,
    }  # fmt: skip
    assert described["p5.48xlarge"]["efa_interfaces"] == 32


def test_aws_price_files_have_linux_on_shared_machines_alone() -> None:
    assert rows("older", "aws-price-files", "prices-aws") == [
        price("g6.48xlarge", "onDemand", "ap-northeast-1", "19.35662")
    ]
    newer = collected("newer", "aws-price-files")
    assert newer.rows["prices-aws"] == [
        price("g6.48xlarge", "onDemand", "ap-northeast-1", "18"),
        price("g6.xlarge", "onDemand", "ap-northeast-1", "1.1672"),
        price("g8.2xlarge", "onDemand", "ap-northeast-1", "3.1"),
    ]
    assert newer.rows["instances-aws"][0] == {
        "name": "g6.48xlarge", "vcpu": 192, "memory_gib": 768, "api_count": 8,
    }  # fmt: skip
    assert newer.types == {"g6.48xlarge", "g6.xlarge", "g8.2xlarge"}


def test_skypilot_spot_is_the_range_of_the_zones_with_a_history() -> None:
    assert rows("older", "skypilot", "prices-aws", buy="spot") == [
        price("g6f.4xlarge", "spot", "ap-northeast-1", "0.3482", usd_high="1.0929"),
        # The second zone lists the on-demand price 1.14076 in four digits, 1.1408.
        price("g6f.4xlarge", "spot", "ap-south-1", "0.2511"),
        price("g6f.4xlarge", "spot", "us-east-1", "0.3937", usd_high="0.427"),
        price("i4i.2xlarge", "spot", "us-east-1", "0.2936"),
    ]
    assert rows("newer", "skypilot", "prices-aws", region="eu-central-1") == [
        *[price("g6e.48xlarge", "onDemand", "eu-central-1", "37.67612")] * 3,
        price("g6e.48xlarge", "spot", "eu-central-1", "12.488", usd_high="14.7643"),
    ]
    assert not rows("newer", "skypilot", "prices-aws", region="ap-northeast-3", buy="onDemand")
    assert rows("newer", "skypilot", "instances-aws")[0] == {
        "name": "g6e.48xlarge", "vcpu": 192, "memory_gib": 1536, "architecture": "amd64",
        "accelerator": "L40S", "count": 8,
    }  # fmt: skip


def test_skypilot_names_the_regions_of_google_and_prices_of_tpus_alone() -> None:
    newer = collected("newer", "skypilot")
    place = {"instance": "ct6e-standard-1t", "region": "us-east5"}
    assert newer.rows["prices-gcp"] == [
        {**place, "buy": "onDemand", "usd": "2.7"},
        {**place, "buy": "spot", "usd": "1.27575"},
    ]
    assert ("a2-highgpu-1g", "europe-west4") in newer.places
    assert ("a2-highgpu-1g", "us-central1") not in collected("older", "skypilot").places


def test_karpenter_of_google() -> None:
    assert rows("older", "karpenter-gcp", "prices-gcp", instance="a3-highgpu-8g") == [
        price("a3-highgpu-8g", "onDemand", "asia-east1", "102.35878"),
        price("a3-highgpu-8g", "spot", "asia-east1", "29.627139"),
    ]
    assert rows("newer", "karpenter-gcp", "prices-gcp", instance="a3-highgpu-1g") == [
        price("a3-highgpu-1g", "onDemand", "asia-east1", "12.794848")
    ]


def test_the_calculator_prices_whole_machines_everywhere() -> None:
    assert BY_KEY["gcp-calculator"].everywhere
    for generation in ("older", "newer"):
        assert rows(generation, "gcp-calculator", "prices-gcp", region="us-south1") == [
            price("a2-highgpu-1g", "onDemand", "us-south1", "4.334594")
        ]
        assert rows(generation, "gcp-calculator", "instances-gcp") == [
            {"name": "a2-highgpu-1g", "vcpu": 12, "memory_gib": 85}
        ]


def test_gpuhunt_gives_machines_with_gpus_by_region() -> None:
    assert rows("older", "gpuhunt", "prices-aws") == [
        price("g6.xlarge", "onDemand", "us-east-1", "0.8048"),
        price("g6.xlarge", "spot", "us-east-1", "0.3051"),
    ]
    assert rows("newer", "gpuhunt", "prices-gcp") == [
        price("g2-standard-4", "onDemand", "europe-west4", "0.778"),
        price("g2-standard-4", "spot", "europe-west4", "0.311"),
    ]


def test_spot_bands_of_the_reference_region() -> None:
    assert rows("older", "aws-spot-advisor", "spot-advisor-aws")[:2] == [
        {"instance": "g4ad.xlarge", "region": "us-east-1", "interruption": "<5%",
         "saving_percent": 67},
        {"instance": "g6e.48xlarge", "region": "us-east-1", "interruption": ">20%",
         "saving_percent": 68},
    ]  # fmt: skip
    newer = rows("newer", "aws-spot-advisor", "spot-advisor-aws", instance="g4ad.xlarge")
    assert newer[0]["interruption"] == "10-15%"
    assert newer[0]["saving_percent"] == 61


def test_capacity_blocks_cost_the_fee_by_machine_and_hour() -> None:
    # 1510.08 / (2 x 24); 1698.60 / (2 x 24); 1604.46 / (2 x 24.5) = 32.744.
    assert rows("older", "capacity-blocks", "prices-aws") == [
        price("p5.48xlarge", "capacityBlock", "us-east-2", "31.46")
    ]
    assert rows("newer", "capacity-blocks", "prices-aws") == [
        price("p5.48xlarge", "capacityBlock", "us-east-2", "31.46", usd_high="35.3875")
    ]


def test_charts_by_their_newest_release() -> None:
    assert rows("older", "charts", "charts") == [
        {"name": "nvidia-device-plugin", "version": "0.14.0", "app_version": "0.14.0",
         "published": "2023-04-03"},
    ]  # fmt: skip
    newer = {row["name"]: row["version"] for row in rows("newer", "charts", "charts")}
    assert newer == {"nvidia-device-plugin": "0.20.1", "kueue": "0.20.0"}


def test_image_and_model() -> None:
    for generation, branch in (("older", "560"), ("newer", "570")):
        assert rows(generation, "eks-ami", "images") == [
            {"key": "al2023-nvidia", "driver_branch": branch}
        ]
    assert rows("newer", "models", "models") == [
        {"name": "Llama-3.3-70B", "layers": 80, "hidden": 8192, "query_heads": 64, "kv_heads": 8,
         "head_dim": 128, "intermediate": 28672, "vocabulary": 128256, "tied_embeddings": False},
    ]  # fmt: skip


def test_the_sdk_lists_names_alone() -> None:
    older, newer = collected("older", "botocore"), collected("newer", "botocore")
    assert not newer.rows
    assert "p6-b200.48xlarge" in older.types
    assert {"g7.2xlarge", "p6-b300.48xlarge"} <= newer.types - older.types


@pytest.mark.parametrize("key", sorted(BY_KEY))
def test_a_damaged_file_is_refused_by_name(key: str, tmp_path: Path) -> None:
    """Each file truncated in its middle: no source gives rows of a half file without an error."""
    source = STORED / "newer" / key
    for name in sorted(path.name for path in source.iterdir() if path.name != "origin.json"):
        folder = tmp_path / name
        folder.mkdir()
        for path in source.iterdir():
            data = path.read_bytes()
            whole = path.name != name
            (folder / path.name).write_bytes(data if whole else data[: len(data) // 2])
        if name.endswith((".yml", ".yaml")):
            continue  # Half of such a text is valid too: a download is complete or refused.
        if name in ("aws.csv", "gcp.csv", "gcp-vms.csv") and _cut_at_line(folder / name):
            continue
        with pytest.raises(UnreadableSourceError) as refused:
            BY_KEY[key].collect(read_stored(folder), load(DEFAULT_EDITION))
        assert name in str(refused.value)


def _cut_at_line(path: Path) -> bool:
    return path.read_bytes().endswith(b"\n")


@pytest.mark.parametrize("key", sorted(BY_KEY))
def test_another_form_is_refused(key: str, tmp_path: Path) -> None:
    """A login page of a proxy in place of each file."""
    for path in (STORED / "newer" / key).iterdir():
        page = "<html><body>Please log in</body></html>\n"
        text = path.read_text(encoding="utf-8") if path.name == "origin.json" else page
        (tmp_path / path.name).write_text(text, encoding="utf-8")
    if key == "models":
        (tmp_path / "Qwen--Qwen3-8B_config.json").write_text("<html>", encoding="utf-8")
    with pytest.raises(UnreadableSourceError):
        BY_KEY[key].collect(read_stored(tmp_path), load(DEFAULT_EDITION))


def test_a_folder_must_say_which_publication_it_is(tmp_path: Path) -> None:
    (tmp_path / "origin.json").write_text('{"version": "v1"}', encoding="utf-8")
    with pytest.raises(UnreadableSourceError, match="2026-10-23"):
        read_stored(tmp_path)


@pytest.mark.parametrize(
    ("value", "text"),
    [("19.3566200000", "19.35662"), (12.0, "12"), (102.358780070575, "102.35878"), ("0.10", "0.1")],
)
def test_figures(value: object, text: str) -> None:
    assert figure(value) == text


@pytest.mark.parametrize("value", ["", "NaN", "inf", "1,5", None])
def test_no_figure(value: object) -> None:
    with pytest.raises(UnreadableSourceError):
        figure(value)
