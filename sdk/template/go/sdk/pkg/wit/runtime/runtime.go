// Package runtime allocates memory for values that cross the boundary between host and plugin.
package runtime

import (
	"runtime"
	"unsafe"
)

// received pins the memory that the host has written and the plugin has not read yet.
var received runtime.Pinner

// Allocate returns memory that stays in place until pinner lets go of it.
func Allocate(pinner *runtime.Pinner, size, _ uintptr) unsafe.Pointer {
	if size == 0 {
		return nil
	}
	// Words of eight bytes have every alignment that the contract needs.
	memory := unsafe.Pointer(unsafe.SliceData(make([]uint64, (size+7)/8)))
	pinner.Pin(memory)
	return memory
}

// Unpin lets go of the memory that the host has written. From here on, Go's references keep it.
func Unpin() {
	received.Unpin()
}
