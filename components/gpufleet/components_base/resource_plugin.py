"""The package's resources over the engine's protocol, in addition to its components.

The SDK's server only has components (pulumi 3.272.0, `provider/server.py`). This module has the
calls of custom resources: Check, Diff, Create, Read, Update and Delete, each in its own thread. The
implementation of a resource is a `pulumi.dynamic.ResourceProvider`, which older states name.
"""

import asyncio
import copy
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import grpc
import grpc.aio
from google.protobuf import any_pb2, empty_pb2, struct_pb2
from google.protobuf.json_format import MessageToDict
from pulumi.dynamic import (
    CheckFailure,
    Config,
    ConfigureRequest,
    DiffResult,
    ResourceProvider,
)
from pulumi.provider import Provider
from pulumi.provider.server import ProviderServicer
from pulumi.runtime.proto import (
    engine_pb2,
    engine_pb2_grpc,
    provider_pb2,
    provider_pb2_grpc,
    status_pb2,
)

SIGNATURE = "4dabf18193072939515e22adb298388d"
SECRET = "1b47061264138c4ac30d75fd1eb44270"  # noqa: S105 - how a secret is marked
OUTPUT = "d0e6a833031e9bbcd3f4e8bde6ca49a4"
UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
"""Marks of secrets, outputs and unknown values in the protocol (pulumi/pulumi,
`sdk/go/common/resource/plugin/rpc.go` and `sdk/go/common/resource/sig`, 3.259.0)."""

LARGEST_MESSAGE = 400 * 1024 * 1024
"""The engine's value (`sdk/go/common/util/rpcutil`)."""
THREADS = 64
"""Maximum number of simultaneous calls. The engine's `--parallel` also limits them."""

PACKAGE = "gpufleet"
CANCELLED = threading.Event()
"""Set after the update was interrupted: waiting calls then raise, and nothing more is changed."""

Inputs = Mapping[str, Any]


class NotReadyError(Exception):
    """A resource exists and is recorded, but the awaited condition did not occur."""

    def __init__(self, text: str, id_: str, outs: Inputs) -> None:
        super().__init__(text)
        self.id, self.outs = id_, outs


class DetailedDiff(DiffResult):
    """Differences between the state and the declaration of a resource."""

    def __init__(
        self, changed: Sequence[str], *, added: Sequence[str] = (), removed: Sequence[str] = ()
    ) -> None:
        """Set the different properties.

        Args:
            changed: Paths of properties with another value.
            added: Paths of new properties.
            removed: Paths of removed properties.
        """
        kinds = provider_pb2.PropertyDiff
        self.rows = {
            **dict.fromkeys(changed, kinds.UPDATE),
            **dict.fromkeys(added, kinds.ADD),
            **dict.fromkeys(removed, kinds.DELETE),
        }
        super().__init__(bool(self.rows), [], [], delete_before_replace=False)


