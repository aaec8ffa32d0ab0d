package rpc_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/search/index"
	"github.com/kith-crm/kith/backend/internal/search/index/indextest"
	"github.com/kith-crm/kith/backend/internal/timeline"
)

// wordRow is a note or an interaction as its rows have it.
type wordRow struct {
	ID, Kind, Text string
	At             time.Time
	names          []string
	about          []string
	shown          bool
}

// wordRows reads all notes and interactions of the member.
func wordRows(t *testing.T, b *bundle) []wordRow {
	t.Helper()
	data := b.store.Tenant(b.member, true)
	var rows []wordRow
	err := data.NewRaw(`SELECT id, 'note' AS kind, body AS text, created_at AS at FROM notes WHERE tenant_id = ?0
UNION ALL SELECT id, kind, summary, occurred_at FROM interactions WHERE tenant_id = ?0`, b.member).Scan(t.Context(), &rows)
	if err != nil {
		t.Fatal(err)
	}
	byID := map[string]*wordRow{}
	for i := range rows {
		byID[rows[i].ID] = &rows[i]
	}
	var links []struct {
		EntryID, ID, Name string
		Archived          bool
	}
	err = data.NewRaw(`SELECT l.entry_id, c.id, c.name, c.archived_at IS NOT NULL AS archived FROM (
SELECT note_id AS entry_id, connection_id FROM note_connections WHERE tenant_id = ?0
UNION ALL SELECT interaction_id, connection_id FROM interaction_connections WHERE tenant_id = ?0) AS l
JOIN connections c ON c.tenant_id = ?0 AND c.id = l.connection_id`, b.member).Scan(t.Context(), &links)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		r := byID[l.EntryID]
		r.names, r.about, r.shown = append(r.names, l.Name), append(r.about, l.ID), r.shown || !l.Archived
	}
	return rows
}

// wordSearch is a search of notes.
type wordSearch struct {
	text, about  string
	kinds        []string
	since, until time.Time
}

// scan finds what the search must find, by a plain scan of the rows: the ids in their order, and how many of the words they have.
func (s wordSearch) scan(rows []wordRow) (ids []string, most int) {
	all := index.ParseWords(s.text)
	type ranked struct {
		wordRow

		hits int
	}
	var found []ranked
	for _, row := range rows {
		if s.about == "" && !row.shown || s.about != "" && !slices.Contains(row.about, s.about) || len(s.kinds) > 0 && !slices.Contains(s.kinds, row.Kind) ||
			!s.since.IsZero() && row.At.Before(s.since) || !s.until.IsZero() && !row.At.Before(s.until) {
			continue
		}
		text := row.Text + "\n" + strings.Join(row.names, "\n")
		words, hits := 0, 0
		for i := range all.Len() {
			if n := indextest.Hits(index.ParseWords(all.Typed(i)), text); n > 0 {
				words, hits = words+1, hits+n
			}
		}
		if words > most {
			most, found = words, nil
		}
		if words == most && words > 0 {
			found = append(found, ranked{row, hits})
		}
	}
	slices.SortFunc(found, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(b.hits, a.hits), b.At.Compare(a.At), strings.Compare(b.ID, a.ID))
	})
	for _, f := range found {
		ids = append(ids, f.ID)
	}
	return ids, most
}

// pages finds the same with the tool, page by page.
func (s wordSearch) pages(t *testing.T, b *bundle, limit int) (ids []string, why string) {
	t.Helper()
	args := []string{fmt.Sprintf(`"query":%q,"limit":%d`, s.text, limit)}
	if s.about != "" {
		args = append(args, fmt.Sprintf(`"connection_id":%q`, s.about))
	}
	if len(s.kinds) > 0 {
		args = append(args, fmt.Sprintf(`"kinds":["%s"]`, strings.Join(s.kinds, `","`)))
	}
	for name, day := range map[string]time.Time{"since": s.since, "until": s.until} {
		if !day.IsZero() {
			args = append(args, fmt.Sprintf(`%q:%q`, name, day.Format(time.DateOnly)))
		}
	}
	body := "{" + strings.Join(args, ",")
	cursor := ""
	for {
		got := b.call(t, searchNotes, body+cursor+"}")
		if got.code() != "" {
			t.Fatalf("%s: %v", body, got.body)
		}
		n := got.size("entries")
		for i := range n {
			ids = append(ids, fmt.Sprint(got.at("entries", i, "id")))
		}
		if cursor == "" {
			why, _ = got.at("why").(string)
		}
		if got.at("has_more") != true {
			return ids, why
		}
		if n != limit {
			t.Fatalf("%s: a page of %d, and more", body, n)
		}
		cursor = fmt.Sprintf(`,"cursor":%q`, got.at("next_cursor"))
	}
}

