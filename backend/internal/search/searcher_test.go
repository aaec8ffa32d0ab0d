package search_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kith-crm/kith/backend/internal/search"
	"github.com/kith-crm/kith/backend/internal/search/index"
	"github.com/kith-crm/kith/backend/internal/search/vector"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// provider is a remote provider that knows two topics: a text's vector counts its words on
// each.
type provider struct {
	vector.Local

	host  string
	err   error
	calls atomic.Int32
	wait  bool // whether to wait until the call is cancelled
}

func (p *provider) Model() string     { return "topics" }
func (p *provider) Host() string      { return p.host }
func (p *provider) Understands() bool { return true }
func (p *provider) Noise() float32    { return 0 }

func (p *provider) Embed(ctx context.Context, texts []string) ([]vector.Vector, error) {
	p.calls.Add(1)
	if p.wait {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if p.err != nil {
		return nil, p.err
	}
	out := make([]vector.Vector, len(texts))
	for i, text := range texts {
		out[i] = topics(text)
	}
	return out, nil
}

// topics are law, water and everything else.
func topics(text string) vector.Vector {
	v := vector.Vector{0, 0, 0.1}
	for topic, words := range [][]string{{"law", "attorney", "counsel", "solicitor"}, {"sail", "boat", "skipper", "regatta"}} {
		for _, w := range words {
			if strings.Contains(strings.ToLower(text), w) {
				v[topic]++
			}
		}
	}
	_ = vector.Normalise(v)
	return v
}

const owner tenant.ID = "mem_1"

// world is a network with its searcher.
type world struct {
	*search.Searcher

	provider *provider
	docs     []index.Document
	stale    map[string]bool
	without  map[string]bool
	caller   tenant.Principal
	loads    int
}

// newWorld stores a vector for each of the people.
func newWorld(docs ...index.Document) *world {
	w := &world{
		provider: &provider{host: "vectors.example"}, docs: docs, stale: map[string]bool{}, without: map[string]bool{},
		caller: tenant.Principal{Tenant: owner, DataVersion: 1, EmbeddedVersion: 1, EmbeddingsHost: "vectors.example"},
	}
	w.start(w.provider)
	return w
}

// start makes a searcher with a provider.
func (w *world) start(p vector.Provider) {
	find := search.NewIndexCache(func(context.Context, tenant.ID, int64) (search.Documents, error) {
		return search.Documents{Version: w.caller.DataVersion, Whole: true, Changed: w.docs}, nil
	}, 1<<30)
	w.Searcher = search.NewSearcher(search.Config{Indexes: find, Provider: p, MaxBytes: 1 << 30, Vectors: func(ctx context.Context, _ tenant.ID, model string, _ int64) (vector.Vectors, error) {
		w.loads++
		out := vector.Vectors{Version: w.caller.DataVersion, Whole: true}
		for i := range w.docs {
			d := &w.docs[i]
			if w.without[d.ID] || model != p.Model() {
				continue
			}
			v, err := p.Embed(ctx, []string{textOf(d)})
			if err != nil {
				return out, err
			}
			out.Dimensions, out.IDs = len(v[0]), append(out.IDs, d.ID)
			out.Values.Append(v[0])
			out.Current = append(out.Current, !w.stale[d.ID])
		}
		return out, nil
	}})
}

func textOf(d *index.Document) string {
	p := vector.Person{Name: d.Name, Nickname: d.Nickname, Location: d.Location, Tags: d.Tags, Notes: d.Notes, Bio: d.Bio}
	if d.Title != "" || d.Organization != "" {
		p.Positions = []vector.Position{{Title: d.Title, Organization: d.Organization, Current: true}}
	}
	return p.Text()
}

func (w *world) search(t *testing.T, mode, text string) search.Answer {
	t.Helper()
	return w.find(t, mode, index.Query{Text: text})
}

func (w *world) find(t *testing.T, mode string, q index.Query) search.Answer {
	t.Helper()
	a, err := w.Search(t.Context(), search.Request{Caller: &w.caller, Query: q, Mode: mode})
	if err != nil {
		t.Fatal(err)
	}
	last := 1.0
	for _, h := range a.Hits {
		if h.Score > last || h.Score < 0 || h.Doc == nil || h.Doc.ID != h.ID {
			t.Errorf("%+v after a score of %v", h, last)
		}
		last = h.Score
	}
	return a
}

func ids(a search.Answer) string {
	var out []string
	for _, h := range a.Hits {
		out = append(out, h.ID)
	}
	return strings.Join(out, " ")
}

func lawyers() []index.Document {
	return []index.Document{
		{ID: "anna", Name: "Anna Bauer", Title: "Attorney", Emails: []string{"anna@x.example"}},
		{ID: "carl", Name: "Carl Counsel", Title: "Solicitor", Location: "Oslo"},
		{ID: "dora", Name: "Dora Lim", Title: "Skipper"},
		{ID: "emil", Name: "Emil Lawson", Notes: []string{"Likes the regatta"}},
		{ID: "fred", Name: "Fred Quill", Title: "Baker"},
	}
}

func TestMeaningFindsWhomWordsMiss(t *testing.T) {
	t.Parallel()
	w := newWorld(lawyers()...)
	a := w.search(t, search.ModeAuto, "attorney")
	if got := ids(a); a.ModeUsed != search.ModeHybrid || !strings.HasPrefix(got, "anna ") || !strings.Contains(got, "carl") || strings.Contains(got, "fred") {
		t.Errorf("%s finds %s", a.ModeUsed, got)
	}
	if !slices.Contains(a.Hits[0].Matched, search.FieldMeaning) || a.Note != "" || a.Stale != 0 {
		t.Errorf("%+v", a)
	}
	a = w.search(t, search.ModeSemantic, "attorney at law")
	if got := ids(a); a.ModeUsed != search.ModeSemantic || !strings.HasPrefix(got, "carl anna emil") {
		t.Errorf("%s finds %s", a.ModeUsed, got)
	}
	a = w.search(t, search.ModeKeyword, "solicitor")
	if got := ids(a); a.ModeUsed != search.ModeKeyword || got != "carl" || w.provider.calls.Load() != 7 { // five people, two queries
		t.Errorf("%s finds %s after %d calls", a.ModeUsed, got, w.provider.calls.Load())
	}
}

// Vectors that compare spelling add nobody to the answer unless they are asked for: to a name they
// add strangers, and to a question about meaning they have no answer.
func TestSpellingAddsNoStrangers(t *testing.T) {
	t.Parallel()
	w := newWorld(index.Document{ID: "ilse", Name: "Ilse Brandt"}, index.Document{ID: "else", Name: "Else Brandstetter"}, index.Document{ID: "elsa", Name: "Elsa Brandauer"})
	w.caller.EmbeddingsHost = ""
	w.start(vector.Local{})
	for query, want := range map[string]string{"Ilse Brandt": "ilse", "Kofi Brandt-Mensah": "", "brandenburg": ""} {
		if a := w.search(t, search.ModeAuto, query); a.ModeUsed != search.ModeKeyword || ids(a) != want {
			t.Errorf("%s: %s finds %q, want %q", query, a.ModeUsed, ids(a), want)
		}
	}
	if a := w.search(t, search.ModeSemantic, "brandauer"); !strings.HasPrefix(ids(a), "elsa") || !slices.Equal(a.Hits[0].Matched, []string{search.FieldSpelling}) {
		t.Errorf("asked for: %+v", a.Hits)
	}
}

// Names that are misspelt or written without accents get no people of similar meaning, either.
func TestMisspeltNamesFindNoStrangers(t *testing.T) {
	t.Parallel()
	w := newWorld(append(lawyers(), index.Document{ID: "lou", Name: "Lóu Attorney", Title: "Solicitor"})...)
	for query, want := range map[string]string{"carl counsell": "carl", "lou": "lou"} {
		if a := w.search(t, search.ModeAuto, query); a.ModeUsed != search.ModeKeyword || ids(a) != want {
			t.Errorf("%s: %s finds %q, want %q", query, a.ModeUsed, ids(a), want)
		}
	}
}

// Identifiers and names need no vectors, and are not sent to the provider.
func TestIdentifiersAndNamesComeFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(lawyers()...)
	for text, modes := range map[string]map[string]string{
		"anna@x.example": {search.ModeAuto: search.ModeKeyword, search.ModeSemantic: search.ModeKeyword},
		"anna bauer":     {search.ModeAuto: search.ModeKeyword, search.ModeSemantic: search.ModeSemantic},
	} {
		for mode, used := range modes {
			if a := w.search(t, mode, text); a.ModeUsed != used || !strings.HasPrefix(ids(a)+" ", "anna ") {
				t.Errorf("%s by %s: %s finds %s", text, mode, a.ModeUsed, ids(a))
			}
		}
	}
}

