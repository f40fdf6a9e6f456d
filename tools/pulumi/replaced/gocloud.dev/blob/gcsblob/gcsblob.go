// Package gcsblob opens no bucket of Google Cloud in this build.
package gcsblob

// Scheme is that of the addresses.
const Scheme = "gs"