class ResourceServicer(ProviderServicer):
    """The SDK's servicer of components, with resources."""

    def __init__(
        self,
        provider: Provider,
        args: list[str],
        engine_address: str,
        load: Callable[[str], ResourceProvider | None],
    ) -> None:
        super().__init__(provider, args, engine_address)
        _EngineAddress.value = engine_address
        self._load, self._threads = load, ThreadPoolExecutor(THREADS)
        self._settings: dict[str, Any] = {}
        self._loaded: dict[str, ResourceProvider] = {}

    async def CheckConfig(self, request: Any, context: Any) -> Any:
        """Settings of the provider are read on use."""
        del context
        return provider_pb2.CheckResponse(inputs=request.news)

    async def DiffConfig(self, request: Any, context: Any) -> Any:
        """No setting needs a new resource."""
        del request, context
        return provider_pb2.DiffResponse(changes=provider_pb2.DiffResponse.DIFF_NONE)

    async def Configure(self, request: Any, context: Any) -> Any:
        """Store the stack's settings of this package."""
        del context
        self._settings = {f"{PACKAGE}:{key}": value for key, value in plain(request.args).items()}
        return provider_pb2.ConfigureResponse(
            acceptSecrets=True, acceptResources=True, acceptOutputs=True, supportsPreview=False
        )

    async def Cancel(self, request: Any, context: Any) -> Any:
        """The update was interrupted: stop waiting."""
        del request, context
        CANCELLED.set()
        return empty_pb2.Empty()

    async def Check(self, request: Any, context: Any) -> Any:
        """Validate inputs."""
        news = plain(request.news)
        checked = await self._do(
            context, lambda: self._of(request).check(plain(request.olds), copy.deepcopy(news))
        )
        return provider_pb2.CheckResponse(
            inputs=marked(checked.inputs, news, request.news),
            failures=[refusal(row) for row in checked.failures],
        )

    async def Diff(self, request: Any, context: Any) -> Any:
        """Compare the state with the declaration."""
        found = await self._do(
            context,
            lambda: self._of(request).diff(request.id, plain(request.olds), plain(request.news)),
        )
        kinds: Mapping[str, Any] = getattr(found, "rows", {})
        rows = {path: provider_pb2.PropertyDiff(kind=kind) for path, kind in kinds.items()}
        response = provider_pb2.DiffResponse
        return response(
            changes=response.DIFF_SOME if found.changes else response.DIFF_NONE,
            diffs=sorted({path.split(".", 1)[0] for path in rows}),
            detailedDiff=rows,
            hasDetailedDiff=True,
        )

    async def Create(self, request: Any, context: Any) -> Any:
        """Make a resource."""
        props = limited(plain(request.properties), request.timeout)
        made = await self._do(context, lambda: self._of(request).create(props), request.properties)
        return provider_pb2.CreateResponse(
            id=made.id, properties=marked(made.outs or {}, {}, request.properties)
        )

    async def Read(self, request: Any, context: Any) -> Any:
        """Look at a resource."""
        props = plain(request.properties) or plain(request.inputs)
        seen = await self._do(context, lambda: self._of(request).read(request.id, props))
        if not seen.id:
            return provider_pb2.ReadResponse()
        return provider_pb2.ReadResponse(
            id=seen.id,
            properties=marked(seen.outs, {}, request.properties),
            inputs=request.inputs,
        )

    async def Update(self, request: Any, context: Any) -> Any:
        """Change a resource."""
        olds, news = plain(request.olds), limited(plain(request.news), request.timeout)
        changed = await self._do(
            context, lambda: self._of(request).update(request.id, olds, news), request.news
        )
        return provider_pb2.UpdateResponse(properties=marked(changed.outs or {}, {}, request.news))

    async def Delete(self, request: Any, context: Any) -> Any:
        """Remove a resource."""
        props = limited(plain(request.properties), request.timeout)
        await self._do(context, lambda: self._of(request).delete(request.id, props))
        return empty_pb2.Empty()

    def _of(self, request: Any) -> ResourceProvider:
        kind = str(request.urn).split("::")[2].rsplit("$", 1)[-1]
        if kind not in self._loaded:
            resource = self._load(kind)
            if resource is None:
                raise ValueError(f"this version of {PACKAGE} has no resource {kind}")
            resource.configure(ConfigureRequest(Config(self._settings, PACKAGE)))
            self._loaded[kind] = resource
        return self._loaded[kind]

    async def _do(self, context: Any, call: Callable[[], Any], given: Any = None) -> Any:
        """The result of a blocking call. An exception ends the call with only its text."""
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._threads, call)
        except NotReadyError as late:
            detail = provider_pb2.ErrorResourceInitFailed(
                id=late.id,
                properties=marked(late.outs, {}, given),
                inputs=given,
                reasons=[str(late)],
            )
            await _abort(context, str(late), detail)
        except Exception as failure:  # noqa: BLE001 - the engine reports every failure
            await _abort(context, str(failure) or repr(failure))


