"""Purpose of a workload, serving or training, and the evidence for it."""

from gpufleet.cluster import Provenance, WorkloadFacts


def is_inference(workload: WorkloadFacts) -> bool:
    """Whether a workload serves or is interactive: declared, or it has no end."""
    mode = workload.intent.mode
    if mode.is_known:
        return mode.value in ("inference", "interactive")
    if mode.is_unknown or workload.runs_to_completion:
        return False
    return not workload.trains and not workload.starts_training


def serving(workload: WorkloadFacts) -> Provenance | None:
    """Evidence that a workload serves requests: declared, of a kind for servers, or by the program
    or image of a container. None: no evidence."""
    mode = workload.intent.mode
    if not mode.is_absent:
        return mode.provenance if mode.found == "inference" else None
    if workload.runs_to_completion or workload.trains:
        return None
    if workload.serves:
        return Provenance.EXPLICIT
    is_server = any(container.launch.serves for _, container in workload.gpu_containers)
    return Provenance.INFERRED if is_server else None


def training(workload: WorkloadFacts) -> Provenance | None:
    """Evidence that a workload trains: declared, of a kind for training, or by the program of its
    command. None: no evidence."""
    mode = workload.intent.mode
    if not mode.is_absent:
        return mode.provenance if mode.found == "training" else None
    if workload.trains:
        return Provenance.EXPLICIT
    return Provenance.INFERRED if workload.starts_training else None


def is_training(workload: WorkloadFacts) -> bool:
    """Whether a workload trains: declared, or by its kind. A guess is not enough."""
    evidence = training(workload)
    return evidence is not None and evidence >= Provenance.EXPLICIT


def saves_checkpoints(workload: WorkloadFacts) -> bool:
    """Whether it is declared that the work can go on after an interruption, or may be."""
    return not workload.intent.checkpoint_seconds.is_absent
