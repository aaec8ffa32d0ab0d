package search

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/search/index"
)

// Every filter of a query can be left out, so that an empty answer can tell which one fails.
func TestEveryFilterCanBeLeftOut(t *testing.T) {
	t.Parallel()
	q := index.Query{}
	v := reflect.ValueOf(&q).Elem()
	for _, f := range v.Fields() {
		switch f.Kind() {
		case reflect.Slice:
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
		case reflect.Pointer:
			f.Set(reflect.New(f.Type().Elem()))
		case reflect.String:
			f.SetString("x")
		case reflect.Int:
			f.SetInt(1)
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Struct:
			if _, ranged := reflect.TypeAssert[index.DateRange](f); ranged {
				f.Set(reflect.ValueOf(index.DateRange{From: index.Date{Year: 1}}))
			} else {
				f.Set(reflect.ValueOf(time.Unix(1, 0)))
			}
		}
	}
	for _, f := range filters {
		f.drop(&q)
	}
	kept := []string{"Text", "Archived", "Sort", "Reverse", "SortField", "SortNumber", "Now", "Zone", "Offset", "Limit"}
	for field, value := range v.Fields() {
		if !value.IsZero() && !slices.Contains(kept, field.Name) {
			t.Errorf("no filter leaves out %s", field.Name)
		}
	}
}
