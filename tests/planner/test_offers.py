"""Machines that no platform provisions: of the catalogue, and of other tools' files."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from gpufleet.catalogue import load
from gpufleet_planner.commands.plan import command as plan_command
from gpufleet_planner.commands.size import command as size_command
from gpufleet_planner.planning.elsewhere import plan_on_offers
from gpufleet_planner.planning.offered import offered_machines
from gpufleet_planner.planning.offers import OfferedMachine

FILES = Path(__file__).parent / "foreign"
CHAT = {
    "name": "chat",
    "workload": "inference",
    "model": "meta-llama/Llama-3.1-8B-Instruct",
    "context": 8192,
    "prompt": 1024,
    "output": 256,
    "batch": 8,
    "target": {"tokenMs": 60, "requestsPerSecond": 1},
}
WORKLOADS: dict[str, Any] = {
    "platform": "eks",
    "cluster": {"name": "ml", "region": "us-east-1"},
    "workloads": [CHAT],
}


def read(*names: str) -> dict[tuple[str, str], OfferedMachine]:
    machines, findings = offered_machines(names, load())
    assert not [one for one in findings if one.severity == "error"]
    return {(machine.name, machine.buy): machine for machine in machines}


def codes(*names: str) -> list[tuple[str, str]]:
    return [(one.code, one.message) for one in offered_machines(names, load())[1]]


def run(tmp_path: Path, data: dict[str, Any], *options: str) -> Any:
    file = tmp_path / "workloads.yaml"
    file.write_text(yaml.safe_dump(data))
    result = CliRunner().invoke(plan_command, [str(file), *options, "--format", "json"])
    return json.loads(result.stdout)


def test_five_providers_have_machines_with_place_date_and_source() -> None:
    offers = load().offers
    assert {offer.provider for offer in offers} == {"azure", "oci", "coreweave", "lambda", "nebius"}
    assert len({(offer.provider, offer.name) for offer in offers}) == len(offers)
    for offer in offers:
        gpu = load().gpu(offer.gpu)
        assert offer.board is None or offer.board in gpu.rates, offer.name
        assert offer.count in (1, 2, 4, 8)
        assert 4 <= offer.vcpu <= 288
        assert 28 <= offer.memory_bytes / 2**30 <= 4096
        assert offer.micro_usd or offer.notes
        for micro in offer.micro_usd.values():
            each = micro / offer.count / 1e6
            assert 0.4 <= each <= 20, (offer.name, each)
    assert sum(bool(offer.micro_usd) for offer in offers) >= 75


def test_prices_do_not_fall_with_more_of_the_same() -> None:
    """Eight of a GPU cost more than one, and less than a dozen."""
    one: dict[tuple[str, str, str | None, str], int] = {}
    for offer in load().offers:
        for region, micro in offer.micro_usd.items():
            key = offer.provider, offer.gpu, offer.board, region
            each = micro // offer.count
            low = one.setdefault(key, each)
            assert low / 2.6 <= each <= low * 2.6, offer.name


def test_a_pcie_board_has_its_own_rates() -> None:
    machines = read("azure", "lambda")
    pcie = machines["Standard_NC24ads_A100_v4", "onDemand"].gpu
    sxm = machines["Standard_ND96amsr_A100_v4", "onDemand"].gpu
    assert pcie.key == sxm.key == "A100-80GB"
    assert pcie.tdp_watts == 300
    assert sxm.tdp_watts == 400
    assert pcie.nvlink_bytes_per_second <= sxm.nvlink_bytes_per_second


def test_files_of_skypilot() -> None:
    machines = read(*(str(FILES / name / "vms.csv") for name in ("nebius", "oci")))
    h100 = machines["gpu-h100-sxm_8gpu-128vcpu-1600gb", "onDemand"]
    assert (h100.platform, h100.region, h100.gpu.key, h100.gpus) == (
        "nebius", "eu-north1", "H100-80GB", 8,
    )  # fmt: skip
    assert (h100.micro_usd, h100.vcpu, h100.memory_bytes) == (23_600_000, 128, 1600 << 30)
    assert machines["gpu-h100-sxm_8gpu-128vcpu-1600gb", "spot"].micro_usd == 10_000_000
    assert ("gpu-l40s-a_1gpu-8vcpu-32gb", "spot") not in machines
    assert machines["BM.GPU4.8", "onDemand"].gpu.key == "A100-40GB"
    assert machines["BM.GPU.A100-v2.8", "onDemand"].gpu.key == "A100-80GB"
    assert machines["VM.GPU3.1", "spot"].gpu.key == "V100-16GB"
    assert machines["BM.GPU.MI300X.8", "onDemand"].gpu.vendor == "amd"
    assert not any(name.startswith(("cpu", "VM.Standard")) for name, _ in machines)


def test_a_count_that_the_catalogue_contradicts_is_left_out_and_named() -> None:
    """SkyPilot's Azure file gives 12 GPUs where Microsoft's page has 8."""
    file = str(FILES / "azure" / "vms.csv")
    machines = read(file)
    assert ("Standard_ND96isr_H100_v5", "onDemand") not in machines
    assert machines["Standard_NC24ads_A100_v4", "onDemand"].micro_usd == 3_673_000
    assert machines["Standard_NC24ads_A100_v4", "onDemand"].region == "eastus"
    assert machines["Standard_ND96asr_v4", "onDemand"].gpu.key == "A100-40GB"
    found = dict(codes(file))
    assert "12 GPUs there and 8 in the catalogue" in found["offers-contradict-catalogue"]
    assert "2 of Radeon MI25" in found["offers-left-out"]


def test_a_file_of_gpuhunt() -> None:
    machines = read(str(FILES / "gpuhunt.csv"))
    assert {name for name, _ in machines} == {"i1", "i2", "i3", "i4"}
    four = machines["i3", "onDemand"]
    assert (four.platform, four.gpu.key, four.gpus, four.micro_usd) == (
        "gpuhunt",
        "A10",
        4,
        2_000_000,
    )


def test_json_of_both_tools(tmp_path: Path) -> None:
    """The fields of gpuhunt's CatalogItem and of SkyPilot's InstanceTypeInfo."""
    hunt = {
        "instance_name": "gpu_8x_h100_sxm5", "location": "us-east-1", "gpu_name": "H100",
        "gpu_count": 8, "price": 31.92, "spot": False, "cpu": 208, "memory": 1800.0,
        "gpu_memory": 80.0, "provider": "lambda",
    }  # fmt: skip
    sky = {
        "cloud": "OCI", "instance_type": "BM.GPU.H200.8", "accelerator_name": "H200",
        "accelerator_count": 8, "cpu_count": 224, "device_memory": 141.0, "memory": 3072,
        "price": 80.0, "spot_price": float("nan"), "region": "us-ashburn-1",
    }  # fmt: skip
    (tmp_path / "hunt.json").write_text(json.dumps([hunt]))
    (tmp_path / "sky.json").write_text(json.dumps({"H200": [sky]}))
    machines = read(str(tmp_path / "hunt.json"), str(tmp_path / "sky.json"))
    assert [(name, buy) for name, buy in machines] == [
        ("gpu_8x_h100_sxm5", "onDemand"),
        ("BM.GPU.H200.8", "onDemand"),
    ]
    assert {machine.platform for machine in machines.values()} == {"lambda", "oci"}


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ((FILES / "aiconfigurator.json").read_text(), "AIConfigurator have rates of GPUs"),
        ("a,b\n1,2\n", "found a, b"),
        ("[1, 2", "neither CSV nor JSON"),
        ("", "no rows"),
        ("[" * 100_000, "neither CSV nor JSON"),
    ],
)
def test_a_file_without_offers_is_refused(tmp_path: Path, text: str, part: str) -> None:
    file = tmp_path / "offers.json"
    file.write_text(text)
    _, (finding,) = offered_machines([str(file)], load())
    assert finding.code == "offers-unreadable"
    assert part in f"{finding.message} {finding.fix}"


@pytest.mark.parametrize("price", ["inf", "-1", "1e9", "free", "1_000"])
def test_rows_that_cannot_be_read_are_counted(tmp_path: Path, price: str) -> None:
    head = "instance_name,location,price,cpu,memory,gpu_count,gpu_name,gpu_memory,spot\n"
    file = tmp_path / "x.csv"
    file.write_text(f"{head}a,us,{price},8,64,1,A10,24,False\nb,us,0.5,8,64,1,A10,24,False\n")
    if price == "1_000":
        assert len(read(str(file))) in (1, 2)
        return
    assert [name for name, _ in read(str(file))] == ["b"]
    assert "1 that cannot be read" in codes(str(file))[0][1]


def test_the_stated_size_decides_between_gpus_of_one_name(tmp_path: Path) -> None:
    head = "instance_name,location,price,cpu,memory,gpu_count,gpu_name,gpu_memory,spot\n"
    sizes = {"A100": 80, "GH200": 96, "H100": 94, "B300": 288, "V100": 32, "H200": 80}
    rows = "".join(f"{name}-box,us,2,8,64,1,{name},{gb},False\n" for name, gb in sizes.items())
    (tmp_path / "x.csv").write_text(head + rows)
    keys = {name: machine.gpu.key for (name, _), machine in read(str(tmp_path / "x.csv")).items()}
    assert keys == {
        "A100-box": "A100-80GB",
        "GH200-box": "H100-96GB",
        "H100-box": "H100-94GB",
        "B300-box": "B300-269GB",
        "V100-box": "V100-32GB",
    }


def test_a_plan_says_that_nothing_provisions_its_offers(tmp_path: Path) -> None:
    answer = run(tmp_path, WORKLOADS, "--offers", "catalogue")
    assert answer["spec"]["platform"] == "eks"
    assert {plan["provider"] for plan in answer["offers"]} == {
        "azure", "oci", "coreweave", "lambda", "nebius",
    }  # fmt: skip
    spent = [float(plan["usdPerHour"]) for plan in answer["offers"]]
    assert spent == sorted(spent)
    assert not any(plan["provisioned"] for plan in answer["offers"])
    (said,) = [one for one in answer["findings"] if one["code"] == "offer-not-provisioned"]
    assert (
        "no platform of gpufleet provisions azure, coreweave, lambda, nebius, oci"
        in said["message"]
    )
    (nebius,) = [plan for plan in answer["offers"] if plan["provider"] == "nebius"]
    (machine,) = nebius["machines"]
    assert machine["gpu"] == "L40S"
    assert machine["usdPerHour"] == "1.5484"
    assert machine["workloads"] == ["chat"]


def test_a_plan_on_a_file_and_what_no_offer_runs(tmp_path: Path) -> None:
    huge = {**CHAT, "name": "huge", "model": "DeepSeek-V3", "target": {"tokenMs": 50}}
    data = {**WORKLOADS, "workloads": [CHAT, huge]}
    plans, findings = plan_on_offers(data, [str(FILES / "gpuhunt.csv")])
    (plan,) = plans
    assert plan.usd_per_hour is None
    assert list(plan.lost) == ["huge"]
    assert "offer-not-provisioned" in {one.code for one in findings}


def test_spot_machines_of_a_file_are_for_what_may_be_interrupted() -> None:
    names = [str(FILES / "nebius" / "vms.csv")]
    kept = plan_on_offers(WORKLOADS, names)[0][0].pools[0].key.machine
    lost = {**WORKLOADS, "workloads": [{**CHAT, "interruptible": True}]}
    taken = plan_on_offers(lost, names)[0][0].pools[0].key.machine
    assert (kept.buy, taken.buy) == ("onDemand", "spot")


def test_an_unknown_name_is_an_error_with_the_nearest(tmp_path: Path) -> None:
    answer = run(tmp_path, WORKLOADS, "--offers", "nebios")
    (wrong,) = [one for one in answer["findings"] if one["code"] == "offers-unknown"]
    assert wrong["fix"] == "write nebius"
    assert answer["offers"] == []


def test_size_compares_offers_with_machines_of_platforms() -> None:
    options = "--model meta-llama/Llama-3.1-8B --workload inference --context 8192 --batch 8"
    command = [*options.split(), "--offers", "nebius", "--format", "json"]
    answer = json.loads(CliRunner().invoke(size_command, command).stdout)
    platforms = {choice["machine"]["platform"] for choice in answer["choices"]}
    assert {"eks", "gke", "nebius"} <= platforms
    assert "offer-not-provisioned" in {one["code"] for one in answer["findings"]}
