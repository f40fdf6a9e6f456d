// Package base has the schema of a value, as far as `pulumi api` names its fields.
package base

import (
	"errors"

	"github.com/pb33f/libopenapi/orderedmap"
	"go.yaml.in/yaml/v4"
)

// Schemas are schemas by name.
type Schemas = orderedmap.Map[string, *SchemaProxy]

// Schema describes a value.
type Schema struct {
	Type, Required                      []string
	Format, Pattern, Description, Title string
	Nullable, Deprecated, ReadOnly      *bool
	MinLength, MaxLength                *int64
	Minimum, Maximum, MultipleOf        *float64
	Default                             *yaml.Node
	Enum                                []*yaml.Node
	AllOf, OneOf, AnyOf                 []*SchemaProxy
	Items, AdditionalProperties         *SchemaOrBool
	Properties                          *Schemas
	Discriminator                       *Discriminator
	Extensions                          *orderedmap.Map[string, *yaml.Node]
}

// GoLow gives no position.
func (*Schema) GoLow() *Position { return nil }

// MarshalJSONInline refuses.
func (*Schema) MarshalJSONInline() ([]byte, error) { return nil, errors.New("not part of this build") }

// Position is where a schema stood.
type Position struct{}

// Hash is that of nothing.
func (*Position) Hash() uint64 { return 0 }

// SchemaProxy is a reference to a schema.
type SchemaProxy struct{}

// Schema gives none.
func (*SchemaProxy) Schema() *Schema { return nil }

// IsReference is false.
func (*SchemaProxy) IsReference() bool { return false }

// GetReference is empty.
func (*SchemaProxy) GetReference() string { return "" }

// SchemaOrBool is a schema, or whether any value is allowed.
type SchemaOrBool struct {
	A *SchemaProxy
	B bool
}

// IsA says whether it is a schema.
func (one *SchemaOrBool) IsA() bool { return one.A != nil }

// Discriminator says which schema a value has.
type Discriminator struct {
	PropertyName string
	Mapping      *orderedmap.Map[string, string]
}

// Info is about a document.
type Info struct{ Version string }
