// Package kubernetes stands in the provider's build for Pulumi's Go SDK for Kubernetes, of which
// the provider names three packages. The SDK itself is 66 packages of generated code.
package kubernetes

import "reflect"

// UntypedArgs are the properties of an object of any kind.
type UntypedArgs map[string]any

// ElementType tells the SDK of Pulumi what the properties resolve to.
func (UntypedArgs) ElementType() reflect.Type {
	return reflect.TypeFor[map[string]any]()
}
