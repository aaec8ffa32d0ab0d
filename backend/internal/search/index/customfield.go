package index

import (
	"strconv"
	"strings"

	"github.com/kith-crm/kith/backend/internal/text"
)

// FieldValue is the value of a custom field of a person.
type FieldValue struct {
	// Key is the folded name of the field.
	Key string
	// Name and Type are the field's, as it is stored: see people.Field.
	Name, Type, Value string
}

// FieldFilter is a condition on a custom field.
type FieldFilter struct {
	// Key is the folded name of the field.
	Key string
	// Number compares values as numbers, not as texts.
	Number bool
	// Missing wants no value. Text is part of the value, ignoring case and accents; From and To are bounds, both inclusive, of
	// which one may be empty. Without any of them, every value passes.
	Missing        bool
	Text, From, To string
}

// fieldValue returns the value of a custom field; false for none.
func (d *Document) fieldValue(key string) (string, bool) {
	for _, v := range d.Fields {
		if v.Key == key {
			return v.Value, true
		}
	}
	return "", false
}

// holds reports whether a document passes.
func (f *FieldFilter) holds(d *Document) bool {
	value, known := d.fieldValue(f.Key)
	switch {
	case !known || f.Missing:
		return known != f.Missing
	case f.Text != "":
		return strings.Contains(text.Fold(value), f.Text)
	case f.Number:
		n, err := strconv.ParseFloat(value, 64)
		from, to := parseBound(f.From), parseBound(f.To)
		return err == nil && (from == nil || n >= *from) && (to == nil || n <= *to)
	}
	// A partial date passes if one of its days does.
	return (f.From == "" || lastDay(value) > f.From) && (f.To == "" || value <= lastDay(f.To))
}

func parseBound(s string) *float64 {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return nil
	}
	return &n
}

// sortValue returns the value of a custom field for the order: a number, or a text to compare.
func (p *plan) sortValue(d *Document) (n float64, folded string, known bool) {
	value, known := d.fieldValue(p.sortField)
	if p.sortNumber {
		n, err := strconv.ParseFloat(value, 64)
		return n, "", known && err == nil
	}
	return 0, text.Fold(value), known
}

// text is how a value is found and shown in texts about a person.
func (v FieldValue) text() string { return v.Name + ": " + v.Value }
