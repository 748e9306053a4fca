// Leaves ConfigMaps with a certain label in the source: those that describe the management cluster itself. Pauses the others.
package main

import (
	"pivot-host.io/sdk/configure"
	"pivot-host.io/sdk/describe"
	"pivot-host.io/sdk/hold"
	"pivot-host.io/sdk/pivot"
	"pivot-host.io/sdk/relate"
)

const paused = "example.com/paused"

var configMap = pivot.Kind{Name: "ConfigMap"}

// The configuration is [plugins.{{name}}.config]. The label is the one of ConfigMaps that stay.
func readConfig() (pivot.Object, error) {
	return pivot.Config(pivot.Object{"label": "example.com/stays"})
}

// The component has the hooks whose packages are imported.
func init() {
	describe.Set(describe.Description{
		Name:    "{{name}}",
		Version: "0.1.0",
		Summary: "{{name}}: its author hasn't said yet what it does",
		Kinds:   []describe.SeenKind{{Kind: configMap}},
		Changes: []describe.Change{{Hook: "hold", Kind: configMap}},
	})
	configure.Handle(func() error {
		_, err := readConfig()
		return err
	})
	relate.Handle(relateObject)
	hold.Handle(holdObject)
}

func relateObject(object pivot.Object) ([]relate.Relation, error) {
	config, err := readConfig()
	label := config.Text("label")
	if err != nil || !object.HasLabel(label) {
		return nil, err
	}
	return []relate.Relation{relate.Leave("it is labelled " + label)}, nil
}

func holdObject(object pivot.Object) (*pivot.Patch, error) {
	if _, isPaused := object.Annotation(paused); isPaused {
		return nil, nil
	}
	return object.Patch().SetAnnotation(paused, "moving"), nil
}

// The host calls the hooks.
func main() {}
