"""Rules under the real promtool: each alert fires where it should, and is silent elsewhere.

One run of promtool validates all cases: a fleet's rule file, and a unit test file written from the
table below.
"""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpufleet.render.alerts import alerts
from gpufleet.render.dashboards import dashboards
from gpufleet.render.rule_groups import rule_groups
from tests.engine.conftest import require
from tests.unit.render.dashboard_queries import queries
from tests.unit.render.fleets import TEAMS, compiled

pytestmark = [pytest.mark.sandbox]

POOLS: dict[str, dict[str, Any]] = {
    "chat": {
        "gpu": "L4",
        "nodes": {"min": 2, "max": 2},
        "sharing": {"timeSlicing": {"replicas": 4}},
    },
    "guests": {
        "gpu": "H100-80GB",
        "nodes": {"min": 0, "max": 2},
        "sharing": {"vgpu": {"profile": "H100-20C", "licenseSecret": "licence"}},
        "vsphere": {"cpus": 8, "memoryGib": 64, "template": "gpu", "attachment": "vgpu"},
    },
}
"""One pool of a constant size, one that grows, one of vGPU guests."""

GPU = 'gpu="0", UUID="GPU-1", modelName="NVIDIA L4", Hostname="n1"'
HELD = f'{GPU}, exported_namespace="lab", exported_pod="train"'
REQUEST = 'kube_pod_container_resource_requests{namespace="lab", pod="train", container="c"'
MINUTES = 480


def constant(series: str, value: float, minutes: int = MINUTES) -> dict[str, str]:
    return {"series": series, "values": f"{value}x{minutes}"}


def phase(value: str, namespace: str = "lab", pod: str = "train") -> dict[str, str]:
    labels = f'namespace="{namespace}", pod="{pod}", phase="{value}"'
    return constant(f"kube_pod_status_phase{{{labels}}}", 1)


def allocatable(resource: str, amount: int, node: str = "n1") -> dict[str, str]:
    return constant(f'kube_node_status_allocatable{{node="{node}", resource="{resource}"}}', amount)


def growing(series: str, start: int, jump_at: int, by: int) -> dict[str, str]:
    """A counter that stands still, and jumps once."""
    return {"series": series, "values": f"{start}x{jump_at} {start + by}x{MINUTES - jump_at}"}


