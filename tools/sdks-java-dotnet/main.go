// pulumi-sdks-java-dotnet writes the Java and .NET SDKs of a package from its schema:
// `pulumi-sdks-java-dotnet SCHEMA FOLDER LOGO` makes FOLDER/java and FOLDER/dotnet.
//
// Their generators left the engine's module; these are the newest versions that Go modules hold.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/pulumi/pulumi-java/pkg/codegen/java"
	"github.com/pulumi/pulumi/pkg/v3/codegen/dotnet"
	"github.com/pulumi/pulumi/pkg/v3/codegen/schema"
)

const tool = "gpufleet"

type generator func(*schema.Package) (map[string][]byte, error)

var generators = map[string]generator{
	"java": func(pkg *schema.Package) (map[string][]byte, error) {
		return java.GeneratePackage(tool, pkg, nil, false)
	},
	"dotnet": func(pkg *schema.Package) (map[string][]byte, error) {
		// The generator downloads the logo; ours is a file.
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.ServeFile(w, r, os.Args[3])
		}))
		defer server.Close()
		pkg.LogoURL = server.URL
		return dotnet.GeneratePackage(tool, pkg, nil, nil)
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
	if len(os.Args) != 4 {
		fail(fmt.Errorf("usage: pulumi-sdks-java-dotnet SCHEMA FOLDER LOGO"))
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
	pkg, diagnostics, err := schema.BindSpec(spec, onlyThisPackage{})
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
	fmt.Fprintln(os.Stderr, "pulumi-sdks-java-dotnet:", err)
	os.Exit(1)
}
