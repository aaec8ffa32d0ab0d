package integration_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"image"
	"image/png"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/billing"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/idempotency"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/kinds"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/photos"
	"github.com/kith-crm/kith/backend/internal/search"
	"github.com/kith-crm/kith/backend/internal/search/vector"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/timeline"
)

// secondFactor gives a member an app for one-time codes, a passkey, recovery codes and a sign-in that waits.
func secondFactor(t *testing.T, s *db.DB, owner tenant.ID, username string) {
	t.Helper()
	secret := &account.TOTPSecret{MemberID: owner, Secret: "sealed-" + username, Access: account.Access{Epoch: dbtest.Epoch(t, s, owner)}}
	if _, err := account.CreateTOTPSecret(t.Context(), s, secret, account.NewRecoveryCodes(), "session-"+username); err != nil {
		t.Fatal(err)
	}
	if err := account.CreatePasskeyChallenge(t.Context(), s, "challenge-"+username); err != nil {
		t.Fatal(err)
	}
	key := &account.Passkey{
		MemberID: owner, CredentialID: "credential-" + username, PublicKey: []byte{1}, Name: username, Access: account.Access{Epoch: dbtest.Epoch(t, s, owner)},
	}
	if _, err := account.CreatePasskey(t.Context(), s, key, "challenge-"+username, nil, "session-"+username); err != nil {
		t.Fatal(err)
	}
	if err := account.CreateSignInStep(t.Context(), s, &account.SignInStep{Hash: "step-" + username, MemberID: owner, AccessEpoch: dbtest.Epoch(t, s, owner)}); err != nil {
		t.Fatal(err)
	}
}

// deviceLogin lets a program wait for the member, and returns its secret and that of its page.
func deviceLogin(t *testing.T, s *db.DB, network string) (secret, page string) {
	t.Helper()
	secret, page, err := account.BeginDeviceLogin(t.Context(), s, "DAVx5/4.5", network)
	if err != nil {
		t.Fatal(err)
	}
	return secret, page
}

// allowed makes a device of the program that waits.
func allowed(t *testing.T, s *db.DB, owner tenant.ID, page, name string) (*account.PersonalToken, error) {
	t.Helper()
	device, _ := account.NewDevice(account.Access{Owner: owner, Epoch: dbtest.Epoch(t, s, owner)}, name, false)
	return device, account.AllowDeviceLogin(t.Context(), s, page, device)
}