SHARED = "nvidia_com_gpu_shared"
QUOTA = 'kueue_cluster_queue_nominal_quota{cluster_queue="a", resource="nvidia.com/gpu.shared"}'
CASES: dict[str, tuple[list[dict[str, str]], list[dict[str, str]], str]] = {
    # alert: (series that make it fire, series that do not, when it is asked)
    "GpuXid": (
        [constant(f'DCGM_EXP_XID_ERRORS_COUNT{{{GPU}, xid="79"}}', 1)],
        [constant(f'DCGM_EXP_XID_ERRORS_COUNT{{{GPU}, xid="31"}}', 4)],
        "10m",
    ),
    "GpuUncorrectedBitErrors": (
        [growing(f"DCGM_FI_DEV_ECC_DBE_VOL_TOTAL{{{GPU}}}", 3, 30, 1)],
        [constant(f"DCGM_FI_DEV_ECC_DBE_VOL_TOTAL{{{GPU}}}", 3)],
        "32m",
    ),
    "GpuCorrectedBitErrors": (
        [growing(f"DCGM_FI_DEV_ECC_SBE_VOL_TOTAL{{{GPU}}}", 0, 70, 500)],
        [growing(f"DCGM_FI_DEV_ECC_SBE_VOL_TOTAL{{{GPU}}}", 0, 70, 20)],
        "75m",
    ),
    "GpuRowRemapFailed": (
        [constant(f"DCGM_FI_DEV_ROW_REMAP_FAILURE{{{GPU}}}", 1)],
        [constant(f"DCGM_FI_DEV_ROW_REMAP_FAILURE{{{GPU}}}", 0)],
        "5m",
    ),
    "GpuRowsRemapped": (
        [growing(f"DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS{{{GPU}}}", 2, 70, 1)],
        [constant(f"DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS{{{GPU}}}", 2)],
        "80m",
    ),
    "GpuThermalThrottling": (
        # 12 of 60 s, in nanoseconds
        [{"series": f"DCGM_FI_DEV_THERMAL_VIOLATION{{{GPU}}}", "values": "0+12000000000x60"}],
        [{"series": f"DCGM_FI_DEV_THERMAL_VIOLATION{{{GPU}}}", "values": "0+600000000x60"}],
        "30m",
    ),
    "GpuHardwareSlowdown": (
        [constant(f'DCGM_EXP_CLOCK_EVENTS_COUNT{{{GPU}, clock_event="hw_power_brake"}}', 3)],
        [constant(f'DCGM_EXP_CLOCK_EVENTS_COUNT{{{GPU}, clock_event="gpu_idle"}}', 3)],
        "20m",
    ),
    "GpuNvlinkErrors": (
        [growing(f"DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL{{{GPU}}}", 0, 30, 2)],
        [constant(f"DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL{{{GPU}}}", 7)],
        "32m",
    ),
    "GpuExporterMissing": (
        [
            allocatable("nvidia_com_gpu", 1),
            allocatable("nvidia_com_gpu", 1, "n2"),
            constant(f"DCGM_FI_DEV_GPU_TEMP{{{GPU.replace('n1', 'n2')}}}", 40),
        ],
        [
            allocatable("nvidia_com_gpu", 1),
            constant(f"DCGM_FI_DEV_GPU_TEMP{{{GPU}}}", 40),
            allocatable("aws_amazon_com_neuron", 1, "n3"),  # no exporter of NVIDIA's belongs there
        ],
        "20m",
    ),
    "GpuMigStateFailed": (
        [constant('kube_node_labels{node="n1", label_nvidia_com_mig_config_state="failed"}', 1)],
        [constant('kube_node_labels{node="n1", label_nvidia_com_mig_config_state="success"}', 1)],
        "20m",
    ),
    "GpuLicenceMissing": (
        [
            constant(
                f"DCGM_FI_DEV_VGPU_LICENSE_STATUS{{{GPU.replace('NVIDIA L4', 'NVIDIA H100-20C')}}}",
                0,
            )
        ],
        # A physical GPU reports 0 too, and needs no licence.
        [constant(f"DCGM_FI_DEV_VGPU_LICENSE_STATUS{{{GPU}}}", 0)],
        "20m",
    ),
    "GpuIdle": (
        [constant(f"DCGM_FI_PROF_GR_ENGINE_ACTIVE{{{HELD}}}", 0.01)],
        [
            {"series": f"DCGM_FI_PROF_GR_ENGINE_ACTIVE{{{HELD}}}", "values": "0.01x80 0.6 0.01x20"},
            constant(f"DCGM_FI_PROF_GR_ENGINE_ACTIVE{{{GPU.replace('GPU-1', 'GPU-2')}}}", 0),
        ],
        "95m",
    ),
    "GpuUnallocated": (
        [
            allocatable(SHARED, 4),
            constant(f'{REQUEST}, node="n1", resource="{SHARED}"}}', 1),
            phase("Running"),
        ],
        [
            allocatable(SHARED, 4),
            constant(f'{REQUEST}, node="n1", resource="{SHARED}"}}', 3),
            phase("Running"),
        ],
        "150m",
    ),
    "GpuPodPending": (
        [constant(f'{REQUEST}, resource="{SHARED}"}}', 1), phase("Pending")],
        [constant(f'{REQUEST}, node="n1", resource="{SHARED}"}}', 1), phase("Running")],
        "30m",
    ),
    "GpuMemoryOversized": (
        [
            constant(f"DCGM_FI_DEV_FB_USED{{{HELD}}}", 1000),
            constant(f"DCGM_FI_DEV_FB_FREE{{{HELD}}}", 22000),
            constant(f"DCGM_FI_DEV_FB_RESERVED{{{HELD}}}", 500),
        ],
        [
            {"series": f"DCGM_FI_DEV_FB_USED{{{HELD}}}", "values": "1000x200 12000 1000x279"},
            constant(f"DCGM_FI_DEV_FB_FREE{{{HELD}}}", 22000),
            constant(f"DCGM_FI_DEV_FB_RESERVED{{{HELD}}}", 500),
        ],
        "430m",
    ),
    "GpuWithoutTensorCores": (
        [
            constant(f"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE{{{HELD}}}", 0.001),
            constant(f"DCGM_FI_PROF_GR_ENGINE_ACTIVE{{{HELD}}}", 0.9),
        ],
        [
            constant(f"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE{{{HELD}}}", 0.4),
            constant(f"DCGM_FI_PROF_GR_ENGINE_ACTIVE{{{HELD}}}", 0.9),
        ],
        "100m",
    ),
    "GpuQueueStarved": (
        [
            constant('kueue_pending_workloads{cluster_queue="research", status="inadmissible"}', 2),
            constant('kueue_admitted_workloads_total{cluster_queue="research"}', 5),
        ],
        [
            constant('kueue_pending_workloads{cluster_queue="research", status="active"}', 2),
            {
                "series": 'kueue_admitted_workloads_total{cluster_queue="research"}',
                "values": "0+1x480",
            },
        ],
        "200m",
    ),
    "GpuQueueInactive": (
        [constant('kueue_cluster_queue_status{cluster_queue="research", status="active"}', 0)],
        [constant('kueue_cluster_queue_status{cluster_queue="research", status="active"}', 1)],
        "20m",
    ),
    "GpuQuotaOverCapacity": (
        [
            constant(
                QUOTA,
                9,
            )
        ],
        [
            constant(
                QUOTA,
                8,
            )
        ],
        "30m",
    ),
    "GpuCapacityUnderQuota": (
        [allocatable(SHARED, 4)],
        [allocatable(SHARED, 4), allocatable(SHARED, 4, "n2")],
        "60m",
    ),
}


