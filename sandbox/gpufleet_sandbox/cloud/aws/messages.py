"""SQS queues and EventBridge rules: how interruptions are announced."""

# ruff: noqa: D102 - `Kind` describes create, update and delete

from collections.abc import Mapping
from typing import Any

from gpufleet_sandbox.cloud.aws.kinds import AwsPlainKind, computed_of, picked
from gpufleet_sandbox.cloud.aws.model import request
from gpufleet_sandbox.cloud.cloud import Made
from gpufleet_sandbox.cloud.store import Stored

_QUEUE_ATTRIBUTES = {
    "delaySeconds": "DelaySeconds",
    "kmsMasterKeyId": "KmsMasterKeyId",
    "maxMessageSize": "MaximumMessageSize",
    "messageRetentionSeconds": "MessageRetentionPeriod",
    "policy": "Policy",
    "receiveWaitTimeSeconds": "ReceiveMessageWaitTimeSeconds",
    "redrivePolicy": "RedrivePolicy",
    "sqsManagedSseEnabled": "SqsManagedSseEnabled",
    "visibilityTimeoutSeconds": "VisibilityTimeout",
}


class QueueKind(AwsPlainKind):
    """sqs.Queue."""

    def create(self, inputs: Mapping[str, Any]) -> Made:
        parameters: dict[str, Any] = {"QueueName": inputs["name"]}
        if attributes := self._attributes(inputs):
            parameters["Attributes"] = attributes
        if wanted := self.all_tags(inputs):
            parameters["tags"] = wanted
        url = self.call("sqs", "CreateQueue", inputs, parameters)["QueueUrl"]
        arn = self.cloud.arn("sqs", self.region_of(inputs), inputs["name"])
        return Made(url, {"url": url, "arn": arn, **self.tags_of(inputs)})

    def update(self, before: Stored, inputs: Mapping[str, Any]) -> Made:
        if attributes := self._attributes(inputs):
            given = {"QueueUrl": before.id, "Attributes": attributes}
            self.call("sqs", "SetQueueAttributes", inputs, given)
        return Made(before.id, {**computed_of(before), **self.tags_of(inputs)})

    def delete(self, before: Stored) -> None:
        self.call("sqs", "DeleteQueue", before.inputs, {"QueueUrl": before.id})

    def _attributes(self, inputs: Mapping[str, Any]) -> dict[str, str]:
        return {
            name: str(inputs[key]).lower() if isinstance(inputs[key], bool) else str(inputs[key])
            for key, name in _QUEUE_ATTRIBUTES.items()
            if inputs.get(key) is not None
        }


class QueuePolicyKind(AwsPlainKind):
    """sqs.QueuePolicy."""

    def create(self, inputs: Mapping[str, Any]) -> Made:
        self._set(inputs, str(inputs["policy"]))
        return Made(inputs["queueUrl"])

    def update(self, before: Stored, inputs: Mapping[str, Any]) -> Made:
        self._set(inputs, str(inputs["policy"]))
        return Made(before.id)

    def delete(self, before: Stored) -> None:
        self._set(before.inputs, "")

    def _set(self, inputs: Mapping[str, Any], policy: str) -> None:
        given = {"QueueUrl": inputs["queueUrl"], "Attributes": {"Policy": policy}}
        self.call("sqs", "SetQueueAttributes", inputs, given)


class EventRuleKind(AwsPlainKind):
    """cloudwatch.EventRule."""

    def create(self, inputs: Mapping[str, Any]) -> Made:
        self._put(inputs)
        arn = self.cloud.arn("events", self.region_of(inputs), f"rule/{inputs['name']}")
        return Made(inputs["name"], {"arn": arn, **self.tags_of(inputs)})

    def update(self, before: Stored, inputs: Mapping[str, Any]) -> Made:
        self._put(inputs)
        return Made(before.id, {**computed_of(before), **self.tags_of(inputs)})

    def delete(self, before: Stored) -> None:
        self.call("events", "DeleteRule", before.inputs, {"Name": before.id})

    def _put(self, inputs: Mapping[str, Any]) -> None:
        keys = ("name", "eventPattern", "scheduleExpression", "state", "description", "roleArn")
        given = picked(inputs, *keys, "eventBusName")
        if inputs.get("state") is None and inputs.get("isEnabled") is not None:
            given["state"] = "ENABLED" if inputs["isEnabled"] else "DISABLED"
        self.call("events", "PutRule", inputs, request("events", "PutRule", given))


class EventTargetKind(AwsPlainKind):
    """cloudwatch.EventTarget."""

    def create(self, inputs: Mapping[str, Any]) -> Made:
        self._put(inputs)
        return Made(f"{inputs['rule']}-{inputs['targetId']}")

    def update(self, before: Stored, inputs: Mapping[str, Any]) -> Made:
        self._put(inputs)
        return Made(before.id)

    def delete(self, before: Stored) -> None:
        named = {"Rule": before.inputs["rule"], "Ids": [before.inputs["targetId"]]}
        self.call("events", "RemoveTargets", before.inputs, named)

    def _put(self, inputs: Mapping[str, Any]) -> None:
        target = {"id": inputs["targetId"]} | picked(
            inputs, "arn", "roleArn", "input", "inputPath", "deadLetterConfig", "retryPolicy"
        )
        given = {"rule": inputs["rule"], "targets": [target]}
        self.call("events", "PutTargets", inputs, request("events", "PutTargets", given))
