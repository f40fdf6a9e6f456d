"""Importing a part of the package stays cheap."""

import os
import resource
import subprocess
import sys


def test_a_ledger_needs_no_request_models():
    program = "import sys, gpufleet.models.inference; print('pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.strip() == b"False"


def test_size_imports_no_declaration() -> None:
    """Its answer takes 0.4 s, and importing the models of a declaration, or what compiles one, as
    long again; reading the facts of platforms as YAML took a tenth of it, and what only jobs, load
    tests and programs' releases need a thirtieth."""
    jobs = ("gpufleet_planner.planning.training_choice", "gpufleet_planner.sizing.training_rates")
    others = ("gpufleet_planner.sizing.load_test", "gpufleet.catalogue.features")
    names = ("gpufleet.fleet", "gpufleet.spec.pool", "yaml", *jobs, *others)
    look = f"print([name for name in {names} if name in sys.modules])"
    program = f"import sys, gpufleet_planner.commands.size; {look}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.strip() == b"[]"


def cpu_seconds(*arguments: str) -> float:
    """Least processor time of three runs of Python, which may keep what it compiled."""
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    seconds: list[float] = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *arguments], capture_output=True, check=True, env=kept)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        seconds.append(spent)
    return min(seconds)


def test_size_takes_little_longer_than_its_libraries() -> None:
    """2.0 to 2.4 times, 0.40 s of 0.18; it was three times."""
    size = cpu_seconds("-m", "gpufleet.cli", "size", "--model", "Llama-3.1-8B", "--context", "8192")
    libraries = cpu_seconds("-c", "import click, pydantic; pydantic.BaseModel, pydantic.Field")
    assert size < 2.8 * libraries
