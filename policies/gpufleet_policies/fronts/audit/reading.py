"""One input as facts, with their documents, so that findings have line numbers."""

import hashlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from io import RawIOBase
from pathlib import Path
from typing import Any, cast

from gpufleet.cluster.release_values import steps_of
from gpufleet.documents.document import Document
from gpufleet.documents.limits import JSON_DUMPS, MANIFESTS, YAML_DUMPS, UnreadableDocumentError
from gpufleet.documents.reading import repeated_keys
from gpufleet.documents.shapes import mapping
from gpufleet.messages import message, one_line
from gpufleet_policies.fronts.audit.comments import MARK, WaiverComment, waiver_comments
from gpufleet_policies.fronts.audit.inputs import STANDARD_INPUT, TERRAFORM, Input
from gpufleet_policies.fronts.audit.unjudged import left_out
from gpufleet_policies.names import names
from gpufleet_policies.readers.document_text import each_document, json_documents, read_documents
from gpufleet_policies.readers.documents import (
    facts_of_document,
    is_known,
    is_operation,
    place_of_declaration,
)
from gpufleet_policies.readers.members import has_members, members_of
from gpufleet_policies.readers.stacks import has_resources, resources_of
from gpufleet_policies.resolve.made import Made
from gpufleet_policies.resolve.written_lines import Located, WrittenLines, written_lines
from gpufleet_policies.wrappers.files import is_kustomization, is_kustomization_file
from gpufleet_policies.wrappers.holders import Holder, holders_of
from gpufleet_policies.wrappers.judged import NotJudged, Unjudged, UnopenedRelease
from gpufleet_policies.wrappers.links import GitOpsLink, links_of, terraform_links

_CHUNK = 1 << 20
_SMALL_JSON = 256 << 10
"""JSON up to this size is read as YAML, which tells lines."""


@dataclass(slots=True)
class Reading:
    """Contents of one input."""

    name: str
    facts: list[Any] = field(default_factory=list[Any])
    sources: list[Located] = field(default_factory=list[Located])
    """Lines of the document of each fact, in the same order."""
    documents: int = 0
    problem: str = ""
    """Why it, or the rest of it, was not read; empty: all of it was."""
    templates: int = 0
    """Documents with values that a template tool still fills in."""
    comments: list[WaiverComment] = field(default_factory=list[WaiverComment])
    """Waivers that are written into it."""
    digest: str = ""
    """Digest of the bytes that were read: fixes are bound to them. Empty: nothing was read."""
    not_judged: list[Unjudged] = field(default_factory=list[Unjudged])
    unopened: list[tuple[UnopenedRelease, Located]] = field(
        default_factory=list[tuple[UnopenedRelease, Located]]
    )
    """Releases of charts that need other documents first, with their own."""
    holders: list[tuple[Holder, Located]] = field(default_factory=list[tuple[Holder, Located]])
    """Documents that releases may need."""
    links: list[GitOpsLink] = field(default_factory=list[GitOpsLink])
    """Which other files belong to its cluster."""
    named: bool = True
    """Whether the caller named the file itself."""
    beside: int = 0
    """Documents of known kinds without GPUs."""
    changes: bool = False
    """Whether it is a kustomization that changes what it brings together, or makes objects."""
    mentions_gpus: bool = False
    """For a kustomization: whether its text names GPUs."""
    taking: list[tuple[Any, Located]] = field(default_factory=list[tuple[Any, Located]])
    """Objects whose containers take variables from ConfigMaps."""
    content: bytes | None = None
    """Content that replaced the file; None: the file itself."""
    hcl: str | None = None
    """Text of a Terraform file, which is read with the others of its folder; None: another file."""


