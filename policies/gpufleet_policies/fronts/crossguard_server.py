"""Serving the policies to the Pulumi engine, by its analyzer protocol.

The SDK's own server converts a resource's properties once for each policy that is on. Here there is
a policy for each rule, so the properties are read once and all rules run in one pass. Protocol:
pulumi/pulumi proto/pulumi/analyzer.proto, as generated into `pulumi.runtime.proto`.
"""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
from google.protobuf import empty_pb2, json_format
from pulumi.runtime.proto import analyzer_pb2 as protocol
from pulumi.runtime.proto import analyzer_pb2_grpc, plugin_pb2

from gpufleet_policies.fronts.crossguard import Front, Reported
from gpufleet_policies.fronts.crossguard_policies import FROM_WIRE, TO_WIRE

PACK_NAME = "gpufleet"
PACK_VERSION = "0.0.1"
"""Version that the engine shows where PulumiPolicy.yaml names none."""

_THREADS = 4
_LARGEST_MESSAGE = 400 << 20
"""Limits of the SDK's server (pulumi-policy 1.21.0)."""


class AnalyzerService(analyzer_pb2_grpc.AnalyzerServicer):
    """The calls of the engine, handled by a `Front`. Names are those of the protocol."""

    def __init__(self, front: Front) -> None:
        self._front = front

    def GetAnalyzerInfo(self, request: Any, context: Any) -> protocol.AnalyzerInfo:
        """Every policy with its level and schema."""
        return protocol.AnalyzerInfo(
            name=PACK_NAME,
            displayName="gpufleet",
            description="GPU waste and impossibility, refused before anything is made.",
            version=PACK_VERSION,
            supportsConfig=True,
            policies=self._front.policy_infos(),
        )

    def GetPluginInfo(self, request: Any, context: Any) -> plugin_pb2.PluginInfo:
        """The version of the pack."""
        return plugin_pb2.PluginInfo(version=PACK_VERSION)

    def Configure(self, request: Any, context: Any) -> empty_pb2.Empty:
        """Levels and properties of every policy; before the first resource."""
        self._front.configure(
            {
                name: (FROM_WIRE[one.enforcementLevel], json_format.MessageToDict(one.properties))
                for name, one in request.policyConfig.items()
            }
        )
        return empty_pb2.Empty()

    def ConfigureStack(self, request: Any, context: Any) -> protocol.AnalyzerStackConfigureResponse:
        """Name of the stack."""
        self._front.configure_stack(request.stack)
        return protocol.AnalyzerStackConfigureResponse()

    def Analyze(self, request: Any, context: Any) -> protocol.AnalyzeResponse:
        """Findings about one resource."""
        found = self._front.analyze(
            request.type, request.urn, request.name, lambda: _properties(request)
        )
        return protocol.AnalyzeResponse(diagnostics=[_diagnostic(one) for one in found])

    def AnalyzeStack(self, request: Any, context: Any) -> protocol.AnalyzeResponse:
        """Findings across resources. The inputs that were seen count: during a preview, outputs
        lack whole objects."""
        found = self._front.analyze_stack()
        return protocol.AnalyzeResponse(diagnostics=[_diagnostic(one, one.urn) for one in found])

    def Remediate(self, request: Any, context: Any) -> protocol.RemediateResponse:
        """New inputs of one resource, where rules at level `remediate` have a patch."""
        changed = self._front.remediate(
            request.type, request.urn, request.name, lambda: _properties(request)
        )
        response = protocol.RemediateResponse()
        for rule, description, inputs in changed:
            made = response.remediations.add(
                policyName=rule,
                policyPackName=PACK_NAME,
                policyPackVersion=PACK_VERSION,
                description=description,
            )
            made.properties.update(inputs)
        return response


def _properties(request: Any) -> dict[str, Any]:
    return json_format.MessageToDict(request.properties)


def _diagnostic(one: Reported, urn: str = "") -> protocol.AnalyzeDiagnostic:
    return protocol.AnalyzeDiagnostic(
        policyName=one.policy,
        policyPackName=PACK_NAME,
        policyPackVersion=PACK_VERSION,
        description=one.description,
        message=one.message,
        enforcementLevel=TO_WIRE[one.level],
        urn=urn,
        severity=one.severity,
    )


def serve(front: Front) -> None:
    """Serve the pack until the process is ended.

    Nothing may be written to standard output before: the engine reads the port from its first line.
    """
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    server = grpc.server(
        ThreadPoolExecutor(max_workers=_THREADS),
        options=[("grpc.max_receive_message_length", _LARGEST_MESSAGE)],
    )
    analyzer_pb2_grpc.add_AnalyzerServicer_to_server(AnalyzerService(front), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    server.wait_for_termination()