func (s wordSearch) check(t *testing.T, b *bundle, rows []wordRow, limit int) {
	t.Helper()
	want, most := s.scan(rows)
	got, why := s.pages(t, b, limit)
	if !slices.Equal(got, want) {
		t.Fatalf("%+v finds %v, want %v", s, got, want)
	}
	all := index.ParseWords(s.text).Len()
	if says := strings.Contains(why, "No entry has all the words"); says != (most > 0 && most < all) {
		t.Fatalf("%+v: entries have %d of %d words, and the answer says %q", s, most, all, why)
	}
}

var noteWords = strings.Fields("tea teapot teas boat boats boating party parties O'Brien Łódź lodz ana Ben 去北京大学 北京 R&D glass glasses the of 2024 sail")

func someWords(random *rand.Rand, most int) string {
	words := make([]string, 1+random.IntN(most))
	for i := range words {
		words[i] = noteWords[random.IntN(len(noteWords))]
	}
	return strings.Join(words, " ")
}

func randomSearch(random *rand.Rand, people []string) wordSearch {
	s := wordSearch{text: someWords(random, 3)}
	if random.IntN(4) == 0 {
		s.text += " nowhere"
	}
	if random.IntN(4) == 0 {
		s.about = people[random.IntN(len(people))]
	}
	if random.IntN(3) == 0 {
		s.kinds = [][]string{{"note"}, {"call"}, {"call", "meeting"}, {"note", "call"}, {"email", "message"}, {"event"}, {"intro", "other"}}[random.IntN(7)]
	}
	day := func() time.Time { return time.Date(2020+random.IntN(7), 3, 1, 0, 0, 0, 0, time.UTC) }
	if random.IntN(4) == 0 {
		s.since = day()
	}
	if until := day(); random.IntN(4) == 0 && until.After(s.since) {
		s.until = until
	}
	return s
}

// Whatever was written, changed, undone or deleted, search_notes finds what a scan of the rows finds, in the same order and on both
// databases.
func TestSearchNotesFindsWhatTheRowsHave(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		random := rand.New(rand.NewPCG(36, 5))
		var people, entries, changes []string
		for _, name := range []string{"Ana Boat", "Ben O'Brien", "Tea Łódź", "北京 Ana", "Cy"} {
			people = append(people, b.made(t, fmt.Sprintf(`{"name":%q}`, name)))
		}
		pick := func(of []string) string { return of[random.IntN(len(of))] }
		about := func() string {
			who := []string{pick(people), pick(people)}
			slices.Sort(who)
			return `["` + strings.Join(slices.Compact(who), `","`) + `"]`
		}
		var done [12]int // how often each kind of write succeeded
		kind, most := 0, 0
		did := func(got answer) {
			if got.code() == "" {
				done[kind]++
			}
			if change, ok := got.at("change_id").(string); ok {
				changes = append(changes, change)
			}
			for _, entry := range []string{"note", "interaction"} {
				if made, ok := got.at(entry, "id").(string); ok {
					entries = append(entries, made)
				}
			}
		}
		for n := range 400 {
			kind = random.IntN(len(done))
			switch kind {
			case 0, 1, 2:
				did(b.call(t, addNote, fmt.Sprintf(`{"connection_ids":%s,"body":%q}`, about(), someWords(random, 6))))
			case 4:
				did(b.call(t, logMany, fmt.Sprintf(`{"interactions":[{"connection_ids":%s,"kind":"call","summary":%q},{"connection_ids":%s,"kind":"meeting","summary":%q}]}`,
					about(), someWords(random, 4), about(), someWords(random, 4))))
			case 3:
				did(b.call(t, logCall, fmt.Sprintf(`{"connection_ids":%s,"kind":%q,"summary":%q,"occurred_at":"%d-03-0%d"}`,
					about(), pick([]string{"call", "meeting", "email", "message", "event", "intro", "other"}), someWords(random, 4), 2020+random.IntN(6), 1+random.IntN(2))))
			case 5:
				if len(entries) > 0 {
					if one := pick(entries); strings.HasPrefix(one, "not_") {
						did(b.call(t, updateNote, fmt.Sprintf(`{"id":%q,"body":%q,"connection_ids":%s}`, one, someWords(random, 6), about())))
					} else {
						did(b.call(t, updateCall, fmt.Sprintf(`{"id":%q,"summary":%q,"occurred_at":"2021-03-01","add_connection_ids":%s}`, one, someWords(random, 4), about())))
					}
				}
			case 6:
				if len(entries) > 0 {
					did(b.call(t, deleteEntry, fmt.Sprintf(`{"id":%q}`, pick(entries))))
				}
			case 7:
				did(b.call(t, update, fmt.Sprintf(`{"id":%q,"name":%q}`, pick(people), "Renamed "+someWords(random, 2))))
			case 8:
				did(b.call(t, archive, fmt.Sprintf(`{"ids":[%q],"archived":%v}`, pick(people), random.IntN(2) == 0)))
			case 9:
				did(b.call(t, mergePeople, fmt.Sprintf(`{"into_id":%q,"from_ids":[%q],"dry_run":false}`, pick(people), pick(people))))
			case 10:
				if one := pick(people); random.IntN(3) == 0 {
					name, _ := b.call(t, get, fmt.Sprintf(`{"id":%q}`, one)).at("connection", "name").(string)
					did(b.call(t, deletePerson, deletionOf(one, name)))
				}
				people = append(people, b.made(t, fmt.Sprintf(`{"name":%q}`, someWords(random, 2))))
			case 11:
				if len(changes) > 0 {
					did(b.call(t, undoChange, fmt.Sprintf(`{"change_id":%q}`, changes[max(0, len(changes)-1-random.IntN(4))])))
				}
			}
			if n%8 == 7 {
				rows := wordRows(t, b)
				most = max(most, len(rows))
				for range 6 {
					s := randomSearch(random, people)
					if s.about != "" && b.call(t, list, fmt.Sprintf(`{"connection_id":%q}`, s.about)).code() != "" {
						s.about = ""
					}
					s.check(t, b, rows, 1+random.IntN(7))
				}
			}
		}
		if slices.Contains(done[:], 0) || most < 20 {
			t.Errorf("%v writes, %d entries at most", done, most)
		}
	})
}