// furnish gives a member one of everything.
func furnish(t *testing.T, s *db.DB, owner tenant.ID, username string) {
	t.Helper()
	dbtest.Token(t, s, owner, "connections")
	login(t, s, owner, "session-"+username)
	c := &oauth.Client{Name: "agent of " + username, RedirectURIs: []string{"https://a.example/cb"}}
	if err := oauth.CreateClient(t.Context(), s, c); err != nil {
		t.Fatal(err)
	}
	f := flow{s: s, client: c.ID, session: "session-" + username, owner: owner, name: username}
	f.redeem(t, f.code(t, "code-"+username), "1")
	f.code(t, "open-code-"+username)
	f.request(t, "request-"+username)
	mailLink(t, s, owner, username, "link-"+username, account.PurposeReset)
	if err := account.CreateSignUp(t.Context(), s, &account.SignUp{Hash: "sign-up-" + username, Username: username, Email: username + "@people.example"}); err != nil {
		t.Fatal(err)
	}
	linked(t, s, owner, "sub-"+username)
	secondFactor(t, s, owner, username)
	_, page := deviceLogin(t, s, "")
	if _, err := allowed(t, s, owner, page, username); err != nil {
		t.Fatal(err)
	}
	if err := account.UpdateProfile(t.Context(), s, &account.Profile{MemberID: owner, Name: username, Visibility: account.Public, Listed: true}); err != nil {
		t.Fatal(err)
	}
	event(t, s, owner)
	if _, err := s.NewWrite("INSERT INTO member_addresses (member_id, email, ended_at) VALUES (?, ?, ?)", owner, "old-"+username+"@people.example", s.Now()).Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := account.CreateNotMeLink(t.Context(), s, owner, username+"@people.example"); err != nil {
		t.Fatal(err)
	}
	answered(t, s, "answered-"+username, "sub-"+username, username)
	connectionID := ""
	err := write(t, s, owner, func(ctx context.Context, u *db.Tx) error {
		made, err := people.Create(ctx, u, people.Draft{
			Name: username, Organization: username, Title: username, Emails: []string{username + "@x.example"}, Tags: []string{username},
		})
		if err != nil {
			return err
		}
		if _, _, err := timeline.AddNote(ctx, u, timeline.Note{Body: username, ConnectionIDs: []string{made.Connection.ID}}); err != nil {
			return err
		}
		connectionID = made.Connection.ID
		if _, err := photos.Set(ctx, u, made.Connection.ID, photo(t)); err != nil {
			return err
		}
		if _, err = timeline.LogInteractions(ctx, u, timeline.Interaction{Kind: "call", Summary: username, ConnectionIDs: []string{made.Connection.ID}}); err != nil {
			return err
		}
		if _, _, err := job.StartJob(ctx, u, job.Draft{Kind: importer.JobKind, Params: username}); err != nil {
			return err
		}
		if _, err := keepDecision(ctx, u, username); err != nil {
			return err
		}
		if _, err := bring(ctx, u, made.Connection.ID, username); err != nil {
			return err
		}
		gone, err := people.Create(ctx, u, people.Draft{Name: "gone " + username})
		if err != nil {
			return err
		}
		if _, err := people.DeleteConnections(ctx, u, kinds.All(), gone.Connection.ID); err != nil {
			return err
		}
		row := vectorRow(made.Connection.ID, username, 1)
		row.Model = username
		if err := search.PutEmbeddings(ctx, u, 1, []vector.Row{row}, nil); err != nil {
			return err
		}
		_, err = arrange(ctx, u, made.Connection.ID, username)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	keepCards(t, s, owner, connectionID, username)
	key := idempotency.Key{Scope: "pat_" + username, Name: username, Fingerprint: username, Tenant: owner}
	_, err = dbtest.Keys(t, s).KeepAnswer(t.Context(), key, &billing.Charge{Tenant: owner, Tool: username, Price: 1, CredentialID: key.Scope, CredentialName: username}, func(billing.Receipt) ([]byte, error) {
		return []byte(username), nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// photo returns a small photo.
func photo(t *testing.T) *photos.Photo {
	t.Helper()
	var file bytes.Buffer
	if err := png.Encode(&file, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	p, err := photos.Read(t.Context(), file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// tables returns the names of all tables, except the internal ones of SQLite's full-text index: the
// virtual table of the index has their rows.
func tables(t *testing.T, db *sql.DB, postgres bool) []string {
	t.Helper()
	query := "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'directory_words_%'"
	if postgres {
		query = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
	}
	rows, err := db.Query(query)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return names
}

// dump returns every row of every table as text, by table.
func dump(t *testing.T, url string) map[string][]string {
	t.Helper()
	q := dbtest.OpenSQL(t, url)
	out := map[string][]string{}
	for _, table := range tables(t, q, db.IsPostgres(url)) {
		out[table] = rowsOf(t, q, table)
	}
	return out
}

// rowsOf returns every row of a table as text.
func rowsOf(t *testing.T, db *sql.DB, table string) []string {
	t.Helper()
	rows, err := db.Query("SELECT * FROM " + table)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for rows.Next() {
		values, targets := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			targets[i] = &values[i]
		}
		if err := rows.Scan(targets...); err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%v", values))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// Deleting a member deletes their rows in every table, and no rows of other members. A new
// table without a reference to its member fails here.
func TestDeleteMemberLeavesNothing(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		s := dbtest.Open(t, url, time.Now)
		keeper := dbtest.Member(t, s, "keeper")
		furnish(t, s, keeper, "keeper")
		before := dump(t, url)
		leaver := dbtest.Member(t, s, "xylophone")
		furnish(t, s, leaver, "xylophone")
		full := dump(t, url)
		unowned := map[string]bool{"schema_migrations": true, "sandbox_states": true, "installation": true, "login_attempts": true, "clients": true, "sunsets": true, "owner_links": true, "passkey_challenges": true}
		for table, rows := range full {
			if len(rows) <= len(before[table]) && !unowned[table] {
				t.Errorf("the test puts nothing into %s", table)
			}
		}
		if err := account.DeleteMember(t.Context(), s, leaver); err != nil {
			t.Fatal(err)
		}
		after := dump(t, url)
		delete(after, "clients") // a client has no owner; the sweep deletes it
		delete(before, "clients")
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("(-before +after):\n%s", diff)
		}
		if text := fmt.Sprint(after); strings.Contains(text, "xylophone") || strings.Contains(text, string(leaver)) {
			t.Error("something of the member is left")
		}
		if err := account.DeleteMember(t.Context(), s, leaver); !fault.Is(err, fault.NotFound) {
			t.Errorf("a second time: %v", err)
		}
	})
}

func TestDeleteMemberLeavesTheSandboxAlone(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		s := dbtest.Open(t, url, time.Now)
		demo := dbtest.Member(t, s, "demo-one")
		readOnly(t, url, demo)
		if err := account.DeleteMember(t.Context(), s, demo); !fault.Is(err, fault.ReadOnly) {
			t.Errorf("got %v", err)
		}
		if _, err := account.GetMemberByID(t.Context(), s, demo); err != nil {
			t.Errorf("the account is gone: %v", err)
		}
	})
}

// When a member is deleted while their agents write, nothing is left, in any order of the
// two.
func TestDeleteMemberWhileAgentsWrite(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		s := dbtest.Open(t, url, time.Now)
		empty := dump(t, url)
		leaver := dbtest.Member(t, s, "leaver")
		errs := together(20, func(n int) error {
			if n == 10 {
				return account.DeleteMember(t.Context(), s, leaver)
			}
			return s.Tenant(leaver, false).Write(t.Context(), db.Actor{}, func(ctx context.Context, u *db.Tx) error {
				_, err := people.Create(ctx, u, people.Draft{Name: "x", Organization: fmt.Sprintf("o%d", n), Title: "t"})
				return err
			})
		})
		for n, err := range errs {
			if n == 10 && err != nil || err != nil && !fault.Is(err, fault.NotFound) {
				t.Errorf("%d: %v", n, err)
			}
		}
		if diff := cmp.Diff(empty, dump(t, url)); diff != "" {
			t.Errorf("left (-want +got):\n%s", diff)
		}
	})
}
