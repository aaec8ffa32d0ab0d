package rpc_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kith-crm/kith/backend/internal/storetest"
	"github.com/kith-crm/kith/backend/internal/text"
)

// Whatever invisible characters a member or a stranger hides in what is written, by
// any tool, no row and no answer holds them: a model would read what people do not
// see.
func TestInvisibleCharactersAreNotKept(t *testing.T) {
	t.Parallel()
	eachPaid(t, 1_000_000, func(t *testing.T, p *paid) {
		s := newStage(t, p)
		rounds(t, 4, s.unused, func(rt *rapid.T) {
			a := s.newActor(t)
			a.hidden = true
			s.act(t, rt, a, 40, s.tools)
			for _, r := range s.rows(t, a.tenant) {
				for i, value := range r.values {
					if r.table == "files" && r.columns[i] == "content" { // kept as it came, and read by no model
						continue
					}
					if strings.ContainsFunc(value, text.Invisible) || strings.Contains(value, `\\u20`) {
						rt.Fatalf("%s.%s holds invisible characters: %+q", r.table, r.columns[i], value)
					}
				}
			}
		})
	})
}

// What was stored before invisible characters were stripped is shown without them.
func TestInvisibleCharactersOfOldRowsAreNotShown(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, url string) {
		s := storetest.Open(t, url, time.Now)
		b := serve(t, s, time.Now)
		b.member = storetest.Member(t, s, "maria")
		b.bearer = storetest.Token(t, s, b.member, b.rpcs.Scopes()...)
		id := b.call(t, create, `{"name":"Ana","bio":"Bio"}`).at("connection", "id")
		db := storetest.OpenSQL(t, url)
		if _, err := db.ExecContext(t.Context(), fmt.Sprintf("UPDATE connections SET name = 'A\u202en\U000e0041a', bio = '👩\u200d🚀\u200b' WHERE id = '%s'", id)); err != nil {
			t.Fatal(err)
		}
		got := b.call(t, get, fmt.Sprintf(`{"id":%q}`, id))
		if got.at("connection", "name") != "Ana" || got.at("connection", "bio") != "👩\u200d🚀" {
			t.Errorf("%+q", got.text())
		}
	})
}