// The same for thousands of entries, many of them of the same time, and some of before 1950 and after 2086.
func TestSearchNotesOfThousands(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		random := rand.New(rand.NewPCG(5, 36))
		var known []string
		for part := range 3 {
			err := b.store.Tenant(b.member, false).Write(t.Context(), db.Actor{}, func(ctx context.Context, tx *db.Tx) error {
				batch := &importer.Batch{}
				c, err := people.Complete(people.Connection{Name: fmt.Sprintf("Ana %d", part)}, nil)
				if err != nil {
					return err
				}
				c.ID, c.Version, c.CreatedAt, c.UpdatedAt = id.New(id.Connection), 1, tx.Now(), tx.Now()
				known, batch.Created = append(known, c.ID), append(batch.Created, c)
				for range 700 { // three times this needs several blocks
					year := 2020 + random.IntN(6)
					if random.IntN(50) == 0 {
						year = []int{1900, 1949, 2090, 2100}[random.IntN(4)]
					}
					at := time.Date(year, 3, 1+random.IntN(2), 12, random.IntN(3), 0, 1000*random.IntN(3), time.UTC)
					batch.Notes = append(batch.Notes, &timeline.Note{ID: id.New(id.Note), Body: "everyone " + someWords(random, 5), Version: 1, CreatedAt: at, UpdatedAt: at, ConnectionIDs: []string{c.ID}})
				}
				return importer.InsertBatch(ctx, tx, batch)
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		b.call(t, archive, fmt.Sprintf(`{"ids":[%q]}`, known[0]))
		rows := wordRows(t, b)
		for _, text := range []string{"everyone", "tea boat", "everyone the nowhere", "ana", "北京"} {
			wordSearch{text: text}.check(t, b, rows, 50)
		}
		for range 12 {
			s := randomSearch(random, known[1:])
			s.check(t, b, rows, 50)
		}
		for i, row := range rows {
			if i%3 != 0 {
				b.call(t, deleteEntry, fmt.Sprintf(`{"id":%q}`, row.ID))
			}
			if i > 300 {
				break
			}
		}
		rows = wordRows(t, b)
		for _, text := range []string{"everyone", "tea", "boat ana"} {
			wordSearch{text: text, since: time.Date(2021, 3, 1, 0, 0, 0, 0, time.UTC)}.check(t, b, rows, 50)
		}
	})
}
