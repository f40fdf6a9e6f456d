// Package s3 has the type that Pulumi's state backend hands to a bucket of S3, which this build does not have.
package s3

// CopyObjectInput is the request to copy an object.
type CopyObjectInput struct{ CopySource *string }
