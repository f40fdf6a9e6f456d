"""Names of the package are found when asked for, and importing a part stays cheap."""

import pkgutil
import subprocess
import sys

import gpufleet.sizing


def test_every_public_name_is_found_and_no_module_hides_it():
    modules = {module.name for module in pkgutil.iter_modules(gpufleet.sizing.__path__)}
    assert modules.isdisjoint(gpufleet.sizing.__all__), "a module would be found instead"
    for name in gpufleet.sizing.__all__:
        assert getattr(gpufleet.sizing, name) is not None, name


def test_a_ledger_needs_no_request_models():
    program = "import sys, gpufleet.sizing.inference; print('pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.strip() == b"False"
