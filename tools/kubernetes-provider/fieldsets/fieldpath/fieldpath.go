// Package fieldpath has the names of release 4 that the provider uses, as release 6 defines them: the
// libraries of Kubernetes 1.36, with which it is built, speak release 6.
package fieldpath

import "sigs.k8s.io/structured-merge-diff/v6/fieldpath"

type (
	// Path is a path to one field.
	Path = fieldpath.Path
	// Set is a set of paths.
	Set = fieldpath.Set
)

// MakePath makes a path of its parts.
var MakePath = fieldpath.MakePath
