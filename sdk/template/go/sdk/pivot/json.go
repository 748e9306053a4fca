package pivot

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// The standard library's encoding/json makes a plugin 60 % larger, and its start slower by as much.

// Number is a number as it is written, so that no digit is lost.
type Number string

// Parse reads a JSON value: an Object, []any, string, Number, bool or nil.
func Parse(text string) (value any, err error) {
	reader := reader{text: text}
	defer func() {
		if recover() != nil {
			value, err = nil, &Error{"invalid", "not JSON at byte " + strconv.Itoa(reader.at)}
		}
	}()
	value = reader.value()
	if reader.next(); reader.at != len(text) {
		panic("more follows")
	}
	return value, nil
}

// reader panics at a syntax error, with `at` at its place.
type reader struct {
	text string
	at   int
}

// next skips white space, and returns the byte after that; 0 at the end.
func (r *reader) next() byte {
	for ; r.at < len(r.text); r.at++ {
		if !strings.ContainsRune(" \t\r\n", rune(r.text[r.at])) {
			return r.text[r.at]
		}
	}
	return 0
}

func (r *reader) expect(word string) {
	if r.next(); !strings.HasPrefix(r.text[r.at:], word) {
		panic("another word")
	}
	r.at += len(word)
}

// items calls read for each item between two brackets.
func (r *reader) items(open, end string, read func()) {
	r.expect(open)
	for more := r.next() != end[0]; more; {
		read()
		if more = r.next() == ','; more {
			r.at++
		}
	}
	r.expect(end)
}

func (r *reader) value() any {
	switch r.next() {
	case '{':
		object := Object{}
		r.items("{", "}", func() {
			name := r.string()
			r.expect(":")
			object[name] = r.value()
		})
		return object
	case '[':
		list := []any{}
		r.items("[", "]", func() { list = append(list, r.value()) })
		return list
	case '"':
		return r.string()
	case 't':
		r.expect("true")
		return true
	case 'f':
		r.expect("false")
		return false
	case 'n':
		r.expect("null")
		return nil
	}
	begin := r.at
	for r.at < len(r.text) && strings.ContainsRune("+-.0123456789Ee", rune(r.text[r.at])) {
		r.at++
	}
	if begin == r.at {
		panic("no value")
	}
	return Number(r.text[begin:r.at])
}

func (r *reader) string() string {
	r.expect(`"`)
	length := strings.IndexAny(r.text[r.at:], `"\`)
	if r.text[r.at+length] == '"' {
		r.at += length + 1
		return r.text[r.at-length-1 : r.at-1]
	}
	var text strings.Builder
	for {
		c := r.text[r.at]
		r.at++
		switch c {
		case '"':
			return text.String()
		case '\\':
			text.WriteRune(r.escape())
		default:
			text.WriteByte(c)
		}
	}
}

func (r *reader) escape() rune {
	c := r.text[r.at]
	r.at++
	if place := strings.IndexByte("bfnrt", c); place >= 0 {
		return rune("\b\f\n\r\t"[place])
	}
	if c != 'u' {
		return rune(c)
	}
	code := r.unit()
	if !utf16.IsSurrogate(code) || !strings.HasPrefix(r.text[r.at:], `\u`) {
		return code
	}
	r.at += 2
	return utf16.DecodeRune(code, r.unit())
}

func (r *reader) unit() rune {
	code, err := strconv.ParseUint(r.text[r.at:r.at+4], 16, 16)
	if err != nil {
		panic(err)
	}
	r.at += 4
	return rune(code)
}

// Encode returns a value as JSON, with sorted names. Besides the types of Parse, it takes int.
func Encode(value any) string { return string(appendValue(nil, value)) }

func appendValue(text []byte, value any) []byte {
	switch value := value.(type) {
	case nil:
		return append(text, "null"...)
	case bool:
		return strconv.AppendBool(text, value)
	case int:
		return strconv.AppendInt(text, int64(value), 10)
	case Number:
		return append(text, value...)
	case string:
		return appendString(text, value)
	case []any:
		text = append(text, '[')
		for i, item := range value {
			if i > 0 {
				text = append(text, ',')
			}
			text = appendValue(text, item)
		}
		return append(text, ']')
	case Object:
		names := make([]string, 0, len(value))
		for name := range value {
			names = append(names, name)
		}
		slices.Sort(names)
		text = append(text, '{')
		for i, name := range names {
			if i > 0 {
				text = append(text, ',')
			}
			text = appendValue(append(appendString(text, name), ':'), value[name])
		}
		return append(text, '}')
	}
	panic("a value of JSON is an Object, []any, string, Number, int, bool or nil")
}

func appendString(text []byte, value string) []byte {
	const digits = "0123456789abcdef"
	text = append(text, '"')
	for _, r := range value {
		switch {
		case r == '"' || r == '\\':
			text = append(text, '\\', byte(r))
		case r < ' ':
			text = append(text, '\\', 'u', '0', '0', digits[r>>4], digits[r&15])
		default:
			text = utf8.AppendRune(text, r)
		}
	}
	return append(text, '"')
}
