package rpc_test

import "testing"

// Versions, sources and times of changes are in answers only for who asks for them, or for who expects a version.
func TestRecordOnlyIfIncluded(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		ana := b.made(t, `{"name":"Ana"}`)
		b.call(t, addNote, `{"connection_ids":["`+ana+`"],"body":"x"}`)
		b.call(t, logCall, `{"connection_ids":["`+ana+`"],"kind":"call"}`)
		for asked, c := range map[string]struct {
			got  answer
			want bool
		}{
			"lists":            {b.call(t, get, `{"id":"`+ana+`","include":["notes","interactions"]}`), false},
			"record":           {b.call(t, get, `{"id":"`+ana+`","include":["notes","interactions","record"]}`), true},
			"record of many":   {b.call(t, get, `{"ids":["`+ana+`"],"include":["record"]}`), true},
			"change":           {b.call(t, update, `{"id":"`+ana+`","bio":"one"}`), false},
			"expected version": {b.call(t, update, `{"id":"`+ana+`","bio":"two","expected_version":2}`), true},
		} {
			person := c.got.at("connection")
			if person == nil {
				person = c.got.at("connections", 0)
			}
			for what, list := range map[string][]string{"connection": {"version", "source", "created_at", "updated_at", "last_interaction_at"}, "notes": {"version", "created_at", "updated_at"}, "interactions": {"created_at"}} {
				of, _ := person.(map[string]any)
				if what != "connection" {
					if c.got.size(what) == 0 {
						continue
					}
					of, _ = c.got.at(what, 0).(map[string]any)
				}
				for _, field := range list {
					if _, has := of[field]; has != c.want {
						t.Errorf("%s: %s has %s: %v", asked, what, field, has)
					}
				}
			}
		}
	})
}
