// Package relate has the hook that says which objects belong together.
package relate

import (
	witTypes "go.bytecodealliance.org/pkg/wit/types"
	"pivot-host.io/sdk/pivot"
	wit "pivot-host.io/sdk/pivot_provider_relate"
	types "pivot-host.io/sdk/pivot_provider_types"
)

type Relation = wit.Relation

// Link: the object belongs to another one, moves when that moves and after it.
func Link(key pivot.ObjectKey) Relation { return wit.MakeRelationLink(key) }

// Need: when the object moves, another one must move too.
func Need(key pivot.ObjectKey) Relation { return wit.MakeRelationNeed(key) }

// Share: when the object moves, another one must be copied too, and is kept in the source.
func Share(key pivot.ObjectKey) Relation { return wit.MakeRelationShare(key) }

// Leave: the object stays in the source.
func Leave(why string) Relation { return wit.MakeRelationLeave(why) }

// Keep: the object is copied, and not deleted from the source.
func Keep(why string) Relation { return wit.MakeRelationKeep(why) }

var hook func(pivot.Object) ([]Relation, error)

// Handle sets the function that is called for each object while the plan is made.
func Handle(relate func(source pivot.Object) ([]Relation, error)) { hook = relate }

func answer(source string) witTypes.Result[[]Relation, types.Error] {
	object, err := pivot.ParseObject(source)
	var relations []Relation
	if err == nil {
		relations, err = hook(object)
	}
	return pivot.Answer(relations, err)
}
