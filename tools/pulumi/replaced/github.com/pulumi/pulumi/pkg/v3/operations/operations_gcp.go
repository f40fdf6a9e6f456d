package operations

import (
	"context"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/config"
)

// GCPOperationsProvider has no logs of Google Cloud in this build.
func GCPOperationsProvider(context.Context, map[config.Key]string, *Resource) (Provider, error) {
	return nil, nil
}
