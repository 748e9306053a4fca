// Package wit_types has the types of the contract that Go lacks.
package wit_types

const (
	OptionNone uint8 = 0
	OptionSome uint8 = 1
	ResultOk   uint8 = 0
	ResultErr  uint8 = 1
)

// Option is a value that may be missing. The zero value is.
type Option[T any] struct {
	isSome bool
	value  T
}

func Some[T any](value T) Option[T] { return Option[T]{true, value} }

func None[T any]() Option[T] { return Option[T]{} }

func (o Option[T]) IsSome() bool { return o.isSome }

func (o Option[T]) Tag() uint8 {
	if o.isSome {
		return OptionSome
	}
	return OptionNone
}

// Some returns the value. It panics if the value is missing.
func (o Option[T]) Some() T {
	if !o.isSome {
		panic("the option has no value")
	}
	return o.value
}

// Result is a value, or an error.
type Result[T, E any] struct {
	isErr bool
	value T
	err   E
}

func Ok[T, E any](value T) Result[T, E] { return Result[T, E]{value: value} }

func Err[T, E any](err E) Result[T, E] { return Result[T, E]{isErr: true, err: err} }

func (r Result[T, E]) IsErr() bool { return r.isErr }

func (r Result[T, E]) Tag() uint8 {
	if r.isErr {
		return ResultErr
	}
	return ResultOk
}

// Ok returns the value. It panics if there is an error.
func (r Result[T, E]) Ok() T {
	if r.isErr {
		panic("the result is an error")
	}
	return r.value
}

// Err returns the error. It panics if there is none.
func (r Result[T, E]) Err() E {
	if !r.isErr {
		panic("the result is no error")
	}
	return r.err
}

// Unit is the value of a result that has none.
type Unit struct{}

// Tuple2 is a pair.
type Tuple2[A, B any] struct {
	F0 A
	F1 B
}
