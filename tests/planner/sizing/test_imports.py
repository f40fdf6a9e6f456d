"""Importing a part of the package stays cheap."""

import subprocess
import sys


def test_a_ledger_needs_no_request_models():
    program = "import sys, gpufleet.models.inference; print('pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.strip() == b"False"


def test_size_compiles_no_fleet():
    """Its answer takes 0.4 s, and importing what compiles a declaration as long again."""
    program = "import sys, gpufleet_planner.commands.size; print('gpufleet.fleet' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.strip() == b"False"