async def _abort(context: Any, text: str, detail: Any = None) -> None:
    status = status_pb2.Status(code=grpc.StatusCode.UNKNOWN.value[0], message=text)
    if detail is not None:
        packed = any_pb2.Any()
        packed.Pack(detail)
        status.details.append(packed)
    context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
    await context.abort(grpc.StatusCode.UNKNOWN, text)


def refusal(failure: CheckFailure) -> provider_pb2.CheckFailure:
    """A failure of Check for the engine: only the text names the property.

    The engine prints the whole value of a property that a failure names, including secrets
    (pulumi/pulumi `pkg/resource/deploy/step_generator.go`, `issueCheckFailures`, 3.259.0): a
    secret in a list is then readable. Without a named property it prints no value.
    """
    where = f"{failure.property}: " if failure.property else ""
    return provider_pb2.CheckFailure(reason=f"{where}{failure.reason}")


def warn(text: str) -> None:
    """Print a message that does not end the update: among the engine's warnings, or on standard
    error if there is no engine."""
    if not _EngineAddress.value:
        sys.stderr.write(f"warning: {text}\n")
        return
    with grpc.insecure_channel(_EngineAddress.value) as channel:
        row = engine_pb2.LogRequest(severity=engine_pb2.WARNING, message=text, urn="", streamId=0)
        engine: Any = engine_pb2_grpc.EngineStub(channel)
        engine.Log(row)


class _EngineAddress:
    """Address of this process' engine; empty: there is none."""

    value = ""


def plain(properties: struct_pb2.Struct) -> dict[str, Any]:
    """Properties without marks: secrets and outputs are their values."""
    return {key: _plain(value) for key, value in MessageToDict(properties).items()}


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(item) for item in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    row = cast("dict[str, Any]", value)
    if row.get(SIGNATURE) in (SECRET, OUTPUT):
        return _plain(row.get("value", UNKNOWN))
    return {key: _plain(item) for key, item in row.items()}


def marked(found: Inputs, before: Inputs, given: struct_pb2.Struct) -> struct_pb2.Struct:
    """Properties for the engine. An unchanged property is returned as it was given; a property that
    was given with a secret stays a secret.

    Args: found: The properties. before: The given ones, plain. given: The given ones, in the
        engine's form.
    """
    answer = struct_pb2.Struct()
    originals = MessageToDict(given)
    rows: dict[str, Any] = {}
    for key, value in found.items():
        if value is None:
            continue
        if key in before and before[key] == value:
            rows[key] = originals[key]
        elif _has_secret(originals.get(key)):
            rows[key] = {SIGNATURE: SECRET, "value": value}
        else:
            rows[key] = value
    answer.update(rows)
    return answer


def _has_secret(value: Any) -> bool:
    if isinstance(value, list):
        return any(_has_secret(item) for item in cast("list[Any]", value))
    if not isinstance(value, dict):
        return False
    row = cast("dict[str, Any]", value)
    if row.get(SIGNATURE) == SECRET or (row.get(SIGNATURE) == OUTPUT and row.get("secret")):
        return True
    return any(_has_secret(item) for item in row.values())


def limited(props: dict[str, Any], seconds: float) -> dict[str, Any]:
    """The inputs; the resource's `customTimeouts` limit each step."""
    return {**props, "customTimeout": int(seconds)} if seconds >= 1 else props


def serve_plugin(servicer: Callable[[list[str], str], ResourceServicer]) -> None:
    """Serve the engine until it ends this process.

    Args:
        servicer: Creates the servicer from arguments and the engine's address.
    """
    address = next((text for text in sys.argv[1:] if not text.startswith("-")), "")

    async def run() -> None:
        size = ("grpc.max_receive_message_length", LARGEST_MESSAGE)
        server = grpc.aio.server(options=[size, ("grpc.max_send_message_length", LARGEST_MESSAGE)])
        provider_pb2_grpc.add_ResourceProviderServicer_to_server(
            servicer(sys.argv[1:], address), server
        )
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        sys.stdout.write(f"{port}\n")
        sys.stdout.flush()
        await server.wait_for_termination()

    try:
        asyncio.run(run())
    except KeyboardInterrupt:
        return
