// Package orderedmap has maps that stay empty: no document is read.
package orderedmap

import "iter"

// Map is empty.
type Map[K comparable, V any] struct{}

// New makes one.
func New[K comparable, V any]() *Map[K, V] { return &Map[K, V]{} }

// Len is 0.
func Len[K comparable, V any](*Map[K, V]) int { return 0 }

// Get finds nothing.
func (*Map[K, V]) Get(K) (value V, found bool) { return }

// GetOrZero finds nothing.
func (*Map[K, V]) GetOrZero(K) (value V) { return }

// Set keeps nothing.
func (*Map[K, V]) Set(K, V) {}

// Delete has nothing to remove.
func (*Map[K, V]) Delete(K) {}

// FromOldest gives nothing.
func (*Map[K, V]) FromOldest() iter.Seq2[K, V] { return func(func(K, V) bool) {} }

// KeysFromOldest gives nothing.
func (*Map[K, V]) KeysFromOldest() iter.Seq[K] { return func(func(K) bool) {} }