@pytest.fixture(scope="module")
def fleet() -> Any:
    return observed({})


VSPHERE = {
    name: {"vsphere": {"cpus": 8, "memoryGib": 64, "template": "gpu"}, **pool}
    for name, pool in POOLS.items()
}


ADDONS: dict[str, Any] = {
    "gpuOperator": {
        "driver": {"repository": "registry.example.com/vgpu", "version": "595.91.07"},
        "imagePullSecret": "own",
        "values": {"driver": {"nvidiaDriverCRD": {"enabled": True}}},
    }
}


def observed(monitoring: dict[str, Any]) -> Any:
    teams = {"teams": TEAMS}
    return compiled("vsphere", VSPHERE, queues=teams, monitoring=monitoring, addons=ADDONS)


def promtool(*arguments: str) -> "subprocess.CompletedProcess[str]":
    program = require(("promtool",))["promtool"]
    return subprocess.run(
        [str(program), *arguments], capture_output=True, text=True, timeout=120, check=False
    )


def test_every_alert_fires_and_stays_silent(fleet: Any, tmp_path: Path) -> None:
    made = {alert.name: alert for alert in alerts(fleet, fleet.spec.monitoring)}
    assert set(made) == set(CASES)
    rules = tmp_path / "rules.yaml"
    rules.write_text(yaml.safe_dump({"groups": rule_groups(fleet, fleet.spec.monitoring)}))
    tests: list[dict[str, Any]] = []
    for name, (fires, silent, when) in CASES.items():
        for word, series in (("fires", fires), ("silent", silent)):
            # What fires is only counted: its labels and texts are not the point here.
            expected = 1 if word == "fires" else 0
            query = f'count(ALERTS{{alertname="{name}", alertstate="firing"}}) or vector(0)'
            tests.append(
                {
                    "name": f"{name} {word}",
                    "interval": "1m",
                    "input_series": series,
                    "promql_expr_test": [
                        {
                            "expr": query,
                            "eval_time": when,
                            "exp_samples": [{"labels": "{}", "value": expected}],
                        }
                    ],
                }
            )
    file = tmp_path / "tests.yaml"
    file.write_text(
        yaml.safe_dump(
            {"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": tests},
            sort_keys=False,
            width=1000,
        )
    )
    ended = promtool("test", "rules", str(file))
    assert ended.returncode == 0, ended.stdout[-6000:] + ended.stderr[-6000:]


