"""What a training program must do for the memory and speed of its figures to hold."""

from gpufleet.models.parallel import Parallelism
from gpufleet_planner.sizing.training import Training, TrainingMethod

_PREFIX = "GPUFLEET_"


def training_settings(job: Training, parallel: Parallelism) -> dict[str, str]:
    """Settings by name, in the words of this package's options. Degrees of one are left out."""
    lora = job.method is TrainingMethod.LORA
    found = {
        "framework": job.framework.value,
        "arithmetic": job.arithmetic.value,
        "precision": job.base.name if lora else job.precision.value,
        "optimizer": job.optimizer.value,
        "micro batch": str(job.batch),
        "accumulation": str(job.accumulation),
        "context": str(job.context),
        "checkpointing": job.checkpointing.value,
        "loss": job.loss.value,
    }
    if job.compiled:
        found["compile"] = "true"
    if job.loss_parallel:
        found["loss parallel"] = "true"
    if job.interleaving > 1:
        found["interleaving"] = str(job.interleaving)
    if job.fused_optimizer:
        found["fused optimizer"] = "true"
    if lora:
        found["rank"] = str(job.rank)
        found["targets"] = job.targets.value
    if parallel.tensor > 1:
        found["sequence parallel"] = str(parallel.sequence).lower()
    if parallel.data > 1:
        found["sharding"] = parallel.sharding.value
    degrees = {
        "data": parallel.data,
        "tensor": parallel.tensor,
        "pipeline": parallel.pipeline,
        "context parallel": parallel.context,
        "expert": parallel.expert,
    }
    return found | {name: str(degree) for name, degree in degrees.items() if degree > 1}


def settings_text(job: Training, parallel: Parallelism) -> str:
    """The same in one line."""
    settings = training_settings(job, parallel).items()
    return "the program must run with " + ", ".join(f"{name} {value}" for name, value in settings)


def settings_env(job: Training, parallel: Parallelism) -> list[dict[str, str]]:
    """The same as variables of a container; the program in it has to read them."""
    return [
        {"name": _PREFIX + name.upper().replace(" ", "_"), "value": value}
        for name, value in training_settings(job, parallel).items()
    ]
