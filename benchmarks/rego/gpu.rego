# The checks of gpufleet that one object decides, as a person would write them for conftest.
package main

import rego.v1

gpu_key(key) if key == "nvidia.com/gpu"

gpu_key(key) if startswith(key, "nvidia.com/gpu.")

gpu_key(key) if startswith(key, "nvidia.com/mig-")

# Pod specs of every kind that has them.
pod_specs contains input.spec if input.kind == "Pod"

pod_specs contains input.spec.template.spec if input.spec.template.spec.containers

pod_specs contains input.spec.jobTemplate.spec.template.spec if input.kind == "CronJob"

pod_specs contains job.template.spec.template.spec if {
	input.kind == "JobSet"
	some job in input.spec.replicatedJobs
}

pod_specs contains input.spec.leaderWorkerTemplate.workerTemplate.spec if input.kind == "LeaderWorkerSet"

pod_specs contains role.template.spec if {
	some field in ["pytorchReplicaSpecs", "mpiReplicaSpecs", "tfReplicaSpecs"]
	some role in input.spec[field]
}

ray := input.spec if input.kind == "RayCluster"

ray := input.spec.rayClusterSpec if input.kind == "RayJob"

ray := input.spec.rayClusterConfig if input.kind == "RayService"

pod_specs contains ray.headGroupSpec.template.spec

pod_specs contains group.template.spec if some group in ray.workerGroupSpecs

containers contains container if {
	some spec in pod_specs
	some container in spec.containers
}

gpu_containers contains container if {
	some container in containers
	some key, _ in container.resources.limits
	gpu_key(key)
}

gpu_containers contains container if {
	some container in containers
	some key, _ in container.resources.requests
	gpu_key(key)
}

uses_gpus if count(gpu_containers) > 0

name := sprintf("%s %s", [input.kind, input.metadata.name])

deny contains sprintf("%s: %s requests %s without a limit", [name, container.name, key]) if {
	some container in gpu_containers
	some key, _ in container.resources.requests
	gpu_key(key)
	not container.resources.limits[key]
}

deny contains sprintf("%s: %s requests and limits differ for %s", [name, container.name, key]) if {
	some container in gpu_containers
	some key, asked in container.resources.requests
	gpu_key(key)
	limit := container.resources.limits[key]
	to_number(asked) != to_number(limit)
}

deny contains sprintf("%s: %s requests part of %s", [name, container.name, key]) if {
	some container in gpu_containers
	some key, amount in container.resources.limits
	gpu_key(key)
	number := to_number(amount)
	number != floor(number)
}

deny contains sprintf("%s: %s requests more than one share of %s", [name, container.name, key]) if {
	some container in gpu_containers
	some key, amount in container.resources.limits
	endswith(key, ".shared")
	to_number(amount) > 1
}

deny contains sprintf("%s: %s says nothing about %s", [name, container.name, resource]) if {
	some container in gpu_containers
	some resource in ["cpu", "memory"]
	not container.resources.requests[resource]
	not container.resources.limits[resource]
}

deny contains sprintf("%s: %s waits for ever", [name, container.name]) if {
	some container in gpu_containers
	words := array.concat(object.get(container, "command", []), object.get(container, "args", []))
	regex.match(`(^|[ ;&(])(sleep +(infinity|inf|[0-9]{4,})|tail +-f +/dev/null)`, concat(" ", words))
}

deny contains sprintf("%s: a fraction beside a whole GPU", [name]) if {
	input.metadata.annotations["gpu-fraction"]
	some container in gpu_containers
	container.resources.limits["nvidia.com/gpu"]
}

warn contains sprintf("%s: nothing ends it", [name]) if {
	input.kind in {"Job", "RayJob"}
	uses_gpus
	not input.spec.activeDeadlineSeconds
}

warn contains sprintf("%s: nothing ends it", [name]) if {
	input.kind in {"PyTorchJob", "MPIJob"}
	uses_gpus
	not input.spec.runPolicy.activeDeadlineSeconds
}

warn contains sprintf("%s: tries too often", [name]) if {
	input.kind == "Job"
	uses_gpus
	input.spec.backoffLimit > 10
}

warn contains sprintf("%s: runs may overlap", [name]) if {
	input.kind == "CronJob"
	uses_gpus
	object.get(input.spec, "concurrencyPolicy", "Allow") == "Allow"
}

deny contains sprintf("%s: the cluster outlives the job", [name]) if {
	input.kind == "RayJob"
	uses_gpus
	not input.spec.shutdownAfterJobFinishes
}

deny contains sprintf("%s: group %s has no maximum", [name, group.groupName]) if {
	ray.enableInTreeAutoscaling
	some group in ray.workerGroupSpecs
	not group.maxReplicas
}

warn contains sprintf("%s: no limits", [name]) if {
	input.kind == "NodePool"
	not input.spec.limits
}

deny contains sprintf("%s: never consolidates", [name]) if {
	input.kind == "NodePool"
	input.spec.disruption.consolidateAfter == "Never"
}

warn contains sprintf("%s: takes all devices", [name]) if {
	input.kind == "ResourceClaimTemplate"
	some request in input.spec.spec.devices.requests
	request.exactly.allocationMode == "All"
}

warn contains sprintf("%s: scales down slowly", [name]) if {
	input.kind == "ScaledObject"
	input.spec.cooldownPeriod > 1800
}