func TestFiltersHoldForMeaning(t *testing.T) {
	t.Parallel()
	w := newWorld(lawyers()...)
	for _, mode := range []string{search.ModeAuto, search.ModeSemantic} {
		if a := w.find(t, mode, index.Query{Text: "law", Location: "oslo"}); ids(a) != "carl" {
			t.Errorf("%s finds %s", mode, ids(a))
		}
	}
}

// Whatever fails, the search by words works, and the answer says why.
func TestWordsAnswerWhereMeaningCannot(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(w *world)
		mode   string
		says   string
		calls  int32 // of the provider, for queries
	}{
		"no vectors, asked for":   {func(w *world) { w.caller.EmbeddedVersion = 0 }, search.ModeSemantic, "Start embed_objects", 0},
		"no vectors":              {func(w *world) { w.caller.EmbeddedVersion = 0 }, search.ModeAuto, "", 0},
		"not allowed":             {func(w *world) { w.caller.EmbeddingsHost = "" }, search.ModeAuto, "does not allow", 0},
		"another allowed":         {func(w *world) { w.caller.EmbeddingsHost = "elsewhere.example" }, search.ModeSemantic, "vectors.example", 0},
		"vectors of other models": {func(w *world) { w.docs = nil }, search.ModeSemantic, "model topics", 0},
		"the provider is down":    {func(w *world) { w.provider.err = &vector.ProviderError{Message: "it is down"} }, search.ModeAuto, "it is down", 1},
		"another error":           {func(w *world) { w.provider.err = errors.New("no") }, search.ModeAuto, "takes too long", 1},
		"the provider is slow":    {func(w *world) { w.provider.wait = true }, search.ModeSemantic, "takes too long", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(lawyers()...)
			if w.search(t, search.ModeAuto, "boat"); w.loads != 1 { // the vectors are held
				t.Fatal("nothing was loaded")
			}
			if c.change(w); len(w.docs) == 0 {
				w.docs = lawyers()
				w.caller.DataVersion++
				for _, d := range w.docs {
					w.without[d.ID] = true
				}
			}
			before := w.provider.calls.Load()
			a := w.search(t, c.mode, "attorney")
			if a.ModeUsed != search.ModeKeyword || ids(a) != "anna" || !strings.Contains(a.Note, c.says) || (c.says == "") != (a.Note == "") || a.Stale != 0 {
				t.Errorf("%s finds %s and says %q", a.ModeUsed, ids(a), a.Note)
			}
			w.search(t, c.mode, "solicitor") // at once, where the provider is known to be down
			if got := w.provider.calls.Load() - before; got != c.calls {
				t.Errorf("the provider was asked %d times, want %d", got, c.calls)
			}
		})
	}
}

