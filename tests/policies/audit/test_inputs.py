"""Which files an audit reads, each once and in order, and how they are read."""

import os
import threading
from pathlib import Path

import pytest

from gpufleet_policies.fronts.audit.inputs import Input, find_inputs
from gpufleet_policies.fronts.audit.reading import read_input

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c}]}\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("b.yaml", "a.yml", "z/c.json", "m/d.YAML", "m/deep/e.yaml", "m-/f.yaml"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(POD)
    (tmp_path / "notes.txt").write_text("no")
    for name in (".git/g.yaml", "node_modules/h.yaml"):
        path = tmp_path / name
        path.parent.mkdir()
        path.write_text(POD)
    return tmp_path


def names(*paths: str) -> list[str]:
    return [one.name for one in find_inputs(paths)]


def test_templates_of_manifests_are_read(folder: Path):
    for name in ("g.yaml.tpl", "h.yml.tftpl", "i.yaml.gotmpl", "_helpers.tpl", "user_data.sh.tpl"):
        (folder / name).write_text(POD)
    others = {"a.yml", "b.yaml", *names("m", "m-", "z")}
    assert set(names(".")) - others == {"g.yaml.tpl", "h.yml.tftpl", "i.yaml.gotmpl"}


def test_files_of_a_folder_come_before_those_below_it(folder: Path):
    wanted = ["a.yml", "b.yaml", "m/d.YAML", "m/deep/e.yaml", "m-/f.yaml", "z/c.json"]
    assert names(".") == wanted
    assert names(str(folder)) == [f"{folder}/{name}" for name in wanted]
    assert names("./m/", "m/deep") == ["m/d.YAML", "m/deep/e.yaml"]


def test_a_file_that_several_paths_lead_to_is_read_once(folder: Path):
    (folder / "a-link.yaml").symlink_to("b.yaml")
    (folder / "linked").symlink_to("m", target_is_directory=True)
    (folder / "broken.yaml").symlink_to("nowhere.yaml")
    found = names(".")
    assert "a-link.yaml" in found
    assert "b.yaml" not in found
    assert not any(name.startswith(("linked", "broken")) for name in found)
    assert names("m", "linked/d.YAML") == ["m/d.YAML", "m/deep/e.yaml"]
    assert find_inputs(["b.yaml", "."])[0] == Input("b.yaml")
    # A folder that is named itself may be a link, and its files are still those of the folder.
    assert names("linked", "m") == ["linked/d.YAML", "linked/deep/e.yaml"]


def test_a_path_that_is_not_there_is_said(folder: Path):
    with pytest.raises(FileNotFoundError, match=r"nothing\.yaml"):
        find_inputs(["nothing.yaml"])


def test_a_pipe_is_read_to_its_end(folder: Path):
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    line = f"# {'x' * 2200}\n"
    text = f"{POD}{line}---\n" * 1000  # more than one pipe, or one read, holds
    assert len(text) > 2 << 20
    writer = threading.Thread(target=pipe.write_text, args=(text,))
    writer.start()
    reading = read_input(Input(str(pipe)))
    writer.join()
    assert not reading.problem
    assert reading.documents == 1000


@pytest.mark.parametrize("text", ["", POD])
def test_a_file_is_read_whole(folder: Path, text: str):
    (folder / "one.yaml").write_text(text)
    reading = read_input(Input("one.yaml"))
    assert (reading.problem, reading.documents) == ("", int(bool(text)))
