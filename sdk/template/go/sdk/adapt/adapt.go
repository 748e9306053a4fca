// Package adapt has the hook that changes objects before they are created in the target.
package adapt

import (
	witTypes "go.bytecodealliance.org/pkg/wit/types"
	"pivot-host.io/sdk/pivot"
	types "pivot-host.io/sdk/pivot_provider_types"
)

var hook func(pivot.Object) (*pivot.Patch, error)

// Handle sets the function that changes an object before its copy is created. A patch of nil changes nothing.
func Handle(adapt func(source pivot.Object) (*pivot.Patch, error)) { hook = adapt }

func answer(source string) witTypes.Result[witTypes.Option[string], types.Error] {
	return pivot.AnswerPatch(hook, source)
}
