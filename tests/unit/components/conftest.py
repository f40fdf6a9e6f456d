"""A mock engine that keeps its registrations, with parents and dependencies."""

import asyncio
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import grpc
import pulumi
import pytest
from google.protobuf import json_format
from pulumi.runtime import mocks
from pulumi.runtime.proto import resource_pb2

from gpufleet.testing import ANSWERED, RecordingMocks


class RefusedError(grpc.RpcError):
    """A look-up that the provider refuses, as the engine hands it on."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._text = text

    def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.UNKNOWN

    def details(self) -> str:
        return self._text


class _Echo(RecordingMocks):
    """Only look-ups with an answer in the test are allowed."""

    def call(self, args: mocks.MockCallArgs) -> dict[Any, Any]:
        answer: Any = self.answers.get(args.token, ANSWERED.get(args.token))
        if answer is None:
            raise AssertionError(f"unexpected look-up {args.token}")
        if isinstance(answer, str):
            raise RefusedError(answer)
        return answer


@dataclass
class Registered:
    """One resource as the engine would have got it."""

    type: str
    name: str
    parent: str
    """Name of the parent; empty: the stack."""
    inputs: dict[str, Any]
    depends_on: list[str]
    provider: str
    ignored: list[str]
    """Inputs whose changes the engine ignores."""


@dataclass
class Recording:
    """All registrations of one program, by name, and its log."""

    resources: list[Registered] = field(default_factory=list[Registered])
    warnings: list[str] = field(default_factory=list[str])

    def one(self, type_: str, name: str | None = None) -> Registered:
        found = [r for r in self.resources if r.type == type_ and name in {None, r.name}]
        assert len(found) == 1, (type_, name, [r.name for r in found])
        return found[0]

    def all(self, type_: str) -> list[Registered]:
        return [r for r in self.resources if r.type == type_]


class _Monitor(mocks.MockMonitor):
    def __init__(self, recording: Recording, echo: mocks.Mocks) -> None:
        super().__init__(echo)
        self._recording = recording

    def RegisterResource(self, request: Any) -> Any:
        assert isinstance(request, resource_pb2.RegisterResourceRequest)
        if request.type != "pulumi:pulumi:Stack":  # the SDK's own, at a moment of its choosing
            self._recording.resources.append(
                Registered(
                    request.type,
                    request.name,
                    _name(request.parent),
                    json_format.MessageToDict(request.object),
                    sorted({_name(urn) for urn in request.dependencies}),
                    _name(request.provider.rsplit("::", 1)[0]) if request.provider else "",
                    list(request.ignoreChanges),
                )
            )
        with _closing_its_loop():
            return super().RegisterResource(request)

    def ReadResource(self, request: Any) -> Any:
        with _closing_its_loop():
            return super().ReadResource(request)

    def Invoke(self, request: Any) -> Any:
        with _closing_its_loop():
            return super().Invoke(request)


@contextmanager
def _closing_its_loop() -> Iterator[None]:
    """The SDK's mock opens an event loop in each worker thread and leaves it open."""
    try:
        yield
    finally:
        if threading.current_thread() is not threading.main_thread():
            with suppress(RuntimeError):  # it opened none
                asyncio.get_event_loop().close()
            asyncio.set_event_loop(None)


def _name(urn: str) -> str:
    return "" if "pulumi:pulumi:Stack" in urn and urn.count("$") == 0 else urn.rsplit("::", 1)[-1]


Run = Callable[..., Recording]


class _Plain(mocks.Mocks):
    """The mock of Pulumi's documentation: outputs that only a cloud knows are unknown."""

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str | None, dict[Any, Any]]:
        return f"{args.name}-id", args.inputs

    def call(self, args: mocks.MockCallArgs) -> dict[Any, Any]:
        return {}


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """Runs a program against the mock and returns its registrations; raises its errors. A second
    argument has the results of look-ups, by function; a text is the reason of a refusal."""
    yield from _running(monkeypatch, _Echo)


@pytest.fixture
def plain_run(monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """The same under mocks that return the inputs of each resource, and nothing else."""
    yield from _running(monkeypatch, lambda _: _Plain())


def _running(
    monkeypatch: pytest.MonkeyPatch, stand_in: Callable[[dict[str, Any]], mocks.Mocks]
) -> Iterator[Run]:
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    # With each resource the SDK tells the engine where the program makes it. No test reads that,
    # and with the frames of pytest it takes a third of a registration.
    monkeypatch.setattr(traceback, "extract_stack", partial(traceback.extract_stack, limit=1))

    def go(program: Callable[[], Any], answers: dict[str, Any] | None = None) -> Recording:
        recording, echo = Recording(), stand_in(answers or {})
        monitor = _Monitor(recording, echo)
        mocks.set_mocks(echo, project="project", stack="stack", monitor=monitor)
        monkeypatch.setattr(
            pulumi.log, "warn", lambda text, *_, **__: recording.warnings.append(text)
        )

        @pulumi.runtime.test
        def body() -> Any:
            return program()

        body()
        # Worker threads register, in any order.
        recording.resources.sort(key=lambda made: (made.name, made.type))
        return recording

    yield go
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()
    asyncio.set_event_loop(None)
