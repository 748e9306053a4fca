// Package configure has the hook that checks the plugin's configuration when it is loaded.
package configure

import (
	witTypes "go.bytecodealliance.org/pkg/wit/types"
	"pivot-host.io/sdk/pivot"
	types "pivot-host.io/sdk/pivot_provider_types"
)

var hook func() error

// Handle sets the function that checks the configuration, usually with pivot.Config.
func Handle(check func() error) { hook = check }

func answer() witTypes.Result[witTypes.Unit, types.Error] {
	return pivot.Answer(witTypes.Unit{}, hook())
}
