"""Machines that no platform provisions, of the providers that the catalogue has."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from gpufleet.catalogue import load
from gpufleet_planner.commands.plan import command as plan_command
from gpufleet_planner.commands.size import command as size_command
from gpufleet_planner.planning.elsewhere import plan_elsewhere
from gpufleet_planner.planning.offers import OfferedMachine, offered_machines

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


def test_a_plan_says_that_nothing_provisions_its_offers(tmp_path: Path) -> None:
    answer = run(tmp_path, WORKLOADS, "--offers", "catalogue")
    assert answer["spec"]["platform"] == "eks"
    assert {plan["place"] for plan in answer["places"]} == {
        "azure", "oci", "coreweave", "lambda", "nebius",
    }  # fmt: skip
    assert not any(plan["platform"] for plan in answer["places"])
    (said,) = [one for one in answer["findings"] if one["code"] == "offer-not-provisioned"]
    assert (
        "no platform of gpufleet provisions azure, coreweave, lambda, nebius, oci"
        in said["message"]
    )
    (nebius,) = [plan for plan in answer["places"] if plan["place"] == "nebius"]
    (machine,) = nebius["machines"]
    assert machine["gpu"] == "L40S"
    assert machine["usdPerHour"] == "1.5484"
    assert machine["workloads"] == ["chat"]


def test_a_plan_on_one_provider_and_what_none_of_its_machines_runs() -> None:
    huge = {**CHAT, "name": "huge", "model": "DeepSeek-V3", "target": {"tokenMs": 1}}
    data = {**WORKLOADS, "workloads": [CHAT, huge]}
    plans, findings = plan_elsewhere(data, offers=["oci"])
    (plan,) = plans
    assert plan.usd_per_hour is None
    assert plan.problem.startswith("huge: nothing keeps tokenMs")
    assert "offer-not-provisioned" in {one.code for one in findings}


def test_an_unknown_name_is_an_error_with_the_nearest(tmp_path: Path) -> None:
    answer = run(tmp_path, WORKLOADS, "--offers", "nebios")
    (wrong,) = [one for one in answer["findings"] if one["code"] == "offers-unknown"]
    assert wrong["fix"] == "write `nebius`"
    assert answer["places"] == []


def test_size_compares_offers_with_machines_of_platforms() -> None:
    options = "--model meta-llama/Llama-3.1-8B --workload inference --context 8192 --batch 8"
    command = [*options.split(), "--offers", "nebius", "--format", "json"]
    answer = json.loads(CliRunner().invoke(size_command, command).stdout)
    platforms = {choice["machine"]["platform"] for choice in answer["choices"]}
    assert {"eks", "gke", "nebius"} <= platforms
    assert "offer-not-provisioned" in {one["code"] for one in answer["findings"]}


@pytest.mark.parametrize("option", [("--offers", "nebius"), ("--regions", "us-east-1")])
def test_an_edition_that_does_not_exist_is_said_once(
    option: tuple[str, str], tmp_path: Path
) -> None:
    answer = run(tmp_path, {**WORKLOADS, "catalogue": "1999.01"}, *option)
    assert [one["code"] for one in answer["findings"]] == ["catalogue-edition-unknown"]
    assert answer["places"] == []
