"""The provider protocol of the engine, over a `CloudAccount`."""

# The protocol names and describes the methods, and passes each a request and a context.
# ruff: noqa: N802, D102, ARG002

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NoReturn

import grpc
from google.protobuf import any_pb2, empty_pb2
from pulumi.runtime.proto import plugin_pb2, provider_pb2, provider_pb2_grpc

from gpufleet.catalogue.provider_inputs import violations
from gpufleet_sandbox.cloud.checking import InputProblem, problems
from gpufleet_sandbox.cloud.cloud import CloudAccount, CloudError, Made
from gpufleet_sandbox.cloud.difference import PathChange, changes
from gpufleet_sandbox.cloud.naming import name_property, with_name
from gpufleet_sandbox.cloud.scenario import Disturbance, ScenarioError
from gpufleet_sandbox.cloud.schema import package_schema
from gpufleet_sandbox.cloud.sdk import ResourceType, UnknownTypeError
from gpufleet_sandbox.cloud.shapes import Scalar
from gpufleet_sandbox.cloud.store import Call, Stored
from gpufleet_sandbox.cloud.values import (
    UNKNOWN,
    Secret,
    from_struct,
    has_unknown,
    revealed,
    to_struct,
)

DEFAULTED = "__defaults"
"""Input that lists what the provider filled in, as the vendors' bridge records it."""

_FOREVER = 3600.0
"""Seconds after which even a hanging call ends."""


