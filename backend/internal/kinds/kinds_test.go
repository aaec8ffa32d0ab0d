package kinds_test

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/groups"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/kinds"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/reminders"
	"github.com/kith-crm/kith/backend/internal/timeline"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// The recorded states of every kind keep their JSON names: changes that are stored with them
// must stay readable. If this test fails because a field was added, removed or renamed,
// increment history.StateVersion, read states of the earlier version, and only then rewrite
// the golden file with -update.
func TestRecordedStatesKeepTheirNames(t *testing.T) {
	t.Parallel()
	recorded := map[string]any{
		history.Connection: &people.Connection{}, history.Relationship: &people.Relationship{}, history.DistinctPair: &people.DistinctPair{},
		history.Membership: &people.Groups{}, history.Organization: &people.Organization{}, history.Note: &timeline.Note{}, history.Interaction: &timeline.Interaction{}, history.Group: &groups.Group{},
		history.Reminder: &reminders.Reminder{}, history.Profile: &account.Profile{}, history.Settings: &account.Settings{}, history.Field: &people.Field{},
	}
	names := slices.Sorted(maps.Keys(kinds.All()))
	if diff := cmp.Diff(slices.Sorted(maps.Keys(recorded)), names); diff != "" {
		t.Fatalf("kinds without a state here:\n%s", diff)
	}
	states := map[string]any{"version": history.StateVersion}
	for kind, object := range recorded {
		fill(reflect.ValueOf(object).Elem())
		draft := history.One("", kind, "id", nil, object)
		effects, err := draft.Encode()
		if err != nil || effects[0].Version != history.StateVersion {
			t.Fatalf("%s: %+v, %v", kind, effects, err)
		}
		states[kind] = effects[0].After
	}
	got, err := json.MarshalIndent(states, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	path := filepath.Join("testdata", "states.json")
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Error(diff)
	}
}

// fill sets every field of a value, and gives every list one entry.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)))
			return
		}
		for _, field := range v.Fields() {
			fill(field)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key)
		fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	}
}
