"""Alerts on the GPUs themselves: errors, heat, links, slices that were not made, licences.

Xid numbers that are faults of the application, not of the GPU: NVIDIA/k8s-device-plugin v0.20.0
`internal/rm/health.go`.
"""

from gpufleet.fleet.kube_state_names import label_name
from gpufleet.fleet.model import Fleet
from gpufleet.render.alert import Alert

APPLICATION_XIDS = (13, 31, 43, 45, 68, 109)
CORRECTED_PER_HOUR = 100
"""Corrected bit errors in an hour that are worth a look; our own figure."""
THROTTLED_PART = 0.05
"""Part of the time a GPU may be slowed down by heat; our own figure."""

_GPU = (
    "GPU {{ $labels.gpu }} ({{ $labels.modelName }}) of "
    "{{ $labels.Hostname }}{{ $labels.hostname }}"
)


def hardware_alerts(fleet: Fleet) -> list[Alert]:
    """Alerts on hardware; that on licences only where pools are vGPU guests."""
    harmless = "|".join(str(xid) for xid in (0, *APPLICATION_XIDS))
    found = [
        Alert(
            "GpuXid",
            f'DCGM_EXP_XID_ERRORS_COUNT{{xid!~"{harmless}"}} > 0',
            0,
            "critical",
            f"{_GPU} reported XID {{{{ $labels.xid }}}}",
            "Look the number up in NVIDIA's XID catalogue. 48, 63, 64, 74, 79, 94, 95 mean a "
            "reset or a replacement: cordon the node, drain it, reset the GPU.",
        ),
        Alert(
            "GpuUncorrectedBitErrors",
            "increase(DCGM_FI_DEV_ECC_DBE_VOL_TOTAL[10m]) > 0",
            0,
            "critical",
            f"{_GPU} had bit errors that could not be corrected",
            "Results since then may be wrong. Drain the node and reset the GPU.",
        ),
        Alert(
            "GpuCorrectedBitErrors",
            f"increase(DCGM_FI_DEV_ECC_SBE_VOL_TOTAL[1h]) > {CORRECTED_PER_HOUR}",
            0,
            "warning",
            f"{_GPU} corrects more than {CORRECTED_PER_HOUR} bit errors an hour",
            "Watch for uncorrected ones; have it tested at the next maintenance.",
        ),
        Alert(
            "GpuRowRemapFailed",
            "DCGM_FI_DEV_ROW_REMAP_FAILURE > 0",
            0,
            "critical",
            f"{_GPU} has no memory rows left to remap to",
            "Replace the board.",
        ),
        Alert(
            "GpuRowsRemapped",
            "increase(DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS[1h]) > 0",
            0,
            "warning",
            f"{_GPU} remapped memory rows after uncorrected errors",
            "The remapping takes effect at a reset: drain the node and reset the GPU.",
        ),
        Alert(
            "GpuThermalThrottling",
            f"rate(DCGM_FI_DEV_THERMAL_VIOLATION[5m]) / 1e9 > {THROTTLED_PART}",
            10,
            "warning",
            f"{_GPU} is slowed down by heat",
            "Check cooling, airflow and neighbours.",
        ),
        Alert(
            "GpuHardwareSlowdown",
            'DCGM_EXP_CLOCK_EVENTS_COUNT{clock_event=~"hw_slowdown|hw_thermal|hw_power_brake"} > 0',
            10,
            "warning",
            f"{_GPU} is slowed down by hardware: {{{{ $labels.clock_event }}}}",
            "Check power supply and cooling.",
        ),
        Alert(
            "GpuNvlinkErrors",
            "increase(DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL[15m]) > 0 "
            "or increase(DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL[15m]) > 0",
            0,
            "warning",
            f"{_GPU} has errors on NVLink",
            "Collective operations get slow or fail. Check the bridge or the NVSwitch, and reset.",
        ),
        Alert(
            "GpuExporterMissing",
            # Per node: a fleet may be scaled to zero, and then there is nothing to export.
            'sum by (node) (gpu:allocatable:count{resource=~"nvidia_com_.*"}) > 0 '
            "unless on (node) count by (node) (gpu:temperature:celsius)",
            10,
            "critical",
            "Nothing is measured of the GPUs of {{ $labels.node }}",
            "Look at the pod of the DCGM exporter on that node. No other alert of its GPUs can "
            "fire.",
        ),
        Alert(
            "GpuMigStateFailed",
            f'kube_node_labels{{{label_name("nvidia.com/mig.config.state")}="failed"}} == 1',
            5,
            "critical",
            "MIG manager could not cut the GPUs of {{ $labels.node }}",
            "Read its log on the node; most often a process still holds a GPU. `gpufleet change` "
            "says how to get there without one.",
        ),
    ]
    guests = sorted(
        {pool.partition.vgpu.type.name for pool in fleet.pools if pool.partition.vgpu is not None}
    )
    if guests:
        models = "|".join(f".*{name}" for name in guests)
        found.append(
            Alert(
                "GpuLicenceMissing",
                f'DCGM_FI_DEV_VGPU_LICENSE_STATUS{{modelName=~"{models}"}} == 0',
                10,
                "critical",
                f"{_GPU} has no vGPU licence",
                "Without one a guest is slowed down. Check the token in the licence Secret and the "
                "way to the licence server.",
            )
        )
    return found
