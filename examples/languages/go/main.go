// A GPU fleet from Go, by the Automation API: this process is the program.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes"
	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optdestroy"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optup"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"gpufleet.dev/sdk/go/gpufleet"
)

const project = "gpufleet-go"

func program(ctx *pulumi.Context) error {
	cluster, err := kubernetes.NewProvider(ctx, "cluster", &kubernetes.ProviderArgs{
		Kubeconfig:        pulumi.String(os.Getenv("KUBECONFIG")),
		ClusterIdentifier: pulumi.String("sandbox"),
	})
	if err != nil {
		return err
	}
	fleet, err := gpufleet.NewGpuFleet(ctx, "fleet", &gpufleet.GpuFleetArgs{
		Spec: map[string]any{
			"catalogue": "2026.11",
			"platform":  "sandbox",
			"cluster":   map[string]any{"name": "from-go"},
			"pools": []any{map[string]any{
				"name":          "notebooks",
				"instanceTypes": []any{"p4de.24xlarge"},
				"nodes":         map[string]any{"min": 1, "max": 2},
				"intent":        "interactive",
				"sharing": map[string]any{"mig": map[string]any{"layouts": []any{
					map[string]any{"gpus": "all", "devices": map[string]any{"1g.10gb": 7}},
				}}},
			}},
		},
	}, pulumi.Providers(cluster))
	if err != nil {
		return err
	}
	ctx.Export("advertised", fleet.Advertised)
	ctx.Export("usdPerHour", fleet.ExpectedUsdPerHour)
	return nil
}

func run(ctx context.Context) error {
	name := os.Getenv("STACK")
	if name == "" {
		name = "dev"
	}
	stack, err := auto.UpsertStackInlineSource(ctx, name, project, program, auto.WorkDir("."))
	if err != nil {
		return err
	}
	if len(os.Args) > 1 && os.Args[1] == "destroy" {
		_, err := stack.Destroy(ctx, optdestroy.ProgressStreams(os.Stderr))
		return err
	}
	result, err := stack.Up(ctx, optup.ProgressStreams(os.Stderr))
	if err != nil {
		return err
	}
	outputs := map[string]any{}
	for name, output := range result.Outputs {
		outputs[name] = output.Value
	}
	return json.NewEncoder(os.Stdout).Encode(outputs)
}

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
