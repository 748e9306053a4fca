// Package hold has the hook that pauses objects of the provider.
package hold

import (
	witTypes "go.bytecodealliance.org/pkg/wit/types"
	"pivot-host.io/sdk/pivot"
	types "pivot-host.io/sdk/pivot_provider_types"
)

var hook func(pivot.Object) (*pivot.Patch, error)

// Handle sets the function that pauses an object of the source: labels and annotations only. The host undoes it. A patch of nil changes nothing.
func Handle(hold func(source pivot.Object) (*pivot.Patch, error)) { hook = hold }

func answer(source string) witTypes.Result[witTypes.Option[string], types.Error] {
	return pivot.AnswerPatch(hook, source)
}
