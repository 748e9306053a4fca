// Package describe tells the host what the plugin is and what it asks for.
package describe

import wit "pivot-host.io/sdk/pivot_provider_describe"

type (
	Description = wit.Description
	SeenKind    = wit.SeenKind
	Change      = wit.Change
	Read        = wit.Read
	Reach       = wit.Reach
)

var description Description

// Set sets the description. Every plugin needs one.
func Set(it Description) { description = it }

func answer() Description { return description }