func TestOtherOrdersAreOfWords(t *testing.T) {
	t.Parallel()
	w := newWorld(lawyers()...)
	if a := w.find(t, search.ModeAuto, index.Query{Text: "attorney", Sort: index.SortName}); a.ModeUsed != search.ModeKeyword || a.Note != "" {
		t.Errorf("%+v", a)
	}
	if a := w.find(t, search.ModeSemantic, index.Query{Text: "attorney", Sort: index.SortName}); a.ModeUsed != search.ModeKeyword || !strings.Contains(a.Note, "relevance") {
		t.Errorf("%+v", a)
	}
}

func TestAnswersTellWhoIsStale(t *testing.T) {
	t.Parallel()
	w := newWorld(lawyers()...)
	w.stale["anna"], w.without["carl"] = true, true
	a := w.search(t, search.ModeAuto, "law")
	if a.Stale != 2 || !strings.Contains(a.Note, "2 people") || !strings.Contains(ids(a), "anna") {
		t.Errorf("%d stale, %q, found %s", a.Stale, a.Note, ids(a))
	}
}

func TestQueriesAreRemembered(t *testing.T) {
	t.Parallel()
	w := newWorld(lawyers()...)
	w.search(t, search.ModeAuto, "boat")
	before := w.provider.calls.Load()
	w.search(t, search.ModeSemantic, "boat")
	if got := w.provider.calls.Load(); got != before {
		t.Errorf("asked %d times more", got-before)
	}
	for i := range 1001 {
		w.search(t, search.ModeAuto, fmt.Sprint("boat ", i))
	}
	before = w.provider.calls.Load()
	w.search(t, search.ModeAuto, "boat 1000")
	w.search(t, search.ModeAuto, "boat")
	if got := w.provider.calls.Load(); got != before+1 {
		t.Errorf("asked %d times more", got-before)
	}
}

// Concatenated pages are one list without duplicates.
func TestPagesAreOneList(t *testing.T) {
	t.Parallel()
	var docs []index.Document
	for i := range 400 {
		d := index.Document{ID: fmt.Sprintf("%03d", i), Name: fmt.Sprintf("Person%d Law%d", i, i)}
		if i%3 == 0 {
			d.Title = "Skipper, regatta"
		}
		if i%7 == 0 {
			d.Name = fmt.Sprintf("Somebody%d Else", i)
			d.Title = "Solicitor"
		}
		docs = append(docs, d)
	}
	w := newWorld(docs...)
	for _, mode := range []string{search.ModeAuto, search.ModeSemantic} {
		whole := w.find(t, mode, index.Query{Text: "law", Limit: 1000})
		var pages []string
		for offset := 0; ; offset += 37 {
			page := w.find(t, mode, index.Query{Text: "law", Limit: 37, Offset: offset})
			if len(page.Hits) > 0 {
				pages = append(pages, ids(page))
			}
			if !page.HasMore {
				break
			}
			if len(page.Hits) != 37 {
				t.Fatalf("%s: a page of %d with more behind it", mode, len(page.Hits))
			}
		}
		if got := strings.Join(pages, " "); got != ids(whole) || whole.HasMore {
			t.Errorf("%s: pages\n%s\nwhole\n%s", mode, got, ids(whole))
		}
		seen := map[string]bool{}
		for _, h := range whole.Hits {
			if seen[h.ID] {
				t.Errorf("%s twice", h.ID)
			}
			seen[h.ID] = true
		}
	}
}
