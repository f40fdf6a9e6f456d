// Package cloud encrypts nothing by keys of a cloud in this build.
package cloud

import (
	"encoding/json"
	"errors"

	"github.com/pulumi/pulumi/pkg/v3/secrets"
	"github.com/pulumi/pulumi/sdk/v3/go/common/workspace"
)

// Type is how states name this manager.
const Type = "cloud"

var errAbsent = errors.New("the sandbox's build of pulumi has no keys of clouds; install the vendor's")

// EditProjectStack is called for a stack whose state names this manager.
func EditProjectStack(*workspace.ProjectStack, json.RawMessage) error { return errAbsent }

// NewCloudSecretsManagerFromState is called for a state that names this manager.
func NewCloudSecretsManagerFromState(json.RawMessage) (secrets.Manager, error) {
	return nil, errAbsent
}

// NewCloudSecretsManager is called for a stack that is given such a key.
func NewCloudSecretsManager(*workspace.ProjectStack, string, bool) (secrets.Manager, error) {
	return nil, errAbsent
}
