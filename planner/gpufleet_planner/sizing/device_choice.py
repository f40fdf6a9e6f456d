"""From a request to the device it names, and whether processes on it can form one group."""

from gpufleet.catalogue import Catalogue
from gpufleet.findings import Finding, findings_in
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

_finding = findings_in(__file__)


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
            return None, (_finding("gpu-missing", asked=" and ".join(asked)),)
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
    return (_finding("share-cannot-communicate", value=gpus, limit=1, device=device.label),)
