"""Energy of GPUs that no pod holds: by hand, from watts and hours."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from gpufleet.catalogue import load
from gpufleet.cli.cost import command as cost
from gpufleet.cli.explain import command as explain

OWN = [{"onPrem": {"usdPerGpuHour": "1"}}]
HOST = {"cpus": 16, "memoryGib": 64, "template": "t"}


def fleet(gpu: str, **pool: Any) -> dict[str, Any]:
    own: dict[str, Any] = {"name": "p", "gpu": gpu, "nodes": {"min": 1, "max": 2}, **pool}
    return {
        "catalogue": "2026.11",
        "platform": "vsphere",
        "cluster": {"name": "lab"},
        "pools": [{"capacity": OWN, "vsphere": HOST, **own}],
    }


def run(tmp_path: Path, spec: dict[str, Any], held: int, resource: str, *more: str) -> Any:
    (tmp_path / "fleet.yaml").write_text(yaml.safe_dump(spec))
    nodes = '{__name__="gpu:node:pool", node="n", pool="p"}'
    pods = (
        '{__name__="gpu:requested:count", namespace="a", pod="b", node="n", '
        f'resource="{resource}"}}'
    )
    lines = [f"{nodes} 1 {moment}000" for moment in (0, 3600, 7200)]
    lines += [f"{pods} {held} {moment}000" for moment in (0, 3600, 7200)]
    (tmp_path / "use.txt").write_text("\n".join(lines))
    files = [str(tmp_path / "use.txt"), "--spec", str(tmp_path / "fleet.yaml")]
    done = CliRunner().invoke(cost, [*files, "--format", "json", *more])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)["idlePower"]


def test_a_node_that_no_pod_uses(tmp_path: Path) -> None:
    # Three hours of one L40S at 33 W.
    (one,) = run(tmp_path, fleet("L40S"), 0, "nvidia_com_gpu", "--usd-per-kwh", "0.2")
    assert one == {
        "pool": "p", "mig": False, "gpuHours": 3.0, "watts": 33, "kwh": 0.099, "usd": 0.02,
    }  # fmt: skip


def test_slices_that_no_pod_holds(tmp_path: Path) -> None:
    # 3 of 7 slices of 1g.5gb: each (1/7 + 1/8) / 2 of the GPU; three hours at 50 W in MIG mode.
    free = 1 - 3 * (1 / 7 + 1 / 8) / 2
    spec = fleet("A100-40GB", sharing={"mig": {"layout": "all-1g.5gb"}})
    (one,) = run(tmp_path, spec, 3, "nvidia_com_mig_1g_5gb")
    assert one["mig"] is True
    assert one["gpuHours"] == pytest.approx(3 * free)
    assert one["kwh"] == round(50 * 3 * free / 1000, 3)
    assert one["usd"] is None


@pytest.mark.parametrize(
    ("gpu", "profile", "watts", "kwh"),
    [("A100-80GB", "grid_a100d-20c", 62, 11.315), ("A100-40GB", "grid_a100-3-20c", 50, 18.25)],
)
def test_a_guest_has_its_part_of_the_gpu(
    tmp_path: Path, gpu: str, profile: str, watts: int, kwh: float
) -> None:
    # A quarter of 62 W, and one of two MIG-backed guests of 50 W, for 730 hours.
    sharing = {"vgpu": {"profile": profile, "licenseSecret": "s"}}
    driver = {"repository": "r.example.com", "version": "580.95.05"}
    addons = {"gpuOperator": {"imagePullSecret": "p", "driver": driver}}
    spec = fleet(gpu, sharing=sharing, vsphere={**HOST, "attachment": "vgpu"})
    (tmp_path / "fleet.yaml").write_text(yaml.safe_dump({**spec, "addons": addons}))
    file = str(tmp_path / "fleet.yaml")
    done = CliRunner().invoke(explain, [file, "--format", "json"])
    (one,) = json.loads(done.stdout)["idlePower"]
    assert (one["watts"], one["kwh"]) == (watts, kwh)


def test_a_gpu_that_is_held_is_not_idle(tmp_path: Path) -> None:
    assert run(tmp_path, fleet("L40S"), 1, "nvidia_com_gpu") == []


def test_a_gpu_without_a_figure_is_not_known_and_not_0(tmp_path: Path) -> None:
    (one,) = run(tmp_path, fleet("L4"), 0, "nvidia_com_gpu", "--usd-per-kwh", "0.2")
    assert (one["watts"], one["kwh"], one["usd"]) == (None, None, None)
    text = CliRunner().invoke(explain, [str(tmp_path / "fleet.yaml")]).stdout
    assert "idle power   not known for L4" in text


def test_a_cloud_has_the_energy_in_its_price(tmp_path: Path) -> None:
    pool = {"name": "p", "instanceTypes": ["p5.48xlarge"], "nodes": {"min": 0, "max": 1}}
    spec = {**fleet("L4"), "platform": "eks", "cluster": {"name": "m", "region": "us-east-1"}}
    spec["pools"] = [pool]
    (one,) = run(tmp_path, spec, 4, "nvidia_com_gpu", "--usd-per-kwh", "0.2")
    assert (one["gpuHours"], one["kwh"], one["usd"]) == (12.0, 0.84, None)
    text = CliRunner().invoke(explain, [str(tmp_path / "fleet.yaml")]).stdout
    assert "8 x 70 W on a node that no pod uses" in text
    assert "in the price of the machine" in text


def test_no_gpu_idles_at_nothing_or_above_its_limit() -> None:
    for gpu in load("2026.11").gpus.values():
        for watts in (gpu.idle_watts(mig=False), gpu.idle_watts(mig=True)):
            assert watts is None or (gpu.tdp_watts is None or 0 < watts < gpu.tdp_watts / 3)
