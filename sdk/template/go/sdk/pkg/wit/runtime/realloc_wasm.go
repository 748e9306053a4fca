package runtime

import "unsafe"

// The host calls cabi_realloc for each value that it passes to the plugin.
//
//go:wasmexport cabi_realloc
func reallocate(old unsafe.Pointer, oldSize, align, size uintptr) unsafe.Pointer {
	memory := Allocate(&received, size, align)
	copy(unsafe.Slice((*byte)(memory), size), unsafe.Slice((*byte)(old), oldSize))
	return memory
}
