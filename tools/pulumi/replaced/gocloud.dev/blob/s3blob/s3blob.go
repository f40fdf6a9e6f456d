// Package s3blob registers no scheme in this build: s3:// is an unknown address.
package s3blob
