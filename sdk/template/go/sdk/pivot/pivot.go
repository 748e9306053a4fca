// Package pivot has objects, patches, and the messages and errors of a plugin.
package pivot

import (
	"errors"

	witTypes "go.bytecodealliance.org/pkg/wit/types"
	config "pivot-host.io/sdk/pivot_provider_config"
	log "pivot-host.io/sdk/pivot_provider_log"
	types "pivot-host.io/sdk/pivot_provider_types"
)

type (
	Kind      = types.Kind
	ObjectKey = types.ObjectKey
	Problem   = types.Problem
)

// Error is an error with a code for programs. Other errors of hooks get the code "failed".
type Error types.Error

func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Answer returns what a hook answers the host.
func Answer[T any](value T, err error) witTypes.Result[T, types.Error] {
	if err == nil {
		return witTypes.Ok[T, types.Error](value)
	}
	var coded *Error
	if !errors.As(err, &coded) {
		coded = &Error{"failed", err.Error()}
	}
	return witTypes.Err[T](types.Error(*coded))
}

// Config returns the plugin's section of plugins.toml, with the defaults where the operator wrote nothing. A field without a default,
// or of another type, is an error.
func Config(defaults Object) (Object, error) {
	config, err := ParseObject(config.Get())
	if err != nil {
		return nil, err
	}
	for name, value := range config {
		wanted, isKnown := defaults[name]
		if !isKnown {
			return nil, &Error{"invalid", "configuration: " + name + ": unknown field"}
		}
		if typeName(value) != typeName(wanted) {
			return nil, &Error{"invalid", "configuration: " + name + ": it must be " + typeName(wanted)}
		}
	}
	for name, value := range defaults {
		if _, isThere := config[name]; !isThere {
			config[name] = value
		}
	}
	return config, nil
}

func typeName(value any) string {
	switch value.(type) {
	case string:
		return "a string"
	case bool:
		return "true or false"
	case int, Number:
		return "a number"
	case []any:
		return "a list"
	}
	return "a table"
}

// Info writes a line to the operator's log.
func Info(line string) { log.Write(log.LevelInfo, line) }

// Warn writes a line that needs a person's attention to the operator's log.
func Warn(line string) { log.Write(log.LevelWarn, line) }
