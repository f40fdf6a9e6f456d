from pathlib import Path

import pytest

from gpufleet_sandbox.cloud import __main__ as plugin
from gpufleet_sandbox.cloud.store import FOLDER_VARIABLE


def test_a_stand_in_without_its_packages_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def lacks_moto(*_: object) -> None:
        raise ModuleNotFoundError("No module named 'moto'", name="moto")

    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    monkeypatch.setattr(plugin, "cloud_of", lacks_moto)
    monkeypatch.setattr(plugin.signal, "signal", lambda *_: None)
    assert plugin.main(["aws"]) == 2
    assert capsys.readouterr().err == (
        "the stand-in of aws requires moto, which is not installed: "
        "`pip install CHECKOUT 'CHECKOUT/sandbox[clouds]'`\n"
    )
