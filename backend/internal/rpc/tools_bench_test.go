package rpc_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/search"
	"github.com/kith-crm/kith/backend/internal/search/vector"
	"github.com/kith-crm/kith/backend/internal/timeline"
	"github.com/kith-crm/kith/proto/connectheader"
)

// BenchmarkTools measures the cost of each tool for a member with many people, compared with
// search_connections. cpu-ms/op is the time of this process and of the PostgreSQL server
// processes that serve it; x-search is its ratio to search_connections of the same run.
func BenchmarkTools(b *testing.B) {
	for _, engine := range []string{"sqlite", "postgres"} {
		for _, size := range []int{1_000, 10_000, 100_000} {
			b.Run(fmt.Sprintf("%s/%d", engine, size), func(b *testing.B) {
				url := ""
				if engine == "sqlite" {
					url = dbtest.SQLite(b)
				} else {
					url = dbtest.Postgres(b)
				}
				benchmarkTools(b, newBenched(b, url, size, false))
			})
		}
	}
}

// BenchmarkFullCards measures what cards cost that are full: 3 addresses, 4 labelled handles, 2 accounts and 5 custom fields for everybody.
// x-plain is the ratio of processor time to that for the same people without them, in the same run.
func BenchmarkFullCards(b *testing.B) {
	const size = 10_000
	for _, engine := range []string{"sqlite", "postgres"} {
		b.Run(engine, func(b *testing.B) {
			plain := map[string]float64{}
			for _, full := range []bool{false, true} {
				url := ""
				if engine == "sqlite" {
					url = dbtest.SQLite(b)
				} else {
					url = dbtest.Postgres(b)
				}
				m := newBenched(b, url, size, full)
				id := func(n int) string { return m.ids[(n*7919+11)%len(m.ids)] }
				for _, c := range []struct {
					name, tool string
					body       func(n int) string
				}{
					{"search", "search_connections", func(n int) string { return fmt.Sprintf(`{"query":%q}`, benchName((n*7919+11)%size)) }},
					{"list", "search_connections", func(int) string { return `{"limit":50}` }},
					{"person", "get_connection", func(n int) string { return fmt.Sprintf(`{"id":%q}`, id(n)) }},
					{"export", "export_connections", func(n int) string {
						return fmt.Sprintf(`{"format":"csv","ids":[%q,%q,%q,%q]}`, id(n), id(n+1), id(n+2), id(n+3))
					}},
					{"index", "", nil},
				} {
					b.Run(fmt.Sprintf("%s/full=%v", c.name, full), func(b *testing.B) {
						work := func() {
							if _, err := search.LoadDocuments(b.Context(), m.store.Tenant(m.member, true), -1); err != nil {
								b.Fatal(err)
							}
						}
						if c.body != nil {
							rule, _ := m.rpcs.Tool(c.tool)
							work = func() { m.serve(b, rule.Procedure, c.body(m.next()), false) }
						}
						work() // what is loaded once
						before, n := m.cpu(b), 0
						for b.Loop() {
							work()
							n++
						}
						used := (m.cpu(b) - before).Seconds() * 1000 / float64(n)
						b.ReportMetric(used, "cpu-ms/op")
						if !full {
							plain[c.name] = used
						} else if plain[c.name] > 0 {
							b.ReportMetric(used/plain[c.name], "x-plain")
						}
					})
				}
			}
		})
	}
}

// fullCard fills the card of the nth person.
func fullCard(c *people.Connection, n int) {
	for i, label := range []string{"home", "work", "summer house"} {
		c.Addresses = append(c.Addresses, people.Address{Label: label, Street: fmt.Sprint("Street ", n, " ", i), Locality: fmt.Sprint("Town ", n%50), Postcode: fmt.Sprint(10_000 + n), Country: "PT"})
	}
	c.Handles = append(c.Handles, people.Handle{Kind: people.KindEmail, Value: fmt.Sprintf("q%d@home.example", n), Label: "home"},
		people.Handle{Kind: people.KindPhone, Value: fmt.Sprintf("+4940%07d", n), Label: "mobile"})
	c.Handles[0].Label, c.Handles[1].Label = "work", "work"
	c.Accounts = []people.Account{{Service: "signal", Handle: fmt.Sprintf("+4940%07d", n)}, {Service: "mastodon", Handle: fmt.Sprintf("@p%d@social.example", n), Label: "home"}}
	for i, name := range []string{"Allergies", "Club", "Shirt", "Shoe size", "Visited"} {
		c.Fields = append(c.Fields, people.FieldValue{Name: name, Type: people.FieldText, Value: fmt.Sprint("value ", (n+i)%30)})
	}
}

