"""What a sharing mechanism hands out for a requested part of a GPU.

- `milli`: as requested, in thousandths.
- `hami`: `nvidia.com/gpucores` is a whole percentage (Project-HAMi/HAMi at 15c0bd24, its
  page on configuration). One GPU serves at most `deviceSplitCount` tasks, 10 unless set.
- `kai`: `gpu-fraction` is any number between 0 and 1 (kai-scheduler/KAI-Scheduler at 521a99aa,
  pkg/binder/plugins/gpusharing/gpu-request).
- `timeSlicing:N`: the device plugin advertises N equal shares of each GPU. A request of more shares
  than one gets no more (NVIDIA/k8s-device-plugin, README, "Shared access to GPUs"): what is larger
  than one share needs the whole GPU.
"""

from dataclasses import dataclass

from gpufleet_planner.trace.trace import WHOLE_GPU

MECHANISMS = ("milli", "hami", "kai", "timeSlicing")


@dataclass(frozen=True, slots=True)
class GpuSharing:
    """One of `MECHANISMS`."""

    mechanism: str = "milli"
    replicas: int = 1
    """timeSlicing: shares of one GPU."""

    def handed_out(self, milli: int) -> int:
        """Milli-GPUs that are occupied by a request of so many."""
        if self.mechanism == "hami":
            return -(-milli // 10) * 10
        if self.mechanism == "timeSlicing":
            return WHOLE_GPU // self.replicas if milli * self.replicas <= WHOLE_GPU else WHOLE_GPU
        return milli

    def __str__(self) -> str:
        shares = f":{self.replicas}" if self.mechanism == "timeSlicing" else ""
        return self.mechanism + shares


def read_sharing(text: str) -> GpuSharing | None:
    """`milli`, `hami`, `kai` or `timeSlicing:4`; None: none of them."""
    mechanism, _, replicas = text.partition(":")
    if mechanism != "timeSlicing":
        return GpuSharing(mechanism) if text in MECHANISMS else None
    if not replicas.isdecimal() or not 1 <= int(replicas) <= WHOLE_GPU:
        return None
    return GpuSharing(mechanism, int(replicas))
