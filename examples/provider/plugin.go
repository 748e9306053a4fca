// Hosts are frozen before a move and thawed after it. Their status and credentials come along, and an endpoint must answer.
package main

import (
	"pivot-host.io/sdk/check"
	"pivot-host.io/sdk/configure"
	"pivot-host.io/sdk/describe"
	"pivot-host.io/sdk/hold"
	"pivot-host.io/sdk/pivot"
	"pivot-host.io/sdk/pivot_provider_context"
	"pivot-host.io/sdk/pivot_provider_endpoints"
	"pivot-host.io/sdk/relate"
	"pivot-host.io/sdk/restore"
	"pivot-host.io/sdk/settle"
)

const paused = "infra.example.com/paused"

var (
	host   = pivot.Kind{Group: "infra.example.com", Name: "ExampleHost"}
	secret = pivot.Kind{Name: "Secret"}
)

// The endpoint is the `host:port` that must answer. Empty: none.
func readConfig() (pivot.Object, error) {
	return pivot.Config(pivot.Object{"endpoint": ""})
}

func init() {
	describe.Set(describe.Description{
		Name:    "example-hosts",
		Version: "0.1.0",
		Summary: "ExampleHosts move frozen, with status and credentials.",
		Kinds:   []describe.SeenKind{{Kind: host}},
		Changes: []describe.Change{{Hook: "hold", Kind: host}, {Hook: "restore", Kind: host}, {Hook: "settle", Kind: host}},
		Probes:  []string{"*:*"},
	})
	configure.Handle(func() error {
		_, err := readConfig()
		return err
	})
	relate.Handle(relateHost)
	check.Handle(checkEndpoint)
	hold.Handle(holdHost)
	restore.Handle(func(source, created pivot.Object) (restore.Restoration, error) {
		return restore.Copy("/status"), nil
	})
	settle.Handle(settleHost)
}

func relateHost(object pivot.Object) ([]relate.Relation, error) {
	key := object.Key()
	key.Kind, key.Name = secret, object.Text("spec", "credentials", "name")
	if key.Name == "" {
		return nil, nil
	}
	// Hosts that stay may use the credentials, too.
	return []relate.Relation{relate.Share(key)}, nil
}

func checkEndpoint(point string) ([]check.Finding, error) {
	config, err := readConfig()
	address := config.Text("endpoint")
	if err != nil || address == "" || (point != "before-pause" && point != "before-commit") {
		return nil, err
	}
	target := pivot_provider_endpoints.MakeTargetTcp(address)
	answer := pivot_provider_endpoints.Probe([]pivot_provider_endpoints.Endpoint{{Target: target, TimeoutMs: 3000}})[0]
	if !answer.IsErr() {
		return nil, nil
	}
	return []check.Finding{{Severity: check.Wait, Problem: pivot.Problem{
		Code:    "endpoint-down",
		Message: address + " does not answer (" + answer.Err().Code + ")",
		Remedy:  "start it, or correct `endpoint` in plugins.toml",
	}}}, nil
}

func holdHost(object pivot.Object) (*pivot.Patch, error) {
	if _, isPaused := object.Annotation(paused); isPaused {
		return nil, nil
	}
	return object.Patch().SetAnnotation(paused, "moving"), nil
}

func settleHost(object pivot.Object) (settle.Settlement, error) {
	value, isPaused := object.Annotation(paused)
	switch {
	case value == "moving":
		return settle.Apply(object.Patch().RemoveAnnotation(paused)), nil
	case isPaused, pivot_provider_context.WrittenSinceCommit() && isReady(object):
		// A user's pause stays, and the controller does nothing.
		return settle.Done(), nil
	}
	return settle.Wait(pivot.Problem{
		Code:    "not-ready",
		Message: "its controller has not reported it ready",
		Objects: []pivot.ObjectKey{object.Key()},
		Remedy:  "look at the controller's log in the target",
	}), nil
}

func isReady(object pivot.Object) bool {
	conditions, _ := object.At("status", "conditions").([]any)
	for _, value := range conditions {
		condition, _ := value.(pivot.Object)
		if condition.Text("type") == "Ready" && condition.Text("status") == "True" {
			return true
		}
	}
	return false
}

// The host calls the hooks.
func main() {}
