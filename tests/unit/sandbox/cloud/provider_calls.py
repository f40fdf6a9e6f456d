"""The engine's side of the provider protocol, in a test."""

from collections.abc import Mapping
from typing import Any

import grpc
from pulumi.runtime.proto import provider_pb2

from gpufleet_sandbox.cloud.service import StandInProvider
from gpufleet_sandbox.cloud.values import from_struct, to_struct


class RefusedError(Exception):
    """The provider ended the call with an error."""

    def __init__(self, code: grpc.StatusCode, details: str) -> None:
        super().__init__(details)
        self.code = code
        self.trailing: Any = None


class Context:
    """The part of a gRPC context that the provider uses."""

    def __init__(self) -> None:
        self.trailing: Any = None

    def abort(self, code: grpc.StatusCode, details: str) -> None:
        refused = RefusedError(code, details)
        refused.trailing = self.trailing
        raise refused

    def set_trailing_metadata(self, metadata: Any) -> None:
        self.trailing = metadata


class Caller:
    """Calls a provider as the engine does: check, then diff, then create or update."""

    def __init__(self, provider: StandInProvider, **settings: Any) -> None:
        self.provider = provider
        arguments = to_struct(settings)
        provider.Configure(provider_pb2.ConfigureRequest(args=arguments), Context())

    def check(
        self,
        token: str,
        inputs: Mapping[str, Any],
        before: Mapping[str, Any] | None = None,
        name: str = "it",
    ) -> tuple[dict[str, Any], list[str]]:
        """Inputs as filled in, and what is wrong with them."""
        request = provider_pb2.CheckRequest(
            news=to_struct(inputs),
            olds=to_struct(before or {}),
            type=token,
            name=name,
            randomSeed=name.encode() * 4,
        )
        response = self.provider.Check(request, Context())
        return from_struct(response.inputs), [failure.reason for failure in response.failures]

    def create(
        self, token: str, inputs: Mapping[str, Any], name: str = "it", *, preview: bool = False
    ) -> tuple[str, dict[str, Any], dict[str, Any]]:
        """Id, outputs and the inputs as recorded."""
        filled, failures = self.check(token, inputs, name=name)
        assert failures == []
        request = provider_pb2.CreateRequest(
            properties=to_struct(filled), type=token, name=name, preview=preview
        )
        response = self.provider.Create(request, Context())
        return response.id, from_struct(response.properties), filled

    def diff(
        self,
        token: str,
        identifier: str,
        before: Mapping[str, Any],
        after: Mapping[str, Any],
        outputs: Mapping[str, Any] | None = None,
        name: str = "it",
    ) -> Any:
        """The response to Diff."""
        filled, failures = self.check(token, after, before, name)
        assert failures == []
        request = provider_pb2.DiffRequest(
            id=identifier,
            type=token,
            name=name,
            old_inputs=to_struct(before),
            olds=to_struct(before if outputs is None else outputs),
            news=to_struct(filled),
        )
        return self.provider.Diff(request, Context())

    def update(
        self,
        token: str,
        identifier: str,
        before: Mapping[str, Any],
        after: Mapping[str, Any],
        name: str = "it",
    ) -> dict[str, Any]:
        """Outputs after the change."""
        filled, failures = self.check(token, after, before, name)
        assert failures == []
        request = provider_pb2.UpdateRequest(
            id=identifier,
            type=token,
            name=name,
            old_inputs=to_struct(before),
            news=to_struct(filled),
        )
        return from_struct(self.provider.Update(request, Context()).properties)

    def delete(self, token: str, identifier: str, name: str = "it") -> None:
        self.provider.Delete(
            provider_pb2.DeleteRequest(id=identifier, type=token, name=name), Context()
        )

    def read(self, token: str, identifier: str) -> tuple[str, dict[str, Any]]:
        request = provider_pb2.ReadRequest(id=identifier, type=token, name="it")
        response = self.provider.Read(request, Context())
        return response.id, from_struct(response.properties)

    def invoke(self, token: str, **arguments: Any) -> tuple[dict[str, Any], list[str]]:
        request = provider_pb2.InvokeRequest(tok=token, args=to_struct(arguments))
        response = self.provider.Invoke(request, Context())
        answer = from_struct(getattr(response, "return"))
        return answer, [failure.reason for failure in response.failures]