func benchmarkTools(b *testing.B, m *benched) {
	id := func(n int) string { return m.ids[(n*7919+11)%len(m.ids)] }
	name := func(n int) string { return benchName((n*7919 + 11) % len(m.ids)) }
	search := 0.0
	for _, c := range []struct {
		tool string
		body func(n int) string
	}{
		{"search_connections", func(n int) string { return fmt.Sprintf(`{"query":%q}`, name(n)) }},
		{"get_connection", func(n int) string { return fmt.Sprintf(`{"id":%q}`, id(n)) }},
		{"find_similar_connections", func(n int) string { return fmt.Sprintf(`{"connection_id":%q}`, id(n)) }},
		{"suggest_introductions", func(int) string { return `{}` }},
		{"suggest_introductions/one", func(n int) string { return fmt.Sprintf(`{"connection_id":%q}`, id(n)) }},
		{"find_duplicates", func(int) string { return `{}` }},
		{"find_duplicates/one", func(n int) string { return fmt.Sprintf(`{"connection_id":%q}`, id(n)) }},
		{"prepare_meeting", func(n int) string { return fmt.Sprintf(`{"connection_ids":[%q]}`, id(n)) }},
		{"prepare_meeting/three", func(n int) string { return fmt.Sprintf(`{"connection_ids":[%q,%q,%q]}`, id(n), id(n+1), id(n+2)) }},
		{"resolve_people", func(n int) string {
			return fmt.Sprintf(`{"entries":["p%d@people.example",%q,%q]}`, n%len(m.ids), name(n), name(n+1))
		}},
		{"list_groups", func(int) string { return `{}` }},
		{"list_timeline", func(int) string { return `{}` }},
		{"list_timeline/one", func(n int) string { return fmt.Sprintf(`{"connection_id":%q}`, id(n)) }},
		{"list_changes", func(int) string { return `{}` }},
		{"get_account", func(int) string { return `{}` }},
		{"list_due", func(int) string { return `{}` }},
		{"find_people_at", func(n int) string { return fmt.Sprintf(`{"organization":"Org %d"}`, n%50) }},
		{"get_network_stats", func(int) string { return `{}` }},
		{"search_directory", func(int) string { return `{"query":"ana"}` }},
		{"create_connection", func(n int) string {
			return fmt.Sprintf(`{"name":"Newcomer %d","organization":"Org %d","title":"Engineer","emails":["new%d@x.example"],"tags":["Tag 1"]}`, n, n%50, n)
		}},
		{"update_connection", func(n int) string { return fmt.Sprintf(`{"id":%q,"nickname":"nick %d"}`, id(n), n) }},
		{"add_note", func(n int) string { return fmt.Sprintf(`{"connection_ids":[%q],"body":"likes tea %d"}`, id(n), n) }},
		{"log_interaction", func(n int) string {
			return fmt.Sprintf(`{"connection_ids":[%q],"kind":"call","summary":"spoke %d"}`, id(n), n)
		}},
		{"create_reminder", func(n int) string {
			return fmt.Sprintf(`{"connection_id":%q,"text":"ask %d","due_on":"2026-12-01"}`, id(n), n)
		}},
		{"complete_reminder", func(n int) string { return fmt.Sprintf(`{"id":%q}`, m.reminder(n)) }},
		{"update_membership", func(n int) string {
			return fmt.Sprintf(`{"connection_ids":[%q],"add_groups":["Group %d"]}`, id(n), n%20)
		}},
	} {
		b.Run(c.tool, func(b *testing.B) {
			tool, _, _ := strings.Cut(c.tool, "/")
			rule, ok := m.rpcs.Tool(tool)
			if !ok {
				b.Fatalf("no tool %s", tool)
			}
			keyed := rule.Writes
			m.serve(b, rule.Procedure, c.body(m.next()), keyed) // what is loaded once
			b.ReportAllocs()
			before := m.cpu(b)
			n := 0
			for b.Loop() {
				m.serve(b, rule.Procedure, c.body(m.next()), keyed)
				n++
			}
			used := (m.cpu(b) - before).Seconds() * 1000 / float64(n)
			b.ReportMetric(used, "cpu-ms/op")
			if c.tool == "search_connections" {
				search = used
			}
			if search > 0 {
				b.ReportMetric(used/search, "x-search")
			}
		})
	}
}

