"""Importing a part of the package stays cheap."""

import subprocess
import sys


def test_a_ledger_needs_no_request_models():
    program = "import sys, gpufleet.models.inference; print('pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.strip() == b"False"


def test_size_imports_no_declaration() -> None:
    """Its answer takes 0.4 s, and importing the models of a declaration, or what compiles one, as
    long again; reading the facts of platforms as YAML took a tenth of it."""
    names = ("gpufleet.fleet", "gpufleet.spec.pool", "yaml")
    look = f"print([name for name in {names} if name in sys.modules])"
    program = f"import sys, gpufleet_planner.commands.size; {look}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.strip() == b"[]"
