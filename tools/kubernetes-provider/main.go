// Program pulumi-resource-kubernetes is the Pulumi Kubernetes provider, linked from its published
// Go module: the module carries the provider as a package but no main that can be installed by
// path. schema.json is copied beside this file at build time.
package main

import (
	_ "embed"

	"github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/provider"
)

//go:embed schema.json
var schema []byte

// version is set by the linker to the version the Python SDK expects.
var version = "0.0.0"

func main() {
	provider.Serve("kubernetes", version, schema, []byte("{}"))
}