// benched is a member with many people, and a backend.
type benched struct {
	*paid

	handler http.Handler
	ids     []string
	// reminders are open ones, to be completed.
	reminders []string
	calls     int
	full      bool
	// notes makes the notes about a person instead of those that newBenched describes, and no interactions.
	notes func(now time.Time, who string) []*timeline.Note
}

func (m *benched) next() int { m.calls++; return m.calls }

// reminder returns one that is open.
func (m *benched) reminder(n int) string { return m.reminders[n%len(m.reminders)] }

const (
	benchGiven  = "Ana Ben Cem Dora Eli Fay Gil Hana Ida Jon Kai Lea Max Nia Ole Pia Raj Sara Tom Uma Vera Wim Xia Yan Zoe Ada Bo Cleo Dan Eva"
	benchTitles = "Engineer,Founder,Designer,Product Manager,Head of Sales,Researcher,Investor,Recruiter,Lawyer,Account Executive"
)

// benchName is the name of the nth person; a few people have the same.
func benchName(n int) string {
	parts := strings.Fields("ba be bo da de do fa fi ga go ha hu ka ki la lo ma mi na no pa pe ra ri sa so ta te va vi")
	given := strings.Fields(benchGiven)
	family := parts[n%30] + parts[n*7/30%30] + parts[n/900%30] + "n"
	return given[(n*13)%len(given)] + " " + strings.ToUpper(family[:1]) + family[1:]
}

// newBenched adds a network of size people: in organisations of about 20, with two of 40
// tags, in one of 60 places, half of them in one of 30 groups, with three interactions and
// a note each. Each hundredth has the e-mail address of the one before, each twentieth a
// keep-in-touch interval, and half of them a birthday.
// With full cards, everybody has what fullCard adds, too.
func newBenched(b *testing.B, url string, size int, full bool) *benched {
	b.Helper()
	return newBenchedWith(b, url, size, &benched{full: full})
}

