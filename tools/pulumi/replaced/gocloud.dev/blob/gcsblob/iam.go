package gcsblob
