"""A test of every row of a table, as one test: thousands of tests take longer than their checks."""

from collections.abc import Callable, Sequence
from typing import Any

Check = Callable[..., None]


def every(rows: Sequence[tuple[str, tuple[Any, ...]]]) -> Callable[[Check], Callable[[], None]]:
    """Makes a test of a check that is given a row. Its failure names each row that is wrong.

    Args:
        rows: What names a row, and the arguments of the check.
    """

    def test_of(check: Check) -> Callable[[], None]:
        def test() -> None:
            wrong: list[Exception] = []
            for name, arguments in rows:
                try:
                    check(*arguments)
                except Exception as problem:  # noqa: BLE001 - every row is looked at
                    problem.add_note(f"row: {name}")
                    wrong.append(problem)
            if wrong:
                raise ExceptionGroup(f"{len(wrong)} of {len(rows)} rows", wrong)

        test.__name__, test.__doc__ = check.__name__, check.__doc__
        return test

    return test_of