def read_input(one: Input) -> Reading:
    """The facts of one input. Never raises: what cannot be read is reported in `problem`."""
    reading = Reading(one.name, problem=one.refused, named=one.named, content=one.content)
    if one.refused:
        reading.not_judged.append(Unjudged(one.name, 0, "", "file", one.refused))
        return reading
    if one.name.lower().endswith(".tf.json"):
        reason = "audit the plan instead: terraform show -json plan.out"
        reading.not_judged.append(Unjudged(one.name, 0, "", "terraform", reason))
        return reading
    try:
        text, is_json = text_of(one)
        reading.digest = digest(text)
        if one.name.lower().endswith(tuple(TERRAFORM)):
            reading.hcl = text.decode("utf-8-sig", errors="replace")
            reading.links += terraform_links(reading.hcl)
            if MARK in text:
                reading.comments = waiver_comments(reading.hcl)
            return reading
        if MARK in text and not is_json:
            reading.comments = waiver_comments(text.decode("utf-8-sig", errors="replace"))
        large = len(text) > MANIFESTS.size
        takes = b"configMapRef" in text or b"configMapKeyRef" in text
        if is_kustomization_file(one.name):
            lower = text.lower()
            reading.mentions_gpus = any(word in lower for word in OF_GPUS)
        for document in _documents_of(text, is_json):
            reading.documents += 1
            reading.templates += document.is_template
            _add(reading, document, one, large=large, takes=takes)
    except UnreadableDocumentError as problem:
        reading.problem = one_line(message(str(problem)))
    except OSError as problem:
        reading.problem = one_line(message(problem.strerror or str(problem)))
    except Exception as problem:  # noqa: BLE001 - one file must not end an audit of thousands
        trace = problem.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        place = "" if trace is None else f" ({Path(trace.tb_frame.f_code.co_filename).name}:"
        place += "" if trace is None else f"{trace.tb_lineno})"
        reading.problem = f"cannot be checked: {type(problem).__name__}{place}; please report it"
    if reading.problem:
        reading.not_judged.append(Unjudged(one.name, 0, "", "file", reading.problem))
    elif reading.templates:
        reason = "values that a template tool fills in are unknown: render it first"
        reading.not_judged.append(Unjudged(one.name, 0, "", "template", reason))
    return reading


def digest(text: bytes) -> str:
    """Digest that identifies a text."""
    return hashlib.sha256(text).hexdigest()


def _add(reading: Reading, document: Document, one: Input, *, large: bool, takes: bool) -> None:
    """Store the facts of a document, with their lines: no nodes are kept, because those of
    thousands of documents would fill the memory."""
    lines: WrittenLines | None = None

    def located() -> WrittenLines:
        nonlocal lines
        lines = lines or written_lines(_declared(document))
        return lines

    facts = facts_of_document(
        document.data,
        one.name,
        line=document.line,
        written=document.written,
        above=document.comment,
    )
    given = take(reading, facts, located, one.name)
    data = mapping(document.data)
    reading.beside += not given and is_known(data)
    if takes and given and "kind" in data:
        reading.taking.append((data, located()))
    if (one.named or given) and "apiVersion" in data and not (large or document.is_template):
        reading.not_judged += _dropped(document, one.name)
    if data and str(data.get("kind")) in _GITOPS_KINDS:
        for holder in holders_of(data, one.name):
            lines = lines or written_lines(document)
            reading.holders.append((holder, lines))
        reading.links += links_of(data, one.name)
        if is_kustomization(data, one.name):
            reading.changes = reading.changes or not _PLAIN_KEYS.issuperset(data)
    if not given and is_operation(data):
        reason = "a JSON patch is validated only with the object that it changes"
        if not any(known.what == "patch" for known in reading.not_judged):
            found = Unjudged(one.name, max(document.line, 1), "", "patch", reason)
            reading.not_judged.append(found)
    elif not given and one.named and not ("kind" in data and "apiVersion" in data):
        reason = "not an object, values, plan, state or declaration that a rule reads"
        found = Unjudged(one.name, max(document.line, 1), "", "document", reason)
        reading.not_judged.append(found)


def take(reading: Reading, facts: Iterable[Any], located: Callable[[], Located], file: str) -> bool:
    """Put facts where they belong in a reading; gives whether there was any."""
    given = False
    for fact in facts:
        given = True
        if type(fact) is NotJudged:
            reading.not_judged.append(left_out(fact, located(), file))
        elif type(fact) is UnopenedRelease:
            reading.unopened.append((fact, located()))
        else:
            reading.facts.append(fact)
            reading.sources.append(located())
    return given


