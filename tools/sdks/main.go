// pulumi-sdks writes the SDKs of a package from its schema, with the generators of the engine that
// the sandbox runs: `pulumi-sdks SCHEMA FOLDER` makes FOLDER/nodejs, FOLDER/go and FOLDER/python.
//
// `pulumi package gen-sdk` asks a language host for the same generators; hosts are no Go modules.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	gogen "github.com/pulumi/pulumi/pkg/v3/codegen/go"
	"github.com/pulumi/pulumi/pkg/v3/codegen/nodejs"
	"github.com/pulumi/pulumi/pkg/v3/codegen/python"
	"github.com/pulumi/pulumi/pkg/v3/codegen/schema"
)

const tool = "gpufleet"

type generator func(*schema.Package) (map[string][]byte, error)

var generators = map[string]generator{
	"nodejs": func(pkg *schema.Package) (map[string][]byte, error) {
		return nodejs.GeneratePackage(tool, pkg, nil, nil, false, nil)
	},
	"go": func(pkg *schema.Package) (map[string][]byte, error) {
		return gogen.GeneratePackage(tool, pkg, nil)
	},
	"python": func(pkg *schema.Package) (map[string][]byte, error) {
		return python.GeneratePackage(tool, pkg, nil, nil)
	},
}

// onlyThisPackage refuses references to the schemas of other packages.
type onlyThisPackage struct{ schema.ReferenceLoader }

func (onlyThisPackage) LoadPackageReferenceV2(
	_ context.Context, other *schema.PackageDescriptor,
) (schema.PackageReference, error) {
	return nil, fmt.Errorf("the schema refers to the package %s", other.Name)
}

func main() {
	if len(os.Args) != 3 {
		fail(fmt.Errorf("usage: pulumi-sdks SCHEMA FOLDER"))
	}
	for language, generate := range generators {
		if err := write(os.Args[1], filepath.Join(os.Args[2], language), generate); err != nil {
			fail(fmt.Errorf("%s: %w", language, err))
		}
	}
}

func write(file, folder string, generate generator) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var spec schema.PackageSpec
	if err := json.Unmarshal(text, &spec); err != nil {
		return err
	}
	// A generator changes the package that it reads: each gets its own.
	pkg, diagnostics, err := schema.BindSpec(spec, onlyThisPackage{}, schema.ValidationOptions{})
	if err != nil {
		return err
	}
	if diagnostics.HasErrors() {
		return diagnostics
	}
	files, err := generate(pkg)
	if err != nil {
		return err
	}
	for name, content := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "pulumi-sdks:", err)
	os.Exit(1)
}
