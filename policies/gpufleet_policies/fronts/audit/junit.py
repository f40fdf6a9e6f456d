"""JUnit XML: a suite per file, a case per finding; mandatory findings are failures, waived ones are
skipped."""

import re
from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from gpufleet.findings import Finding
from gpufleet.messages import one_line
from gpufleet_policies.fronts.audit.run import Audit, FileResult

_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def as_junit(result: Audit) -> str:
    """The whole audit. A file without findings has one passing case, if a rule read it."""
    root = Element("testsuites", name="gpufleet audit")
    failures = cases = 0
    for file in result.files:
        waived = [one for one in result.waived if one.file == file.name]
        suite = _suite(root, file, waived)
        failures += int(suite.get("failures", "0")) + int(suite.get("errors", "0"))
        cases += int(suite.get("tests", "0"))
    root.set("tests", str(cases))
    root.set("failures", str(failures))
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _suite(root: Element, file: FileResult, waived: Sequence[Finding]) -> Element:
    suite = SubElement(root, "testsuite", name=_clean(file.name))
    failures = 0
    skipped = 0
    for one in (*file.findings, *waived):
        name = _clean(f"{one.code}: {one.locator}")
        case = SubElement(
            suite, "testcase", name=name, classname=_clean(file.name), file=_clean(file.name)
        )
        case.set("line", str(one.line))
        text = _clean(f"{file.name}:{one.line}: {one.text}")
        if one.waiver is not None:
            skipped += 1
            SubElement(case, "skipped", message=_clean(f"waived: {one.waiver}"))
        elif one.is_mandatory:
            failures += 1
            SubElement(case, "failure", message=_clean(one.message), type=one.code).text = text
        else:
            SubElement(case, "system-out").text = text
    if file.problem:
        skipped += 1
        case = SubElement(suite, "testcase", name="is read", classname=_clean(file.name))
        SubElement(case, "skipped", message=_clean(file.problem))
    if not len(suite):
        case = SubElement(suite, "testcase", name="no finding", classname=_clean(file.name))
        if not file.looked_at:
            skipped += 1
            SubElement(case, "skipped", message="it has nothing that a rule reads")
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(failures))
    suite.set("errors", "0")
    suite.set("skipped", str(skipped))
    return suite


def _clean(text: str) -> str:
    """Text on one line, without characters that XML cannot hold, or that do not show.

    A line feed in a name would begin a line that a CI service takes as a command.
    """
    return _NO_XML.sub("?", one_line(text))