def take_built(reading: Reading, one: Made) -> None:
    """Put what an object of a kustomization gives into the reading of the kustomization."""
    lines = one.layers
    data = one.data
    facts = facts_of_document(data, lines.file, line=lines.line, written=lambda: "")
    given = take(reading, facts, lambda: lines, lines.file)
    reading.beside += not given and is_known(data)
    if not one.generated and str(data.get("kind")) in _GITOPS_KINDS:
        reading.holders += [(holder, lines) for holder in holders_of(data, lines.file)]
        reading.links += links_of(data, lines.file)


_PLAIN_KEYS = frozenset({"apiVersion", "kind", "metadata", "resources", "bases", "helmCharts"})
"""Keys of a kustomization that brings files together and changes none of them."""
OF_GPUS = (b"gpu", b"nvidia", b"accelerator", b"mig-", b"tensor-parallel")
"""Words of a kustomization or chart that concerns GPUs, in lower case."""


def _declared(document: Document) -> Document:
    """The FleetSpec of a stack file, whose paths findings name; else the document."""
    steps = place_of_declaration(document.data)
    return document.member(steps, document.data[steps[0]][steps[1]]) if steps else document


_GITOPS_KINDS = frozenset(names("kind of GitOps"))
"""Kinds that `holders_of` and `links_of` look at, None among them; most objects are of none."""


def _dropped(document: Document, name: str) -> Iterator[Unjudged]:
    """A key that an object has twice: only the last value counts and is validated."""
    for path in repeated_keys(document):
        reason = "the key is written twice: every reader drops its first value"
        line = document.line_of(steps_of(path))
        yield Unjudged(name, line, path, "repeated", reason)


def documents_of(one: Input) -> Iterator[Document]:
    """Every document of an input. Raises UnreadableDocumentError and OSError."""
    yield from _documents_of(*text_of(one))


def _documents_of(text: bytes, is_json: bool) -> Iterator[Document]:
    """Every document of a text; members of a List one by one."""
    for document in _documents(text, is_json):
        yield from _members(document)


def text_of(one: Input) -> tuple[bytes, bool]:
    """The text, and whether its name is that of JSON. Raises OSError, and UnreadableDocumentError
    for a text that is too large."""
    name = one.name
    if one.content is not None:
        return one.content, name.lower().endswith(".json")
    if name == STANDARD_INPUT:
        if sys.stdin is None:
            raise OSError(0, "standard input is closed")
        return sys.stdin.buffer.read(JSON_DUMPS.size + 1), False
    is_json = name.lower().endswith(".json")
    # Without a buffer: a file is read whole.
    with open(name, "rb", buffering=0) as file:  # noqa: PTH123  strings: thousands of files
        size = os.fstat(file.fileno()).st_size
        (JSON_DUMPS if is_json else YAML_DUMPS).check_size(size)
        text = file.read(size + 1 if size else _CHUNK) or b""
        # A pipe tells no size, and gives what is in it now.
        return text if len(text) == size else _rest(file, text), is_json


def _rest(file: RawIOBase, text: bytes) -> bytes:
    """A text with everything that follows it, or a byte more than may be read."""
    parts, size, more = [text], len(text), text
    while more and size <= JSON_DUMPS.size:
        more = file.read(min(_CHUNK, JSON_DUMPS.size + 1 - size)) or b""
        parts.append(more)
        size += len(more)
    return b"".join(parts)


def _documents(text: bytes, is_json: bool) -> Iterable[Document]:
    looks_like_json = text[:64].lstrip()[:1] in (b"{", b"[") and not text.startswith(b"{{")
    if not is_json and not looks_like_json:
        return each_document(text)
    if len(text) <= _SMALL_JSON and b"{{" not in text:
        try:
            return read_documents(text)
        except UnreadableDocumentError:
            pass  # JSON that YAML cannot read; the JSON reader reports other errors
    if is_json:
        return json_documents(text)
    try:
        return json_documents(text)
    except UnreadableDocumentError:
        return each_document(text)


def _members(document: Document) -> Iterator[Document]:
    content: object = document.data
    if isinstance(content, list):
        for index, item in enumerate(cast("list[Any]", content)):
            yield document.member((index,), item)
        return
    data = mapping(content)
    if has_resources(data):
        for steps, member in resources_of(data):
            yield document.member(steps, member)
    elif has_members(data):
        for steps, member in members_of(data):
            yield document.member(steps, member)
    else:
        yield document
