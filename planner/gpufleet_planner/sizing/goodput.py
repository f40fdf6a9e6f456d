"""Goodput: the part of a training run that advances it, failures taken off.

A GPU of a large job failed once in 50,700 hours (419 unexpected interruptions in 54 days on 16,384
H100: The Llama 3 Herd of Models, arXiv:2407.21783, section 3.3.4). Each failure costs half a
checkpoint interval and a restart.
"""

HOURS_BETWEEN_FAILURES = 54 * 24 * 16_384 / 419
"""Of one GPU with its part of the machine."""
CHECKPOINT_HOURS = 1.0
"""Planning constant: hours between two checkpoints."""
RESTART_HOURS = 0.25
"""Planning constant: from a failure to the next step."""


def goodput(gpus: int) -> float:
    """Part of the time that counts, of a job on so many GPUs."""
    lost = gpus / HOURS_BETWEEN_FAILURES * (CHECKPOINT_HOURS / 2 + RESTART_HOURS)
    return 1 / (1 + lost)
