"""Series under which each alert fires, and others under which it stays silent."""

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


def nodes(pool: str, *names: str) -> list[dict[str, str]]:
    """Nodes of a pool that are ready."""
    return [
        one
        for name in names
        for one in (
            constant(f'kube_node_labels{{node="{name}", label_gpufleet_dev_pool="{pool}"}}', 1),
            constant(
                f'kube_node_status_condition{{node="{name}", condition="Ready", status="true"}}', 1
            ),
        )
    ]


def cordoned(*names: str) -> list[dict[str, str]]:
    return [constant(f'kube_node_spec_unschedulable{{node="{name}"}}', 1) for name in names]


def tainted(node: str, value: str) -> str:
    key = 'key="gpufleet.dev/not-accepted", effect="NoSchedule"'
    return f'kube_node_spec_taint{{node="{node}", {key}, value="{value}"}}'


def growing(series: str, start: int, jump_at: int, by: int) -> dict[str, str]:
    """A counter that does not change, and jumps once."""
    return {"series": series, "values": f"{start}x{jump_at} {start + by}x{MINUTES - jump_at}"}


SHARED = "nvidia_com_gpu_shared"
STOPPED = "gpu:notebook:stopped"
QUOTA = 'kueue_cluster_queue_nominal_quota{cluster_queue="a", resource="nvidia.com/gpu.shared"}'
CASES: dict[str, tuple[list[dict[str, str]], list[dict[str, str]], str]] = {
    # alert: (series that make it fire, series that do not, time of the evaluation)
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
    "GpuNodeRefused": (
        # Refused, and tested again: it has not passed.
        [
            *nodes("chat", "n1"),
            {"series": tainted("n1", "refused"), "values": "1x50 _x430"},
            {"series": tainted("n1", "testing"), "values": "_x50 1x430"},
        ],
        # Refused until minute 50, and then passed.
        [
            *nodes("chat", "n1"),
            {"series": tainted("n1", "refused"), "values": "1x50 _x430"},
        ],
        "70m",
    ),
    "GpuNodeUntested": (
        [*nodes("chat", "n1"), constant(tainted("n1", "new"), 1)],
        [*nodes("chat", "n1"), constant(tainted("n1", "refused"), 1)],
        "70m",
    ),
    "GpuNodeFenced": (
        [*nodes("chat", "n1"), *cordoned("n1")],
        # A node of no pool of the fleet.
        [*nodes("chat", "n1"), *cordoned("n9")],
        "100m",
    ),
    "GpuPoolAtFloor": (
        # 60 % of five nodes are three.
        [*nodes("lab", "n1", "n2", "n3", "n4", "n5"), *cordoned("n1", "n2")],
        # Four of five, and a pool whose desired size is small.
        [
            *nodes("lab", "n1", "n2", "n3", "n4", "n5"),
            *cordoned("n1"),
            *nodes("chat", "n6"),
        ],
        "20m",
    ),
    "GpuRepairStopped": (
        [constant('fault_quarantine_breaker_state{namespace="nvsentinel", state="TRIPPED"}', 1)],
        [constant('fault_quarantine_breaker_state{namespace="nvsentinel", state="TRIPPED"}', 0)],
        "5m",
    ),
    "GpuLeaseUnknown": (
        [],
        [constant('gpufleet_lease_until{namespace="lab", scaledobject="alice"}', 0)],
        "40m",
    ),
}
