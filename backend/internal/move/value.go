package move

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/db"
)

// encode returns the form in the file of a value that a database returned.
func encode(kind db.ColumnKind, value any) (any, error) {
	if value == nil {
		return nil, nil //nolint:nilnil // NULL is null
	}
	switch kind {
	case db.TextColumn:
		text, ok := value.(string)
		if data, isBytes := value.([]byte); isBytes {
			text, ok = string(data), true
		}
		if ok && utf8.ValidString(text) {
			return text, nil
		}
	case db.NumberColumn:
		if n, ok := value.(int64); ok {
			return n, nil
		}
	case db.FlagColumn:
		switch v := value.(type) {
		case bool:
			return v, nil
		case int64:
			return v != 0, nil
		}
	case db.TimeColumn:
		if at, ok := value.(time.Time); ok {
			return at.UTC().Format(time.RFC3339Nano), nil
		}
	case db.BytesColumn:
		if data, ok := value.([]byte); ok {
			return base64.StdEncoding.EncodeToString(data), nil
		}
	}
	return nil, fmt.Errorf("a value of type %T does not fit a column of the kind %q", value, kind)
}

// decode returns the argument of a statement for a value of the file.
func decode(kind db.ColumnKind, value json.RawMessage) (any, error) {
	if string(value) == "null" {
		return nil, nil //nolint:nilnil // null is NULL
	}
	switch kind {
	case db.NumberColumn:
		return strconv.ParseInt(string(value), 10, 64)
	case db.FlagColumn:
		var v bool
		err := json.Unmarshal(value, &v)
		return v, err
	}
	var text string
	if err := json.Unmarshal(value, &text); err != nil {
		return nil, err
	}
	switch kind {
	case db.TextColumn:
		return text, nil
	case db.TimeColumn:
		at, err := time.Parse(time.RFC3339Nano, text)
		return at.UTC(), err
	case db.BytesColumn:
		return base64.StdEncoding.DecodeString(text)
	default:
		return nil, fmt.Errorf("a column has the kind %q", kind)
	}
}
