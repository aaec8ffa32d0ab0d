package rpc

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// pathAt returns the path of the value at a position of a JSON text, such as
// emails or connection_ids[2]; empty when that is the whole text or the text is
// no JSON. Line and column are 1-based, as protojson's errors have them.
func pathAt(data []byte, line, column int) string {
	target := offsetOf(data, line, column)
	decoder := json.NewDecoder(bytes.NewReader(data))
	var stack []container
	for {
		token, err := decoder.Token()
		if err != nil {
			return ""
		}
		delim, isDelim := token.(json.Delim)
		if isDelim && (delim == '}' || delim == ']') {
			stack = stack[:len(stack)-1]
			continue
		}
		isKey := step(stack, token)
		if decoder.InputOffset() > target && !isKey {
			return render(stack)
		}
		if isDelim {
			stack = append(stack, container{object: delim == '{', index: -1})
		}
	}
}

// container is an object or an array that is being read.
type container struct {
	object, keyed bool
	key           string
	index         int
}

// step takes a token into the innermost container, and tells whether it is a key.
func step(stack []container, token json.Token) (isKey bool) {
	if len(stack) == 0 {
		return false
	}
	top := &stack[len(stack)-1]
	if !top.object {
		top.index++
		return false
	}
	if !top.keyed {
		top.key, _ = token.(string)
		top.keyed = true
		return true
	}
	top.keyed = false
	return false
}

func render(stack []container) string {
	var path strings.Builder
	for _, c := range stack {
		switch {
		case c.object && path.Len() > 0:
			path.WriteString("." + c.key)
		case c.object:
			path.WriteString(c.key)
		default:
			path.WriteString("[" + strconv.Itoa(c.index) + "]")
		}
	}
	return path.String()
}

func offsetOf(data []byte, line, column int) int64 {
	start := 0
	for ; line > 1; line-- {
		end := bytes.IndexByte(data[start:], '\n')
		if end < 0 {
			break
		}
		start += end + 1
	}
	// Columns count characters.
	for i := range string(data[start:]) {
		if column--; column <= 0 {
			return int64(start + i)
		}
	}
	return int64(len(data))
}
