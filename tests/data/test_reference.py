"""Edition 2026.11 compared with its source tables, if they are in a folder next to the repository.

No value of a table may be lost: every column is compared, by other code than that which wrote the
edition.
"""

import csv
import json
import re
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from gpufleet.catalogue import Catalogue, InstanceType, PriceStatus, load
from tests.data.corrections import (
    ADDED_GPUS,
    ADDED_MODELS,
    ADDED_TYPES,
    CORRECTED,
    FURTHER_SOURCES,
    same,
)
from tests.reading import yaml_data

REFERENCE = Path(__file__).resolve().parents[2].parent / "shared" / "reference"


def needs(name: str) -> Path:
    """The file, or a visible skip."""
    path = REFERENCE / name
    if not path.is_file():
        pytest.skip(f"the collected table {name} is not next to the repository")
    return path


def table(name: str) -> list[dict[str, str]]:
    with needs(name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return load("2026.11")


def number(text: str) -> Decimal | None:
    return Decimal(text) if text else None


def check_common(row: InstanceType, line: Mapping[str, str], catalogue: Catalogue) -> None:
    assert row.family == line["family"]
    assert row.architecture == line["arch"]
    assert row.vcpu == number(line["vcpu"])
    memory = number(line["memory_gib"])
    assert row.memory_bytes == (None if memory is None else memory * 2**30)
    gpu = catalogue.gpu(row.accelerator.gpu)
    vendors = {"nvidia": "NVIDIA", "aws": "AWS", "amd": "AMD", "google": "Google",
               "habana": "Habana", "qualcomm": "Qualcomm", "xilinx": "Xilinx"}  # fmt: skip
    assert vendors[gpu.vendor] == line["accelerator_vendor"]
    if same(row.name, "count"):
        assert row.accelerator.count == number(line["accelerator_count"])
    assert row.accelerator.fraction == Fraction(line["accelerator_fraction"] or "1")
    assert row.accelerator.interconnect == (line["interconnect"] or None)
    capability = line["compute_capability"]
    if capability:
        assert gpu.compute_capability is not None
        assert ".".join(map(str, gpu.compute_capability)) == capability


def test_no_aws_type_is_missing_or_added(catalogue: Catalogue) -> None:
    names = {line["name"] for line in table("instances_aws.csv")}
    assert (
        names
        == {row.name for row in catalogue.instances.values() if row.cloud == "aws"} - ADDED_TYPES
    )


def test_no_google_type_is_missing_or_added(catalogue: Catalogue) -> None:
    names = {line["name"] for line in table("instances_gcp.csv")}
    assert (
        names
        == {row.name for row in catalogue.instances.values() if row.cloud == "gcp"} - ADDED_TYPES
    )


SOURCED_SINCE = {"p6e-gb200.36xlarge", "trn2.3xlarge", "trn2u.48xlarge"}
"""Machine types of which the reference has the name alone; their rows have another source."""


def test_aws_rows_keep_every_column(catalogue: Catalogue) -> None:
    for line in table("instances_aws.csv"):
        row = catalogue.instance(line["name"])
        if line["name"] in SOURCED_SINCE:
            assert not line["vcpu"]
            assert row.source.key == "ec2-accelerated"
            continue
        check_common(row, line, catalogue)
        assert row.accelerator.api_count == number(line["api_gpu_count"])
        each = line["gpu_memory_gib_each"]
        if each:
            assert row.accelerator.memory_bytes is not None
            assert row.accelerator.memory_bytes / 2**30 == pytest.approx(float(each), abs=0.006)
        else:
            assert row.accelerator.memory_bytes is None
        assert row.accelerator.nominal_gb == number(line["gpu_memory_nominal_gb_each"])
        if same(row.name, "network"):
            assert row.network_gbps == number(line["network_gbps"])
            assert row.network_cards == number(line["network_cards"])
        if same(row.name, "efa"):
            assert row.efa_interfaces == number(line["efa_interfaces"])
        disk = number(line["local_nvme_gb"])
        if same(row.name, "disk"):
            assert row.local_nvme_bytes == (None if disk is None else disk * 10**9)
        if same(row.name, "notes"):
            assert row.notes == line["notes"]
        if not same(row.name, "spot_advisor"):
            continue
        assert row.spot_interruption == (line["spot_interruption_band_us_east_1_2025_06"] or None)
        assert row.spot_saving_percent == number(line["spot_saving_pct_us_east_1_2025_06"])


def test_aws_prices_keep_figure_region_and_date(catalogue: Catalogue) -> None:
    for line in table("instances_aws.csv"):
        row = catalogue.instance(line["name"])
        if same(row.name, "on_demand"):
            assert row.on_demand.usd_per_hour == number(line["on_demand_usd_h"])
        if row.on_demand.offer is PriceStatus.PRICED:
            assert row.on_demand.region == line["on_demand_region"]
            assert row.on_demand.source.date.isoformat() == line["on_demand_date"]
        if not same(row.name, "spot"):
            continue
        assert row.spot.usd_per_hour == number(line["spot_usd_h_min"])
        if row.spot.offer is PriceStatus.PRICED:
            assert row.spot.region == line["spot_region"]
            assert catalogue.sources[row.spot.source.key].undated == (
                "undated" in line["spot_date"]
            )
            high = row.spot.high_micro_usd_per_hour
            if line["spot_usd_h_max"] in {line["spot_usd_h_min"], line["on_demand_usd_h"]}:
                assert high is None
            else:
                assert high == Decimal(line["spot_usd_h_max"]) * 10**6


def test_google_rows_keep_every_column(catalogue: Catalogue) -> None:
    for line in table("instances_gcp.csv"):
        row = catalogue.instance(line["name"])
        check_common(row, line, catalogue)
        assert row.gke_accelerator_type == (line["gke_accelerator_type"] or None)
        assert row.accelerator.nominal_gb == number(line["gpu_memory_gb_each"])
        if same(row.name, "network"):
            assert row.network_gbps == number(line["network_gbps_max"])
        assert row.nic_layout == (line["gpu_nic_layout"] or None)
        assert row.gpudirect == (line["gpudirect"] or None)
        disk = number(line["local_ssd_gib"])
        assert row.local_nvme_bytes == (None if disk is None else disk * 2**30)
        included = line["local_ssd_in_price"]
        assert row.local_ssd_in_price == (included.startswith("yes") if included else None)
        if row.host_limit is None:
            assert line["attachable"] == "fixed"
        else:
            limit = (
                f"at most {row.host_limit.vcpu} vCPU and {row.host_limit.memory_bytes // 10**9} GB"
            )
            assert line["attachable"].endswith(limit)
        sizes = re.findall(r"(\S+)\((\d+)\)", line["mig_partition_sizes"])
        assert row.gke_partition_sizes == {name: int(count) for name, count in sizes}
        if same(row.name, "network") and not row.attachable:
            assert_notes_are_kept(row, line["notes"])


def assert_notes_are_kept(row: InstanceType, note: str) -> None:
    """A note about a list price became a field of the price; all others are there word for word."""
    if "list price" in note:
        assert row.on_demand.list_micro_usd_per_hour is not None
    else:
        assert note in row.notes


def test_google_prices_keep_figure_region_and_date(catalogue: Catalogue) -> None:
    for line in table("instances_gcp.csv"):
        row = catalogue.instance(line["name"])
        listed = row.on_demand.list_micro_usd_per_hour or row.on_demand.micro_usd_per_hour
        if line["on_demand_usd_h"]:
            assert listed == Decimal(line["on_demand_usd_h"]) * 10**6
            assert row.on_demand.region == line["on_demand_region"]
            assert row.on_demand.source.date.isoformat() == line["price_date"]
        if not same(row.name, "spot"):
            continue
        assert row.spot.usd_per_hour == number(line["spot_usd_h"])
        if row.spot.offer is PriceStatus.PRICED:
            assert row.spot.region == line["spot_region"]
            undated = catalogue.sources[row.spot.source.key].undated
            assert undated or row.spot.source.date.isoformat() == line["price_date"]
            assert undated == ("undated" in line["price_date"])


def test_google_purchase_options_say_what_the_table_says(catalogue: Catalogue) -> None:
    words = {"spot": "spot", "reservation": "reserved", "flex-start": "flexStart"}
    for line in table("instances_gcp.csv"):
        row = catalogue.instance(line["name"])
        text = line["purchase_options"]
        for word, option in words.items():
            if word in text:
                assert option in row.purchase_options, row.name
        plain = "on-demand" in text and "not plain on-demand" not in text
        if text:
            assert ("onDemand" in row.purchase_options) == plain, row.name


def reference_mig() -> dict[str, Any]:
    return json.loads(needs("mig_profiles.json").read_text(encoding="utf-8"))


def test_mig_rows_keep_every_figure(catalogue: Catalogue) -> None:
    reference = reference_mig()
    known = [key for key in catalogue.geometries if key not in ADDED_GPUS]
    assert [g["key"] for g in reference["gpus"]] == known
    for line in reference["gpus"]:
        gpu = catalogue.gpu(line["key"])
        mig = catalogue.geometries[line["key"]]
        assert (mig.compute_slices, mig.memory_slots) == (
            line["compute_slices"],
            line["memory_slots"],
        )
        assert mig.shape == line["geometry"]
        assert mig.balanced == line["balanced"]
        assert mig.known == line["status"]
        newer = CORRECTED.get((gpu.key, "min_driver"))
        # Which of its sources a row names first: one that a reader can find.
        own = {mig.source.key, *mig.source.also} - {newer}
        assert own == {*line["sources"], *FURTHER_SOURCES.get(gpu.key, ())} - {newer}
        if newer is None:
            assert mig.min_driver == line.get("min_driver")
        assert mig.reset_needed == line["mode_switch"].startswith("GPU reset")
        if same(gpu.key, "boards"):
            assert gpu.pci_boards == {d["id"]: d["name"] for d in line["pci_device_ids"]}
            assert set(line["product_names"]) <= set(gpu.product_names)
        assert gpu.architecture == line["architecture"]
        other_names = [n for a in line.get("alternate_profile_names", []) for n in a["names"]]
        assert set(mig.alternate_names) == set(other_names)
        for note in line.get("notes", []):
            assert note.rstrip(".") in mig.notes
        assert list(mig.profiles) == [p["name"] for p in line["profiles"]]
        for wanted in line["profiles"]:
            check_profile(catalogue, line["key"], wanted)


def check_profile(catalogue: Catalogue, key: str, wanted: dict[str, Any]) -> None:
    found = catalogue.geometries[key].profiles[wanted["name"]]
    assert found.resource == wanted["resource"]
    assert found.profile_id == wanted["nvidia_smi_profile_id"]
    assert found.compute_slices == wanted["compute_slices"]
    assert found.memory_slots == wanted["placement"]["size"]
    assert list(found.starts) == wanted["placement"]["starts"]
    assert found.max_instances == wanted["max_instances"]
    assert found.nominal_gb == wanted["nominal_memory_gb"]
    assert found.multiprocessors == wanted["sm_count"]
    if same(key, f"{found.name} engines"):
        assert found.engines == wanted.get("engines", {})
    assert found.min_driver == wanted.get("min_driver")
    assert found.evidence.value.replace("-", " ") == wanted["placement_status"]
    newer = CORRECTED.get((key, f"{found.name} memory"))
    own = {found.source.key, *found.source.also} - {newer}
    assert own == {*wanted["placement_sources"]} - {newer}
    assert found.notes == wanted.get("notes", "")
    usable = wanted["usable_memory_gib"]
    if not same(key, f"{found.name} memory"):
        return
    if usable is None:
        assert found.usable_bytes is None
    else:
        assert found.usable_bytes is not None
        assert found.usable_bytes / 2**30 == pytest.approx(usable, abs=0.05)


def test_gpus_without_placements_keep_their_published_profiles(catalogue: Catalogue) -> None:
    for line in reference_mig()["incomplete"]:
        gpu = catalogue.gpu(line["key"])
        assert gpu.mig is None
        assert gpu.mig_unknown
        published = {p["name"]: p.get("max_instances") for p in line["profiles"]}
        assert gpu.mig_published == published


def csv_in(text: str, heading: str) -> list[dict[str, str]]:
    """The first CSV block of a section; the last column may hold commas."""
    block = text.split(heading, 1)[1].split("```csv\n", 1)[1].split("```", 1)[0]
    lines = block.strip().splitlines()
    names = lines[0].split(",")
    return [dict(zip(names, line.split(",", len(names) - 1), strict=True)) for line in lines[1:]]


def test_models_keep_every_column(catalogue: Catalogue) -> None:
    rows = csv_in(needs("rightsizing.md").read_text(encoding="utf-8"), "## 6. Model table")
    renamed = {"Llama-3.1/3.3-70B": "Llama-3.3-70B", "DeepSeek-V3/R1": "DeepSeek-R1"}
    for row in rows:
        model = catalogue.model(renamed.get(row["model"], row["model"]))
        shape = (model.layers, model.hidden, model.query_heads, model.intermediate)
        assert shape == tuple(int(row[name]) for name in ("L", "h", "n_q", "I")), model.name
        assert model.vocabulary == int(row["V"])
        assert model.tied_embeddings == (row["tied"] == "1")
        assert model.kv_heads == (None if row["n_kv"] == "-" else int(row["n_kv"]))
        assert model.head_dim == (None if row["d"] == "-" else int(row["d"]))
        if same(model.name, "parameters"):
            assert model.parameters == Decimal(row["N_B"]) * 10**9
        if same(model.name, "active"):
            assert model.active_parameters == Decimal(row["N_act_B"]) * 10**9
        assert model.kv_bytes_per_token == int(row["kv_B_per_token_bf16"])
    assert len(set(catalogue.models) - ADDED_MODELS) == len(rows) + len(renamed)


GPU_ROWS = {
    "T4": "T4", "V100-SXM2-16/32": "V100-16GB", "A10": "A10", "A10G": "A10G", "A30": "A30-24GB",
    "A100-SXM-40": "A100-40GB", "A100-PCIe-40": "A100-40GB", "A100-SXM-80": "A100-80GB",
    "A100-PCIe-80": "A100-80GB", "L4": "L4", "L40S": "L40S", "H100-SXM": "H100-80GB",
    "H100-PCIe": "H100-80GB", "H100-NVL": "H100-94GB", "H200-SXM": "H200-141GB",
    "H200-NVL": "H200-141GB", "GH200-96": "H100-96GB", "GH200-144": "GH200-144GB",
    "B200": "B200-180GB", "GB200": "GB200-186GB", "B300": "B300-269GB",
    "RTX-PRO-6000-Server": "RTX-PRO-6000-BLACKWELL-96GB",
}  # fmt: skip


def test_rates_are_those_of_the_table(catalogue: Catalogue) -> None:
    rows = csv_in(needs("rightsizing.md").read_text(encoding="utf-8"), "## 4. GPU table")
    seen = 0
    for row in rows:
        if row["gpu"] not in GPU_ROWS:
            continue
        seen += 1
        gpu = catalogue.gpu(GPU_ROWS[row["gpu"]])
        if not same(gpu.key, "rates"):
            continue
        boards = {"PCIe": "pcie", "NVL": "nvl", "SXM": "sxm"}
        board = next((b for word, b in boards.items() if word in row["gpu"]), None)
        rates = gpu.rates[board] if board else next(iter(gpu.rates.values()))
        assert rates.memory_bandwidth == int(row["bw_gbs"].split(" ")[0]) * 10**9
        for name in ("tf32", "bf16", "fp8", "int8", "fp4"):
            figure = re.match(r"[\d.]+(?=$|-)", row[name])
            found = getattr(rates, name)
            assert found == (Decimal(figure[0]) * 10**12 if figure else None), (gpu.key, name)
        if "FP16 only" in row["bf16"]:
            assert rates.fp16 == int(row["bf16"].split(" ")[0]) * 10**12
        nvlink = int(row["nvlink_gbs"].split(" ")[0])
        assert rates.nvlink_bytes_per_second == nvlink * 10**9
        assert rates.nvlink_bridge == ("bridge" in row["nvlink_gbs"])
    assert seen == len(GPU_ROWS)


@pytest.mark.parametrize(
    ("file", "chart"),
    [
        ("nvidia-device-plugin-0.20.0", "nvidia-device-plugin"),
        ("network-operator-26.4.1", "network-operator"),
        ("dra-driver-nvidia-gpu-0.5.0", "dra-driver-nvidia-gpu"),
        ("dcgm-exporter-4.8.2", "dcgm-exporter"),
        ("kueue-0.19.2", "kueue"),
        ("keda-2.20.2", "keda"),
        ("prometheus-adapter-5.3.0", "prometheus-adapter"),
    ],
)
def test_chart_pins_are_those_of_the_charts(catalogue: Catalogue, file: str, chart: str) -> None:

    upstream = yaml_data(needs(f"charts/{file}.Chart.yaml").read_text(encoding="utf-8"))
    pin = catalogue.chart(chart)
    assert pin.version == str(upstream["version"])
    assert pin.app_version == str(upstream["appVersion"])
    wanted = {d["name"]: d["version"] for d in upstream.get("dependencies", [])}
    assert pin.dependencies == wanted
    minimum = re.search(r"\d+\.\d+", upstream.get("kubeVersion", ""))
    if minimum:
        assert pin.min_kubernetes == minimum[0]
