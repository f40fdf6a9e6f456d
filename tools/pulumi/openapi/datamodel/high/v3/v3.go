// Package v3 has the parts of an OpenAPI document, as far as `pulumi api` names them.
package v3

import (
	"github.com/pb33f/libopenapi/datamodel/high/base"
	"github.com/pb33f/libopenapi/orderedmap"
	"go.yaml.in/yaml/v4"
)

// Document is the whole.
type Document struct {
	Components *Components
	Paths      *Paths
	Info       *base.Info
}

// Components are what is referred to.
type Components struct{ Schemas *base.Schemas }

// Paths are the addresses.
type Paths struct {
	PathItems *orderedmap.Map[string, *PathItem]
}

// PathItem is what can be done at an address.
type PathItem struct{ Get, Post, Put, Delete, Patch, Head *Operation }

// Operation is a call.
type Operation struct {
	OperationId, Summary, Description string
	Tags                              []string
	Deprecated                        *bool
	Parameters                        []*Parameter
	RequestBody                       *RequestBody
	Responses                         *Responses
	Extensions                        *orderedmap.Map[string, *yaml.Node]
}

// Parameter is a part of a call.
type Parameter struct {
	Name, In, Description string
	Required              *bool
	Schema                *base.SchemaProxy
}

// RequestBody is what a call sends.
type RequestBody struct {
	Content *orderedmap.Map[string, *MediaType]
}

// MediaType is a form of content.
type MediaType struct{ Schema *base.SchemaProxy }

// Responses are answers by code.
type Responses struct {
	Codes   *orderedmap.Map[string, *Response]
	Default *Response
}

// Response is an answer.
type Response struct {
	Description string
	Content     *orderedmap.Map[string, *MediaType]
}
