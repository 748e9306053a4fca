// Package check has the hook that says whether the move may go on.
package check

import (
	witTypes "go.bytecodealliance.org/pkg/wit/types"
	"pivot-host.io/sdk/pivot"
	wit "pivot-host.io/sdk/pivot_provider_check"
	types "pivot-host.io/sdk/pivot_provider_types"
)

type Finding = wit.Finding

const (
	Note = wit.SeverityNote
	Warn = wit.SeverityWarn
	Wait = wit.SeverityWait
	Stop = wit.SeverityStop
)

var hook func(string) ([]Finding, error)

// Handle sets the function that checks a move at a point: before-pause, after-pause, before-commit or after-resume. Return nothing at
// other points.
func Handle(check func(point string) ([]Finding, error)) { hook = check }

func answer(point string) witTypes.Result[[]Finding, types.Error] {
	return pivot.Answer(hook(point))
}
