package rpc_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/proto/catalog"
)

// The tools of a member whose quota is used up: those that add are refused with a sentence that says what
// to do and are not charged; those that read, delete, undo or cancel still work.
func TestToolsOfAFullAccount(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		const quota = 1 << 20
		s, err := db.Open(t.Context(), db.Config{URL: url, Now: time.Now, MemberBytes: quota})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		b := serve(t, s, time.Now)
		b.member = dbtest.Member(t, s, "maria")
		b.bearer = dbtest.Token(t, s, b.member, b.rpcs.Scopes()...)
		ana, _ := b.added(t, `{"name":"Ana Lima"}`)
		note := b.call(t, addNote, fmt.Sprintf(`{"connection_ids":[%q],"body":"x"}`, ana))
		undoable, _ := b.added(t, `{"name":"Ben Bell"}`)
		changeID, _ := b.call(t, update, fmt.Sprintf(`{"id":%q,"nickname":"Baker"}`, undoable)).at("change_id").(string)
		data := s.Tenant(b.member, false)
		err = data.Write(t.Context(), db.Actor{}, func(ctx context.Context, tx *db.Tx) error {
			kept, _, err := data.Space(ctx)
			if err == nil {
				err = importer.InsertFile(ctx, tx, importer.NewFile("full.csv", []byte(strings.Repeat("x", quota-int(kept)))))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for procedure, body := range map[string]string{
			create: `{"name":"Cleo"}`, addNote: fmt.Sprintf(`{"connection_ids":[%q],"body":"x"}`, ana),
			update: fmt.Sprintf(`{"id":%q,"nickname":"Cook"}`, ana), importFile: `{"filename":"a.csv","content":"Name\nDan"}`,
		} {
			got := b.call(t, procedure, body)
			if got.code() != "failed_precondition" || !strings.Contains(got.message(), "the account is full") || !strings.Contains(got.message(), "empties the bin") {
				t.Errorf("%s: %v", procedure, got.body)
			}
			if charged := got.header.Get("Kith-Credits-Charged"); charged != "" {
				t.Errorf("%s was charged %s", procedure, charged)
			}
		}
		if got := b.call(t, getAccount, `{}`); got.at("storage") != "1.0 MB of 1.0 MB" {
			t.Errorf("get_account: %v", got.at("storage"))
		}
		noteID, _ := note.at("note", "id").(string)
		for _, c := range []struct{ tool, body string }{
			{"search_connections", `{"query":"Ana"}`}, {"list_changes", `{}`}, {"export_connections", `{"format":"csv"}`},
			{"undo_change", fmt.Sprintf(`{"change_id":%q}`, changeID)},
			{"delete_timeline_entry", fmt.Sprintf(`{"id":%q}`, noteID)},
			{"delete_connection", fmt.Sprintf(`{"id":%q,"confirm_name":"Ana Lima"}`, ana)},
		} {
			if got := b.call(t, procedureOf(t, b.rpcs, c.tool), c.body); got.status != 200 {
				t.Errorf("%s: %v", c.tool, got.body)
			}
		}
	})
}

func procedureOf(t *testing.T, rpcs *catalog.Catalog, tool string) string {
	t.Helper()
	found, ok := rpcs.Tool(tool)
	if !ok {
		t.Fatalf("there is no tool %s", tool)
	}
	return found.Procedure
}
