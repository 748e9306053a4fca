// Package restore has the hook that gives copies the status of their sources.
package restore

import (
	witTypes "go.bytecodealliance.org/pkg/wit/types"
	"pivot-host.io/sdk/pivot"
	wit "pivot-host.io/sdk/pivot_provider_restore"
	types "pivot-host.io/sdk/pivot_provider_types"
)

type Restoration = wit.Restoration

// Copy returns a restoration that copies fields of the source's status, by JSON pointers such as /status.
func Copy(pointers ...string) Restoration { return Restoration{Copy: pointers} }

var hook func(source, created pivot.Object) (Restoration, error)

// Handle sets the function that is called after an object was created.
func Handle(restore func(source, created pivot.Object) (Restoration, error)) { hook = restore }

func answer(sourceText, createdText string) witTypes.Result[Restoration, types.Error] {
	source, err := pivot.ParseObject(sourceText)
	var created pivot.Object
	if err == nil {
		created, err = pivot.ParseObject(createdText)
	}
	var restoration Restoration
	if err == nil {
		restoration, err = hook(source, created)
	}
	return pivot.Answer(restoration, err)
}
