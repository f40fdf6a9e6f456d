module gpufleet-go

go 1.25

require (
	github.com/pulumi/pulumi-kubernetes/sdk/v4 v4.25.0
	github.com/pulumi/pulumi/sdk/v3 v3.259.0
	gpufleet.dev/sdk/go/gpufleet v0.1.0
)
