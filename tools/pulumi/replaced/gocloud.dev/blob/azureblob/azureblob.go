// Package azureblob opens no bucket of Azure in this build.
package azureblob

import (
	"context"
	"errors"
	"net/url"

	"gocloud.dev/blob"
)

// Scheme is that of the addresses.
const Scheme = "azblob"

// ServiceURLOptions is empty here.
type ServiceURLOptions struct{}

// NewDefaultServiceURLOptions gives nothing to set.
func NewDefaultServiceURLOptions() *ServiceURLOptions { return &ServiceURLOptions{} }

// NewDefaultClient makes no client.
func NewDefaultClient() {}

// URLOpener refuses.
type URLOpener struct {
	MakeClient        func()
	ServiceURLOptions ServiceURLOptions
}

// OpenBucketURL refuses every address.
func (*URLOpener) OpenBucketURL(context.Context, *url.URL) (*blob.Bucket, error) {
	return nil, errors.New("the sandbox's build of pulumi has no backends of clouds; install the vendor's")
}
