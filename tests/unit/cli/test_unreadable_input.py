"""Text that is not a declaration at all: one sentence, exit code 2, no traceback."""

import pytest

BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{c}: &{c} [{','.join([f'*{p}'] * 9)}]\n" for p, c in zip("abcdefgh", "bcdefghi", strict=True)
)

UNREADABLE: list[tuple[str, str | bytes, str]] = [
    ("empty", "", "empty"),
    ("only a comment", "# nothing\n", "empty"),
    ("a list", "- a\n- b\n", "not a mapping"),
    ("a word", "hello\n", "not a mapping"),
    ("tabs", "pools:\n\t- name: a\n", "tab"),
    ("ten megabytes", "x: " + "y" * (10 << 20), "limit"),
    ("alias bomb", BOMB, "aliases"),
    ("deep nesting", "a: " + "[" * 5000 + "]" * 5000, "nested deeper"),
    ("alias to itself", "a: &a [*a]\n", ""),
    ("python object", "a: !!python/object/apply:os.system ['true']\n", "line 1"),
    ("two documents", "a: 1\n---\nb: 2\n", "one FleetSpec per file"),
    ("key twice", "platform: eks\nplatform: gke\n", "written twice"),
    ("unclosed", "pools: [a, b\n", "line"),
    ("not UTF-8", b"\xff\xfe\x00p", "UTF-8"),
    ("NUL byte", b"a: \x00\n", ""),
    ("boolean key", "on: 1\n", "quotes"),
    ("encrypted fleet", "config: {'gpufleet:fleet': {secure: abc}}\n", "encrypted"),
    ("stack without fleet", "config: {'gpufleet:other': 1}\n", "gpufleet:fleet"),
    ("bad date", "a: 2026-13-45\n", "cannot be read"),
]


@pytest.mark.parametrize(
    ("text", "said"), [case[1:] for case in UNREADABLE], ids=[case[0] for case in UNREADABLE]
)
def test_unreadable_input(text, said, monkeypatch, capsys):
    import io
    import sys

    import gpufleet.cli as program

    stdin = io.TextIOWrapper(io.BytesIO(text.encode() if isinstance(text, str) else text))
    monkeypatch.setattr(sys, "argv", ["gpufleet", "compile", "-"])
    monkeypatch.setattr(sys, "stdin", stdin)
    with pytest.raises(SystemExit) as stop:
        program.main()
    captured = capsys.readouterr()
    assert stop.value.code == 2, captured
    assert said in captured.err
    assert "Traceback" not in captured.err
    assert len(captured.err) < 2000


def test_missing_file_is_one_sentence(monkeypatch, capsys):
    import sys

    import gpufleet.cli as program

    monkeypatch.setattr(sys, "argv", ["gpufleet", "compile", "nowhere.yaml"])
    with pytest.raises(SystemExit) as stop:
        program.main()
    assert stop.value.code == 2
    assert capsys.readouterr().err == "gpufleet: nowhere.yaml: No such file or directory\n"
