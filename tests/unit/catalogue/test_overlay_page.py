"""docs/overlay.md: each example runs unchanged."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from gpufleet.cli.explain import command

PAGE = (Path(__file__).parents[3] / "docs" / "overlay.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"```yaml\n# (\S+)/(\S+)\n(.*?)```", re.DOTALL)
QUOTED = re.compile(r"`gpufleet explain fleet.yaml` then has `([^`]+)`")
EXAMPLES = list(dict.fromkeys(name for name, _, _ in BLOCK.findall(PAGE)))


def test_there_are_three() -> None:
    assert EXAMPLES == ["box", "new-type", "negotiated"]
    assert len(QUOTED.findall(PAGE)) == len(EXAMPLES)


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_prints_what_the_page_says(
    example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, file, text in BLOCK.findall(PAGE):
        if name == example:
            (tmp_path / file).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    answer = CliRunner().invoke(command, ["fleet.yaml"])
    assert answer.exit_code == 0, answer.output
    assert QUOTED.findall(PAGE)[EXAMPLES.index(example)] in " ".join(answer.output.split())
    wrong = (
        (tmp_path / "fleet.yaml").read_text(encoding="utf-8").replace("facts.yaml", "wrong.yaml")
    )
    (tmp_path / "fleet.yaml").write_text(wrong, encoding="utf-8")
    (tmp_path / "wrong.yaml").write_text("date: soon\nmachines: []\n", encoding="utf-8")
    refused = CliRunner().invoke(command, ["fleet.yaml"])
    assert refused.exit_code != 0
    assert "wrong.yaml.date" in refused.output
    assert "wrong.yaml.machines" in refused.output
