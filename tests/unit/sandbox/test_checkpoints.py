"""A truncated checkpoint is restored from its copy; nothing else is changed."""

import os
from pathlib import Path

from gpufleet_sandbox.checkpoints import restore_cut_off_checkpoints


def old(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    os.utime(file, (1, 1))
    return file


def test_only_what_cannot_be_read_is_restored(tmp_path):
    stacks = tmp_path / "with space" / ".pulumi" / "stacks" / "demo"
    cut = old(stacks / "cut.json", "")
    old(stacks / "cut.json.bak", '{"version": 3}')
    half = old(stacks / "half.json", '{"version":')
    old(stacks / "half.json.bak", '{"version": 2}')
    first = old(stacks / "first.json", "")
    whole = old(stacks / "whole.json", '{"version": 1}')
    old(stacks / "whole.json.bak", '{"version": 0}')
    attributes = old(stacks / "whole.json.attrs", "")
    told: list[str] = []

    restore_cut_off_checkpoints((tmp_path / "with space").as_uri(), told.append)

    assert cut.read_text() == '{"version": 3}'
    assert half.read_text() == '{"version": 2}'
    assert not first.exists()
    assert not attributes.exists()
    assert whole.read_text() == '{"version": 1}'
    assert told == [
        "stack whole: whole.json.attrs was truncated; removed it",
        "stack cut: its state was truncated; restored the previous copy",
        "stack first: its first state was truncated; it starts empty",
        "stack half: its state was truncated; restored the previous copy",
    ]
    again: list[str] = []
    restore_cut_off_checkpoints((tmp_path / "with space").as_uri(), again.append)
    assert again == []


def test_other_backends_are_left_alone(tmp_path):
    restore_cut_off_checkpoints("s3://bucket", lambda _: 1 / 0)
