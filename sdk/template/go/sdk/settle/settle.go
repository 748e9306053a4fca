// Package settle has the hook that is called at the end, until it returns Done.
package settle

import (
	witTypes "go.bytecodealliance.org/pkg/wit/types"
	"pivot-host.io/sdk/pivot"
	wit "pivot-host.io/sdk/pivot_provider_settle"
	types "pivot-host.io/sdk/pivot_provider_types"
)

type Settlement = wit.Settlement

// Done: nothing is left to do.
func Done() Settlement { return wit.MakeSettlementDone() }

// Apply: apply this patch of labels and annotations, then call again. A patch that changes nothing is Done.
func Apply(patch *pivot.Patch) Settlement {
	if text, changes := patch.JSON(); changes {
		return wit.MakeSettlementPatch(text)
	}
	return Done()
}

// Wait: call again when something has changed.
func Wait(why pivot.Problem) Settlement { return wit.MakeSettlementWait(why) }

// Stop: the object can't be released. Settling ends.
func Stop(why pivot.Problem) Settlement { return wit.MakeSettlementStop(why) }

var hook func(pivot.Object) (Settlement, error)

// Handle sets the function that is called for each object in the target.
func Handle(settle func(object pivot.Object) (Settlement, error)) { hook = settle }

func answer(text string) witTypes.Result[Settlement, types.Error] {
	object, err := pivot.ParseObject(text)
	settlement := Done()
	if err == nil {
		settlement, err = hook(object)
	}
	return pivot.Answer(settlement, err)
}