class StandInProvider(provider_pb2_grpc.ResourceProviderServicer):
    """One instance of a provider.

    Args:
        cloud: where its calls go.
    """

    def __init__(self, cloud: CloudAccount) -> None:
        self.cloud = cloud
        self._cancelled = threading.Event()

    def Handshake(self, request: Any, context: Any) -> Any:
        return provider_pb2.ProviderHandshakeResponse(accept_secrets=True)

    def Attach(self, request: Any, context: Any) -> Any:
        return empty_pb2.Empty()

    def GetPluginInfo(self, request: Any, context: Any) -> Any:
        return plugin_pb2.PluginInfo(version=self.cloud.sdk.version)

    def GetMapping(self, request: Any, context: Any) -> Any:
        return provider_pb2.GetMappingResponse()

    def GetMappings(self, request: Any, context: Any) -> Any:
        return provider_pb2.GetMappingsResponse()

    def GetSchema(self, request: Any, context: Any) -> Any:
        return provider_pb2.GetSchemaResponse(schema=json.dumps(package_schema(self.cloud.sdk)))

    def Cancel(self, request: Any, context: Any) -> Any:
        """End what hangs; calls that work are waited for by the engine."""
        self._cancelled.set()
        return empty_pb2.Empty()

    def CheckConfig(self, request: Any, context: Any) -> Any:
        news = from_struct(request.news)
        found = problems(self.cloud.sdk.provider, self._settings(news))
        return provider_pb2.CheckResponse(inputs=request.news, failures=_failures(found))

    def DiffConfig(self, request: Any, context: Any) -> Any:
        """A change of region or project means other resources: the provider is replaced."""
        before, after = from_struct(request.olds), from_struct(request.news)
        moved = [key for key in ("region", "project") if before.get(key) != after.get(key)]
        kind = provider_pb2.DiffResponse.DIFF_SOME if before != after else None
        return provider_pb2.DiffResponse(
            changes=kind or provider_pb2.DiffResponse.DIFF_NONE, replaces=moved
        )

    def Configure(self, request: Any, context: Any) -> Any:
        with _refusals(context):
            self.cloud.configured(revealed(self._settings(from_struct(request.args))))
        return provider_pb2.ConfigureResponse(
            acceptSecrets=True, supportsPreview=True, acceptResources=False, acceptOutputs=False
        )

    def Check(self, request: Any, context: Any) -> Any:
        token, name = request.type, request.name
        with _refusals(context):
            resource = self.cloud.sdk.resource(token)
            given = {k: v for k, v in from_struct(request.news).items() if k != DEFAULTED}
            before = from_struct(request.olds)
            with self._disturbed("check", token, name, ""):
                pass
            found = problems(resource.record, given)
            found += [InputProblem(one.path, one.reason) for one in violations(token, given)]
            filled = with_name(token, given, before, name, request.randomSeed)
            if defaulted := [key for key in filled if key not in given]:
                filled[DEFAULTED] = defaulted
        return provider_pb2.CheckResponse(inputs=to_struct(filled), failures=_failures(found))

    def Diff(self, request: Any, context: Any) -> Any:
        token = request.type
        before, after = from_struct(request.old_inputs), from_struct(request.news)
        with _refusals(context):
            with self._disturbed("diff", token, request.name, request.id):
                pass
            found = [
                change
                for change in changes(token, before, after, from_struct(request.olds))
                if not _ignored(change, request.ignoreChanges)
            ]
        return _difference(token, before, after, found)

    def Create(self, request: Any, context: Any) -> Any:
        token, name = request.type, request.name
        with _refusals(context):
            resource = self.cloud.sdk.resource(token)
            inputs = from_struct(request.properties)
            if request.preview:
                return provider_pb2.CreateResponse(properties=to_struct(_preview(resource, inputs)))
            with self._disturbed("create", token, name, "") as rule:
                made = self.cloud.kind(resource).create(self._plain(token, inputs))
                stored = self._keep(resource, name, inputs, made)
        if rule is not None:
            _not_ready(context, stored, rule.message)
        return provider_pb2.CreateResponse(id=stored.id, properties=to_struct(stored.outputs))

    def Read(self, request: Any, context: Any) -> Any:
        with (
            _refusals(context),
            self._disturbed("read", request.type, request.name, request.id),
        ):
            identifier = self.cloud.identified(request.type, request.id)
            stored = self.cloud.folder.find(request.type, identifier)
        if stored is None:
            return provider_pb2.ReadResponse()  # gone: the engine drops it from the state
        return provider_pb2.ReadResponse(
            id=stored.id, properties=to_struct(stored.outputs), inputs=to_struct(stored.inputs)
        )

    def Update(self, request: Any, context: Any) -> Any:
        token, name = request.type, request.name
        with _refusals(context):
            resource = self.cloud.sdk.resource(token)
            inputs = from_struct(request.news)
            if request.preview:
                kept = {**from_struct(request.olds), **inputs}
                return provider_pb2.UpdateResponse(properties=to_struct(_outputs(resource, kept)))
            with self._disturbed("update", token, name, request.id) as rule:
                before = self.cloud.folder.find(token, request.id)
                if before is None:
                    raise CloudError(f"{token} {request.id} does not exist")
                # A provider sends what differs from the engine's memory, not from the cloud.
                remembered = self._plain(token, from_struct(request.old_inputs))
                before = replace(before, inputs=remembered or before.inputs)
                made = self.cloud.kind(resource).update(before, self._plain(token, inputs))
                stored = self._keep(resource, name, inputs, made)
        if rule is not None:
            _not_ready(context, stored, rule.message)
        return provider_pb2.UpdateResponse(properties=to_struct(stored.outputs))

    def Delete(self, request: Any, context: Any) -> Any:
        token = request.type
        with (
            _refusals(context),
            self._disturbed("delete", token, request.name, request.id),
        ):
            before = self.cloud.folder.find(token, request.id)
            if before is not None:
                self.cloud.kind(self.cloud.sdk.resource(token)).delete(before)
                self.cloud.folder.remove(token, request.id)
        return empty_pb2.Empty()

    def Invoke(self, request: Any, context: Any) -> Any:
        arguments = from_struct(request.args)
        with _refusals(context):
            function = self.cloud.sdk.function(request.tok)
            if found := problems(function.record, arguments):
                return provider_pb2.InvokeResponse(failures=_failures(found))
            with self._disturbed("invoke", request.tok, "", ""):
                answer = self.cloud.answer(request.tok, revealed(arguments))
            if strange := sorted(set(answer) - function.results):
                raise CloudError(
                    f"the answer to {request.tok} has {', '.join(strange)}, which its result in "
                    f"the SDK has not; it has {', '.join(sorted(function.results))}"
                )
        response = provider_pb2.InvokeResponse()
        # `return` is a keyword: the field can only be reached by its name.
        getattr(response, "return").CopyFrom(to_struct(answer))
        return response

    def _settings(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Settings with the complex ones, which travel as JSON text, read."""
        known = self.cloud.sdk.provider.properties
        read: dict[str, Any] = {}
        for name, value in given.items():
            if name in ("version", "pluginDownloadURL"):
                continue
            scalar = name in known and isinstance(known[name].shape, Scalar)
            if isinstance(value, str) and name in known and not scalar:
                try:
                    value = json.loads(value)
                except ValueError:
                    read[name] = value
                    continue
            read[name] = value
        return read

    def _plain(self, token: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
        plain = {key: revealed(value) for key, value in inputs.items() if key != DEFAULTED}
        if unknown := sorted(key for key, value in plain.items() if has_unknown(value)):
            raise CloudError(f"not known at deployment: {', '.join(unknown)}")
        return self.cloud.filled(token, plain)

    def _keep(
        self, resource: ResourceType, name: str, inputs: Mapping[str, Any], made: Made
    ) -> Stored:
        given = {key: value for key, value in inputs.items() if key != DEFAULTED}
        outputs = _outputs(resource, {**made.outputs, **given, **made.filled, **made.seen})
        stored = Stored(resource.token, made.id, name, {**inputs, **made.seen}, outputs)
        self.cloud.folder.save(stored)
        return stored

    @contextmanager
    def _disturbed(
        self, operation: str, token: str, name: str, identifier: str
    ) -> Iterator[Disturbance | None]:
        """Apply the scenario's rules to a call, and log it. Yields a rule to report afterwards."""
        begun = time.monotonic()
        outcome = "ok"
        try:
            rule = self.cloud.folder.rule_for(operation, token, name)
            if rule is not None:
                self._strike(rule)
            yield rule if rule is not None and rule.then == "fail-after" else None
        except (CloudError, ScenarioError) as problem:
            outcome = str(problem)
            raise
        finally:
            if operation not in ("check", "diff"):
                seconds = round(time.monotonic() - begun, 3)
                call = Call(operation, token, name, identifier, outcome, seconds)
                self.cloud.folder.record(call)

    def _strike(self, rule: Disturbance) -> None:
        if rule.then == "fail":
            raise CloudError(rule.message)
        if rule.then == "fail-after":
            return
        seconds = rule.seconds or (_FOREVER if rule.then == "hang" else 0.0)
        if self._cancelled.wait(seconds) or rule.then == "hang":
            raise CloudError(f"{rule.message} (cancelled or timed out while waiting)")


@contextmanager
def _refusals(context: Any) -> Iterator[None]:
    """Turn what the cloud refuses into the status the engine shows."""
    try:
        yield
    except (CloudError, ScenarioError, UnknownTypeError) as problem:
        context.abort(grpc.StatusCode.UNKNOWN, str(problem))
    except ModuleNotFoundError as missing:
        context.abort(
            grpc.StatusCode.UNAVAILABLE,
            f"the stand-in needs the package {missing.name}: install what requirements/dev.txt "
            "locks, moto and the clouds' own clients among it",
        )


def _not_ready(context: Any, stored: Stored, reason: str) -> NoReturn:
    """The resource exists and did not become ready: the engine records it with the reason."""
    failed = provider_pb2.ErrorResourceInitFailed(
        id=stored.id,
        properties=to_struct(stored.outputs),
        inputs=to_struct(stored.inputs),
        reasons=[reason],
    )
    detail = any_pb2.Any()
    detail.Pack(failed)
    code = grpc.StatusCode.UNKNOWN
    status = _status_message()(code=code.value[0], message=reason, details=[detail])
    context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
    context.abort(code, reason)
    raise AssertionError("abort returned")


def _status_message() -> Any:
    """The type `google.rpc.Status`. One process can load one of its two definitions, and Google's
    own clients, which validate node pools, bring theirs."""
    try:
        from google.rpc import status_pb2
    except ModuleNotFoundError:
        from pulumi.runtime.proto import status_pb2
    return status_pb2.Status


def _failures(found: list[InputProblem]) -> list[Any]:
    return [
        provider_pb2.CheckFailure(property=one.path.split(".")[0].split("[")[0], reason=str(one))
        for one in found
    ]


def _preview(resource: ResourceType, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Outputs of a resource that is not made yet: what was given, and the rest unknown."""
    given = {key: value for key, value in inputs.items() if key != DEFAULTED}
    unknown = {name: UNKNOWN for name in resource.outputs if name not in given}
    return {**given, **unknown}


def _outputs(resource: ResourceType, properties: Mapping[str, Any]) -> dict[str, Any]:
    """Properties for the engine; one that the SDK does not have would never reach a program."""
    strange = set(properties) - resource.outputs - set(resource.record.properties) - {DEFAULTED}
    if strange:
        raise CloudError(
            f"the stand-in made up {', '.join(sorted(strange))} for {resource.token}; the SDK has "
            "no such property"
        )
    return {
        name: Secret(value) if name in resource.secrets and not isinstance(value, Secret) else value
        for name, value in properties.items()
        if name != DEFAULTED
    }


def _ignored(change: PathChange, ignored: Any) -> bool:
    return any(
        change.path == path or change.path.startswith((f"{path}.", f"{path}[")) for path in ignored
    )


_KINDS: Mapping[tuple[str, bool], Callable[[], int]] = {
    ("add", False): lambda: provider_pb2.PropertyDiff.ADD,
    ("add", True): lambda: provider_pb2.PropertyDiff.ADD_REPLACE,
    ("delete", False): lambda: provider_pb2.PropertyDiff.DELETE,
    ("delete", True): lambda: provider_pb2.PropertyDiff.DELETE_REPLACE,
    ("update", False): lambda: provider_pb2.PropertyDiff.UPDATE,
    ("update", True): lambda: provider_pb2.PropertyDiff.UPDATE_REPLACE,
}


def _difference(
    token: str, before: Mapping[str, Any], after: Mapping[str, Any], found: list[PathChange]
) -> Any:
    """The response to Diff. Never empty: the engine would then compare by itself, without
    replacements."""
    replacing = sorted({_top(change.path) for change in found if change.replaces})
    key = name_property(token)
    # Two resources of one name cannot exist: a name the program chose is freed first.
    chosen = key in after and key not in (after.get(DEFAULTED) or [])
    return provider_pb2.DiffResponse(
        changes=(
            provider_pb2.DiffResponse.DIFF_SOME if found else provider_pb2.DiffResponse.DIFF_NONE
        ),
        replaces=replacing,
        deleteBeforeReplace=bool(replacing and chosen and before.get(key) == after.get(key)),
        diffs=sorted({_top(change.path) for change in found}),
        detailedDiff={
            change.path: provider_pb2.PropertyDiff(
                kind=_KINDS[change.kind, change.replaces](),  # pyright: ignore[reportArgumentType]
                inputDiff=True,
            )
            for change in found
        },
        hasDetailedDiff=True,
    )


def _top(path: str) -> str:
    return path.split(".")[0].split("[")[0]
