"""From a request to the device it names, and whether processes on it can form one group."""

from gpufleet.catalogue import Catalogue
from gpufleet.findings import Finding, error
from gpufleet.models.parallel import Parallelism
from gpufleet_planner.sizing.device import (
    Device,
    find_gpu,
    mig_slice,
    mps_share,
    time_slice,
    whole_gpu,
)
from gpufleet_planner.sizing.request import SizedWorkload, SizeRequest


def choose_device(
    request: SizeRequest, catalogue: Catalogue
) -> tuple[Device | None, tuple[Finding, ...]]:
    """The device of a request: its GPU, then its MIG profile, then sharing on top. None without a
    GPU, or with the errors that say why."""
    if request.gpu is None:
        asked = [
            name
            for name in ("mig", "mps", "time_slicing", "board")
            if getattr(request, name) is not None
        ]
        if asked:
            text = f"{' and '.join(asked)} says how to share a GPU, and none is named"
            return None, (error("gpu-missing", "gpu", text, "name the gpu"),)
        return None, ()
    gpu = find_gpu(request.gpu, catalogue)
    if isinstance(gpu, Finding):
        return None, (gpu,)
    notes: tuple[Finding, ...] = ()
    found: Device | Finding | None
    if request.mig is not None:
        found, notes = mig_slice(gpu, request.mig, request.board)
    else:
        found = whole_gpu(gpu, request.board)
    if isinstance(found, Device) and request.mps is not None:
        found = mps_share(found, request.mps)
    if isinstance(found, Device) and request.time_slicing is not None:
        found = time_slice(found, request.time_slicing)
    if isinstance(found, Finding):
        return None, (*notes, found)
    return found, notes


def check_group(
    device: Device | None, parallel: Parallelism, workload: SizedWorkload | None
) -> tuple[Finding, ...]:
    """An error where several processes of one replica or job would need to talk to each other from
    slices or shares."""
    if device is None or device.may_communicate or workload is None:
        return ()
    gpus = parallel.training_gpus if workload.trains else parallel.serving_gpus
    if gpus == 1:
        return ()
    return (
        error(
            "share-cannot-communicate",
            "parallelism",
            f"{gpus} processes cannot work as one group on {device.label}: there is no "
            "peer-to-peer between slices, and sharers are scheduled apart",
            "use whole GPUs, or one slice that is large enough",
            value=gpus,
            limit=1,
        ),
    )
