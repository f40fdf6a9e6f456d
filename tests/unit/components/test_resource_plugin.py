"""The engine's protocol: what is secret stays secret, and what is unknown stays unknown."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest
from google.protobuf import empty_pb2, struct_pb2
from google.protobuf.json_format import MessageToDict
from pulumi.dynamic import CheckFailure, CheckResult, CreateResult, ResourceProvider
from pulumi.provider import Provider
from pulumi.runtime.proto import engine_pb2, engine_pb2_grpc, provider_pb2, status_pb2

from gpufleet.components_base.resource_plugin import (
    SECRET,
    SIGNATURE,
    UNKNOWN,
    NotReadyError,
    ResourceServicer,
    marked,
    plain,
    warn,
)

URN = "urn:pulumi:s::p::gpufleet:vsphere:Machine::m"
HIDDEN = {SIGNATURE: SECRET, "value": "token"}


def struct(given: dict[str, Any]) -> struct_pb2.Struct:
    found = struct_pb2.Struct()
    found.update(given)
    return found


class AbortedError(Exception):
    pass


class Context:
    def __init__(self) -> None:
        self.trailing: Any = ()

    def set_trailing_metadata(self, rows: Any) -> None:
        self.trailing = rows

    async def abort(self, code: Any, text: str) -> None:
        raise AbortedError(text)


class Late(ResourceProvider):
    def check(self, _olds: Any, news: Any) -> CheckResult:
        return CheckResult({**news, "generation": "kept"}, [])

    def create(self, props: Any) -> CreateResult:
        assert props["userData"] == "token"
        raise NotReadyError("it runs and is late", "uuid-1", {"name": "m", "userData": "digest"})


SERVICER = ResourceServicer(Provider("0.1.0"), [], "", lambda kind: Late())


def test_secrets_and_unknowns_are_plain_inside() -> None:
    given = struct({"a": HIDDEN, "b": [{"c": HIDDEN}], "d": UNKNOWN, "e": 1})
    assert plain(given) == {"a": "token", "b": [{"c": "token"}], "d": UNKNOWN, "e": 1}


def test_what_was_secret_is_secret_again() -> None:
    given = struct({"a": HIDDEN, "b": [{"c": HIDDEN, "n": 1}], "e": 1})
    found = {"a": "token", "b": [{"c": "token", "n": 2}], "e": 2, "gone": None}
    answer = MessageToDict(marked(found, plain(given), given))
    assert answer["a"] == HIDDEN
    assert answer["b"] == {SIGNATURE: SECRET, "value": [{"c": "token", "n": 2}]}
    assert (answer["e"], "gone" in answer) == (2, False)


def test_a_check_keeps_what_it_did_not_change() -> None:
    request = provider_pb2.CheckRequest(urn=URN, news=struct({"userData": HIDDEN, "cpus": UNKNOWN}))
    answer = asyncio.run(SERVICER.Check(request, Context()))
    inputs = MessageToDict(answer.inputs)
    assert inputs == {"userData": HIDDEN, "cpus": UNKNOWN, "generation": "kept"}


class Refusing(ResourceProvider):
    def check(self, _olds: Any, news: Any) -> CheckResult:
        return CheckResult(news, [CheckFailure("userData", "too long"), CheckFailure("", "full")])


def test_a_refusal_names_no_property_whose_value_the_engine_would_print() -> None:
    refusing = ResourceServicer(Provider("0.1.0"), [], "", lambda kind: Refusing())
    request = provider_pb2.CheckRequest(urn=URN, news=struct({"userData": HIDDEN}))
    answer = asyncio.run(refusing.Check(request, Context()))
    found = [(failure.property, failure.reason) for failure in answer.failures]
    assert found == [("", "userData: too long"), ("", "full")]


class Engine(engine_pb2_grpc.EngineServicer):
    def __init__(self) -> None:
        self.said: list[tuple[int, str]] = []

    def Log(self, request: Any, context: Any) -> Any:
        self.said.append((request.severity, request.message))
        return empty_pb2.Empty()


def test_a_warning_goes_to_the_engine(capsys: pytest.CaptureFixture[str]) -> None:
    engine, server = Engine(), grpc.server(ThreadPoolExecutor(1))
    engine_pb2_grpc.add_EngineServicer_to_server(engine, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        ResourceServicer(Provider("0.1.0"), [], f"127.0.0.1:{port}", lambda kind: Late())
        warn("a copy stays")
    finally:
        ResourceServicer(Provider("0.1.0"), [], "", lambda kind: Late())
        server.stop(None)
    assert engine.said == [(engine_pb2.WARNING, "a copy stays")]
    warn("without an engine")
    assert capsys.readouterr().err == "warning: without an engine\n"


def test_a_resource_that_is_late_is_recorded_with_its_reason() -> None:
    request = provider_pb2.CreateRequest(urn=URN, properties=struct({"userData": HIDDEN}))
    context = Context()
    with pytest.raises(AbortedError, match="it runs and is late"):
        asyncio.run(SERVICER.Create(request, context))
    ((name, packed),) = context.trailing
    assert name == "grpc-status-details-bin"
    status = status_pb2.Status.FromString(packed)
    late = provider_pb2.ErrorResourceInitFailed()
    assert status.details[0].Unpack(late)
    assert (late.id, list(late.reasons)) == ("uuid-1", ["it runs and is late"])
    kept = MessageToDict(late.properties)
    assert kept == {"name": "m", "userData": {SIGNATURE: SECRET, "value": "digest"}}
