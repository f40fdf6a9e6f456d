// Package v4 has the option types that the provider's helm.sh/v4 Chart and its Helm tool name.
package v4

import (
	"reflect"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// RepositoryOpts says where a chart is and how to log in there.
type RepositoryOpts struct {
	CaFile   pulumi.AssetOrArchive `pulumi:"caFile"`
	CertFile pulumi.AssetOrArchive `pulumi:"certFile"`
	KeyFile  pulumi.AssetOrArchive `pulumi:"keyFile"`
	Password *string               `pulumi:"password"`
	Repo     *string               `pulumi:"repo"`
	Username *string               `pulumi:"username"`
}

// PostRenderer is a program that changes rendered manifests.
type PostRenderer struct {
	Args    []string `pulumi:"args"`
	Command string   `pulumi:"command"`
}

// RepositoryOptsInput is a RepositoryOpts of a program.
type RepositoryOptsInput interface {
	pulumi.Input
	ToRepositoryOptsOutput() RepositoryOptsOutput
}

// PostRendererInput is a PostRenderer of a program.
type PostRendererInput interface {
	pulumi.Input
	ToPostRendererOutput() PostRendererOutput
}

// RepositoryOptsOutput is a RepositoryOpts that is known later.
type RepositoryOptsOutput struct{ *pulumi.OutputState }

// ElementType tells the SDK of Pulumi what the output resolves to.
func (RepositoryOptsOutput) ElementType() reflect.Type { return reflect.TypeFor[RepositoryOpts]() }

// ToRepositoryOptsOutput makes the output an input.
func (o RepositoryOptsOutput) ToRepositoryOptsOutput() RepositoryOptsOutput { return o }

// PostRendererOutput is a PostRenderer that is known later.
type PostRendererOutput struct{ *pulumi.OutputState }

// ElementType tells the SDK of Pulumi what the output resolves to.
func (PostRendererOutput) ElementType() reflect.Type { return reflect.TypeFor[PostRenderer]() }

// ToPostRendererOutput makes the output an input.
func (o PostRendererOutput) ToPostRendererOutput() PostRendererOutput { return o }

func init() {
	pulumi.RegisterInputType(reflect.TypeFor[RepositoryOptsInput](), RepositoryOptsOutput{})
	pulumi.RegisterInputType(reflect.TypeFor[PostRendererInput](), PostRendererOutput{})
	pulumi.RegisterOutputType(RepositoryOptsOutput{})
	pulumi.RegisterOutputType(PostRendererOutput{})
}
