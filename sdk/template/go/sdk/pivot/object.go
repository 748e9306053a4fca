package pivot

import (
	"strings"

	witTypes "go.bytecodealliance.org/pkg/wit/types"
	types "pivot-host.io/sdk/pivot_provider_types"
)

// Object is a Kubernetes object, or a part of one.
type Object map[string]any

// ParseObject reads an object.
func ParseObject(text string) (Object, error) {
	value, err := Parse(text)
	object, isObject := value.(Object)
	if err == nil && !isObject {
		err = &Error{"invalid", "not a JSON object"}
	}
	return object, err
}

// At returns the value at a path of fields, or nil.
func (o Object) At(path ...string) any {
	var value any = o
	for _, field := range path {
		fields, _ := value.(Object)
		value = fields[field]
	}
	return value
}

// Text returns the string at a path of fields, or "".
func (o Object) Text(path ...string) string {
	text, _ := o.At(path...).(string)
	return text
}

func (o Object) Name() string { return o.Text("metadata", "name") }

func (o Object) Namespace() string { return o.Text("metadata", "namespace") }

// HasLabel tells whether the object has a label, with any value.
func (o Object) HasLabel(name string) bool { return o.At("metadata", "labels", name) != nil }

// Annotation returns the value of an annotation, and whether the object has it.
func (o Object) Annotation(name string) (string, bool) {
	value, ok := o.At("metadata", "annotations", name).(string)
	return value, ok
}

// Key returns the object's identity, for problems and relations.
func (o Object) Key() ObjectKey {
	group, _, isNamed := strings.Cut(o.Text("apiVersion"), "/")
	if !isNamed {
		group = ""
	}
	key := ObjectKey{Kind: Kind{Group: group, Name: o.Text("kind")}, Name: o.Name()}
	if namespace := o.Namespace(); namespace != "" {
		key.Namespace = witTypes.Some(namespace)
	}
	return key
}

// Patch is the difference between an object and what it should be.
type Patch struct{ object, changes Object }

// Patch returns a patch that changes nothing yet.
func (o Object) Patch() *Patch { return &Patch{o, Object{}} }

// Set sets the value at a path of fields. Nil removes the field.
func (p *Patch) Set(value any, path ...string) *Patch {
	if Encode(p.object.At(path...)) == Encode(value) {
		return p
	}
	fields := p.changes
	for _, field := range path[:len(path)-1] {
		if _, isThere := fields[field].(Object); !isThere {
			fields[field] = Object{}
		}
		fields = fields[field].(Object)
	}
	fields[path[len(path)-1]] = value
	return p
}

func (p *Patch) SetLabel(name, value string) *Patch { return p.Set(value, "metadata", "labels", name) }

func (p *Patch) RemoveLabel(name string) *Patch { return p.Set(nil, "metadata", "labels", name) }

func (p *Patch) SetAnnotation(name, value string) *Patch {
	return p.Set(value, "metadata", "annotations", name)
}

func (p *Patch) RemoveAnnotation(name string) *Patch {
	return p.Set(nil, "metadata", "annotations", name)
}

// JSON returns the merge patch, and false if it changes nothing.
func (p *Patch) JSON() (string, bool) {
	if p == nil || len(p.changes) == 0 {
		return "", false
	}
	return Encode(p.changes), true
}

// AnswerPatch calls a hook that patches an object.
func AnswerPatch(hook func(Object) (*Patch, error), text string) witTypes.Result[witTypes.Option[string], types.Error] {
	object, err := ParseObject(text)
	var patch *Patch
	if err == nil {
		patch, err = hook(object)
	}
	answer := witTypes.None[string]()
	if text, changes := patch.JSON(); changes {
		answer = witTypes.Some(text)
	}
	return Answer(answer, err)
}
