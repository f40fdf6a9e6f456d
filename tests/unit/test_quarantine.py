from datetime import date
from pathlib import Path

import pytest

from tests.quarantine import FILE, by_test, read_quarantine

pytest_plugins = ["pytester"]
ROOT = Path(__file__).parents[2]
ENTRY = """
[[quarantined]]
test = "test_it.py::test_race"
reason = "a race with the journal"
until = 2026-12-06
"""


def test_the_list_is_valid_and_names_tests_that_exist() -> None:
    for entry in read_quarantine(FILE.read_text()):
        path, function = entry.test.split("::")
        assert f"def {function}(" in (ROOT / path).read_text()


def test_the_last_day_is_included() -> None:
    entries = read_quarantine(ENTRY)
    assert by_test(entries, date(2026, 12, 6)).keys() == {"test_it.py::test_race"}
    assert by_test(entries, date(2026, 12, 7)) == {}


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('reason = "a race with the journal"', "", "has the keys"),
        ('"a race with the journal"', '" "', "a reason"),
        ("2026-12-06", '"soon"', "a date"),
    ],
)
def test_an_entry_needs_a_reason_and_a_date(old: str, new: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        read_quarantine(ENTRY.replace(old, new))


@pytest.mark.parametrize(("until", "status"), [("2999-01-01", 0), ("2020-01-01", 1)])
def test_a_failure_is_printed_and_counts_after_the_date(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, until: str, status: int
) -> None:
    listed = pytester.makefile(".toml", listed=ENTRY.replace("2026-12-06", until))
    monkeypatch.setattr("tests.quarantine.FILE", listed)
    pytester.makeconftest(
        """
        from pathlib import Path
        from tests.quarantine import mark_quarantined
        def pytest_collection_modifyitems(items):
            mark_quarantined(items, Path(__file__).parent)
        """
    )
    pytester.makepyfile(
        test_it="""
        import pytest
        @pytest.mark.parametrize("seed", [1, 2])
        def test_race(seed): assert seed == 1, "lost the race"
        """
    )
    result = pytester.runpytest("-ra", "--xfail-tb")
    assert result.ret == status
    result.stdout.fnmatch_lines("*lost the race*")
    if status == 0:
        result.stdout.fnmatch_lines("XFAIL test_it.py::test_race*quarantined until 2999-01-01: a*")