def test_neuron_nodes_count_in_the_unit_of_their_pool(tmp_path: Path) -> None:
    """Each publishes devices and cores; in the other unit it would be there twice."""
    made = compiled(
        "eks",
        {
            "serve": {
                "instanceTypes": ["inf2.xlarge"],
                "nodes": {"min": 0, "max": 2},
                "neuron": {"unit": "core"},
            },
            "train": {"instanceTypes": ["trn1.2xlarge"], "nodes": {"min": 0, "max": 2}},
        },
        monitoring={},
    )
    monitoring = made.spec.monitoring
    assert monitoring is not None
    rules = tmp_path / "rules.yaml"
    rules.write_text(yaml.safe_dump({"groups": rule_groups(made, monitoring)}))
    checked = promtool("check", "rules", "--lint=all", "--lint-fatal", str(rules))
    assert checked.returncode == 0, checked.stdout + checked.stderr
    nodes = [
        constant(f'kube_node_labels{{node="{node}", label_gpufleet_dev_pool="{pool}"}}', 1)
        for node, pool in (("n1", "serve"), ("n2", "train"))
    ]
    both = [
        allocatable(resource, amount, node)
        for node in ("n1", "n2")
        for resource, amount in (("aws_amazon_com_neuron", 1), ("aws_amazon_com_neuroncore", 2))
    ]
    expected = [
        {"labels": '{node="n1", resource="aws_amazon_com_neuroncore"}', "value": 2},
        {"labels": '{node="n2", resource="aws_amazon_com_neuron"}', "value": 1},
    ]
    asked = {"expr": "sum by (node, resource) (gpu:allocatable:count)", "eval_time": "5m"}
    one = {
        "interval": "1m",
        "input_series": [*nodes, *both],
        "promql_expr_test": [{**asked, "exp_samples": expected}],
    }
    file = tmp_path / "tests.yaml"
    file.write_text(
        yaml.safe_dump({"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": [one]})
    )
    ended = promtool("test", "rules", str(file))
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_promtool_accepts_rules_of_every_setting(fleet: Any, tmp_path: Path) -> None:
    for number, settings in enumerate(({}, {"profiling": False}, {"honorLabels": True})):
        made = observed(settings)
        file = tmp_path / f"rules-{number}.yaml"
        file.write_text(yaml.safe_dump({"groups": rule_groups(made, made.spec.monitoring)}))
        ended = promtool("check", "rules", "--lint=all", "--lint-fatal", str(file))
        assert ended.returncode == 0, ended.stdout + ended.stderr


def test_promtool_parses_every_query_of_the_dashboards(fleet: Any, tmp_path: Path) -> None:
    found = [
        query
        for dashboard in dashboards(fleet, fleet.spec.monitoring)
        for query in queries(dashboard)
    ]
    assert len(found) > 20
    rules = [{"record": f"query:{i}", "expr": query} for i, query in enumerate(found)]
    file = tmp_path / "queries.yaml"
    file.write_text(json.dumps({"groups": [{"name": "queries", "rules": rules}]}))
    ended = promtool("check", "rules", "--lint=none", str(file))
    assert ended.returncode == 0, ended.stdout + ended.stderr
