"""Serving the pack without conversions that it has no use for.

The SDK (pulumi-policy 1.21.0) converts a resource's properties once per resource policy, and the
outputs of every resource once per stack policy, before it calls them: a third and a half of a
millisecond each. Resources that no rule knows are answered at once; of the others the SDK is shown
no properties, they are converted once and by ourselves (`handed_properties`); what mends nothing is
not asked to; and the stack policies judge the inputs that were seen before and read none of the
outputs.
"""

import threading
from collections.abc import Callable, Mapping
from typing import Any

import pulumi_policy.policy as sdk
from pulumi.runtime.proto import analyzer_pb2
from pulumi_policy import Policy, PolicyPack

from gpufleet_policies.readers.plain import plain_struct
from gpufleet_policies.readers.pulumi_props import is_judged

_Servicer: Any = getattr(sdk, "_PolicyAnalyzerServicer", None)

Mends = Callable[[Mapping[str, Any]], bool]
"""Whether a configuration asks for anything to be mended."""


class _Handed(threading.local):
    """The resource that this thread is being asked about."""

    urn: str = ""
    properties: Any = None


_HANDED = _Handed()


def handed_properties(urn: str) -> dict[str, Any] | None:
    """Plain properties of the resource that is being judged; None where the SDK has them."""
    if _HANDED.properties is None or _HANDED.urn != urn:
        return None
    return plain_struct(_HANDED.properties.fields)


def serve(name: str, policies: list[Policy], mending: str, mends: Mends) -> None:
    """Start the pack; never returns.

    `mending` is the name of the policy that remediates, `mends` whether it would with a
    configuration.
    """
    if _Servicer is not None:
        sdk._PolicyAnalyzerServicer = servicer(mending, mends)  # type: ignore[attr-defined]
    PolicyPack(name, policies)


def servicer(mending: str, mends: Mends) -> Any:
    """The SDK's own servicer, asked only where there is something to judge.

    A release of the SDK that has no such class, or names it otherwise, is used as it is: the
    verdicts are the same, they take longer.
    """

    class Servicer(_Servicer):
        def Analyze(self, request: Any, _context: Any) -> Any:  # noqa: N802  as in the protocol
            """Violations of one resource."""
            if not is_judged(request.type):
                return analyzer_pb2.AnalyzeResponse()
            named = analyzer_pb2.AnalyzeRequest(
                type=request.type, urn=request.urn, name=request.name
            )
            _HANDED.urn, _HANDED.properties = request.urn, request.properties
            try:
                return super().Analyze(named, _context)
            finally:
                _HANDED.properties = None

        def Remediate(self, request: Any, _context: Any) -> Any:  # noqa: N802
            """New inputs of one resource."""
            wanted = is_judged(request.type) and mends(self._get_policy_config(mending) or {})
            if not wanted:
                return analyzer_pb2.RemediateResponse()
            return super().Remediate(request, _context)

        def AnalyzeStack(self, request: Any, _context: Any) -> Any:  # noqa: N802
            """Violations across resources."""
            del request
            return super().AnalyzeStack(analyzer_pb2.AnalyzeStackRequest(), _context)

    return Servicer
