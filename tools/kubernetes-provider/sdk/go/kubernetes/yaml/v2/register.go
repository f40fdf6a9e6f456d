// Package v2 registers the objects of the components ConfigFile, ConfigGroup and helm.sh/v4 Chart.
package v2

import (
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// RegisterResource registers an object of any kind. The type is the one that the SDK's class of the
// kind has: in kinds.go of sdk/v4 v4.24.0 each of the 157 is made of apiVersion and kind alone.
func RegisterResource(
	ctx *pulumi.Context, apiVersion, kind, name string, props pulumi.Input,
	opts ...pulumi.ResourceOption,
) (pulumi.CustomResource, error) {
	group := apiVersion
	if !strings.Contains(apiVersion, "/") {
		group = "core/" + apiVersion
	}
	var resource pulumi.CustomResourceState
	if err := ctx.RegisterResource("kubernetes:"+group+":"+kind, name, props, &resource, opts...); err != nil {
		return nil, err
	}
	return &resource, nil
}