// newBenchedWith is newBenched with the options of a member.
func newBenchedWith(b *testing.B, url string, size int, m *benched) *benched {
	b.Helper()
	m.paid = newPaid(b, url, 1_000_000_000)
	data := m.store.Tenant(m.member, false)
	const step = 1000
	for from := 0; from < size; from += step {
		err := data.Write(b.Context(), db.Actor{}, func(ctx context.Context, tx *db.Tx) error {
			batch, err := m.batch(tx, from, min(size, from+step), size)
			if err != nil {
				return err
			}
			return importer.InsertBatch(ctx, tx, batch)
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	m.run(b, "INSERT INTO groups (tenant_id, id, name, folded_name, description, cadence_days, version, created_at, updated_at) "+
		"WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 29) "+
		"SELECT '"+string(m.member)+"', 'grp_' || (i + 10), 'Group ' || i, 'group ' || i, '', 0, 1, '2026-01-01 00:00:00+00:00', '2026-01-01 00:00:00+00:00' FROM n")
	for i, id := range m.ids {
		if i%2 == 0 && i < 3000 {
			m.run(b, fmt.Sprintf("INSERT INTO group_connections (tenant_id, group_id, connection_id) VALUES ('%s', 'grp_%d', '%s')", m.member, i%30+10, id))
		}
	}
	m.store.LearnTables(b.Context()) // as after an import
	m.handler = newHandlerThat(b, m.rpcs, m.store, m.credits, m.time, vector.Local{}, slog.New(slog.DiscardHandler))
	m.remind(b)
	return m
}

// batch makes the people from a number to another.
func (m *benched) batch(tx *db.Tx, from, to, size int) (*importer.Batch, error) {
	out := &importer.Batch{}
	m.ids = m.ids[:from] // a transaction may run again
	titles := strings.Split(benchTitles, ",")
	for i := from; i < to; i++ {
		email := fmt.Sprintf("p%d@people.example", i)
		if i%100 == 1 {
			email = fmt.Sprintf("p%d@people.example", i-1)
		}
		person := people.Connection{
			Name: benchName(i), Location: fmt.Sprintf("City %d", i/7%60), Source: people.SourceImport, Tags: []string{fmt.Sprint("Tag ", i*3%40), fmt.Sprint("Tag ", i*11%40)},
			Handles: []people.Handle{{Kind: people.KindEmail, Value: email}, {Kind: people.KindPhone, Value: fmt.Sprintf("+4930%07d", i)}},
			Positions: []people.Position{
				{Organization: fmt.Sprint("Org ", i*7%(size/20)), Title: titles[i%len(titles)], Current: true, StartedOn: "2020"},
				{Organization: fmt.Sprint("Org ", i*11%(size/20)), Title: titles[i/3%len(titles)], StartedOn: "2015", EndedOn: "2020"},
			}[:1+i%2],
		}
		if m.full {
			fullCard(&person, i)
		}
		c, err := people.Complete(person, nil)
		if err != nil {
			return nil, err
		}
		if i%20 == 3 {
			c.CadenceDays = 90
		}
		if i%2 == 0 {
			c.Dates = []people.ImportantDate{{Kind: people.DateBirthday, Year: 1950 + i%50, Month: 1 + i%12, Day: 1 + i%28}}
		}
		c.ID, c.Version, c.CreatedAt, c.UpdatedAt = id.New(id.Connection), 1, tx.Now(), tx.Now()
		m.ids = append(m.ids, c.ID)
		out.Created = append(out.Created, c)
		if m.notes != nil {
			out.Notes = append(out.Notes, m.notes(tx.Now(), c.ID)...)
			continue
		}
		out.Notes = append(out.Notes, &timeline.Note{ID: id.New(id.Note), Body: fmt.Sprintf("Likes tea and talks about project %d of last year.", i), Version: 1, CreatedAt: tx.Now(), UpdatedAt: tx.Now(), ConnectionIDs: []string{c.ID}})
		for k := range 3 {
			who := []string{c.ID}
			if k == 0 && i > from {
				who = append(who, m.ids[i-1])
			}
			slices.Sort(who)
			out.Interactions = append(out.Interactions, &timeline.Interaction{
				ID: id.New(id.Interaction), Kind: []string{"meeting", "call", "email"}[k], OccurredAt: tx.Now().Add(-time.Duration(i%700+k*30) * 24 * time.Hour), Summary: "spoke about the project", CreatedAt: tx.Now(), ConnectionIDs: who,
			})
		}
	}
	return out, nil
}

// remind adds reminders.
func (m *benched) remind(b *testing.B) {
	b.Helper()
	for i := range 100 {
		id := fmt.Sprintf("rem_%d", i)
		m.run(b, fmt.Sprintf("INSERT INTO reminders (tenant_id, id, text, due_on, starts_on, recurrence, state, version, created_at, updated_at) VALUES ('%s', '%s', 'call', '2026-12-01', '2026-12-01', 'weekly', 'open', 1, '2026-01-01 00:00:00+00:00', '2026-01-01 00:00:00+00:00')", m.member, id))
		m.run(b, fmt.Sprintf("INSERT INTO reminder_connections (tenant_id, connection_id, reminder_id) VALUES ('%s', '%s', '%s')", m.member, m.ids[i], id))
		m.reminders = append(m.reminders, id)
	}
}

// run executes a statement directly.
func (m *benched) run(b *testing.B, statement string) {
	b.Helper()
	if _, err := m.db.ExecContext(b.Context(), statement); err != nil {
		b.Fatalf("%s: %v", statement, err)
	}
}

func (m *benched) serve(b *testing.B, procedure, body string, keyed bool) {
	r := httptest.NewRequest(http.MethodPost, procedure, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(connectheader.ServiceToken, serviceToken)
	r.Header.Set("Authorization", "Bearer "+m.bearer)
	if keyed {
		r.Header.Set(connectheader.IdempotencyKey, fmt.Sprint("key ", m.calls))
		r.Header.Set(connectheader.Fingerprint, strings.Repeat("f", 64))
	}
	w := httptest.NewRecorder()
	m.handler.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		b.Fatalf("%s: %d %s", body, w.Code, w.Body)
	}
}

// cpu is the processor time of this process, and of the server processes of its database
// if they run on this machine.
func (m *benched) cpu(b *testing.B) time.Duration {
	b.Helper()
	total := time.Duration(cpuTime(b))
	if !db.IsPostgres(m.database) {
		return total
	}
	rows, err := m.db.QueryContext(b.Context(), "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'")
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var pid int
		if err := rows.Scan(&pid); err != nil {
			b.Fatal(err)
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
		if err != nil {
			continue // it runs elsewhere, or has ended
		}
		used, _ := strconv.ParseInt(strings.Fields(string(stat))[0], 10, 64)
		total += time.Duration(used)
	}
	if err := rows.Err(); err != nil {
		b.Fatal(err)
	}
	return total
}
