"""Annotations of GitHub Actions: workflow commands that mark lines of a pull request."""

from collections.abc import Iterator

from gpufleet.messages import one_line
from gpufleet_policies.fronts.audit.run import Audit


def as_annotations(result: Audit) -> Iterator[str]:
    """A line for each finding, also for waived ones, and for each file that was not read."""
    for one in result.findings:
        level = "error" if one.is_mandatory else "warning"
        place = f"file={_property(one.file)},line={one.line},title={_property(one.code)}"
        yield f"::{level} {place}::{_data(one.text)}"
    for one in result.waived:
        place = f"file={_property(one.file)},line={one.line},title={_property(one.code)}"
        yield f"::notice {place}::{_data(f'waived: {one.waiver}')}"
    for file in result.unread:
        yield f"::notice file={_property(file.name)}::{_data(f'not read: {file.problem}')}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(one_line(text)).replace(":", "%3A").replace(",", "%2C")
