package connection_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kith-crm/kith/backend/internal/connection"
	"github.com/kith-crm/kith/backend/internal/fault"
)

// ana is a connection with something in every list, as the store reads it.
func ana() *connection.Connection {
	return &connection.Connection{
		TenantID: "mem_1", ID: "con_1", Name: "Ana López", Nickname: "Ana", Location: "Bilbao", Bio: "Builds.", MetOn: "2024",
		MetHow: "at a fair", Source: connection.SourceManual, Version: 3, CreatedAt: noon.AddDate(-1, 0, 0), UpdatedAt: noon.AddDate(0, -1, 0),
		Handles: []connection.Handle{
			{ID: "hnd_1", Kind: connection.KindEmail, Value: "ana@home.example", NormalValue: "ana@home.example", Label: "home", Ordinal: 0},
			{ID: "hnd_2", Kind: connection.KindPhone, Value: "+49 30 1", NormalValue: "+49301", Ordinal: 1},
			{ID: "hnd_3", Kind: connection.KindEmail, Value: "ana@work.example", NormalValue: "ana@work.example", Label: "work", Ordinal: 2},
			{ID: "hnd_4", Kind: connection.KindSocial, Value: "https://in.example/ana", NormalValue: "in.example/ana", Label: "in", Ordinal: 3},
			{ID: "hnd_5", Kind: connection.KindURL, Value: "https://ana.example", NormalValue: "ana.example", Ordinal: 4},
		},
		Positions: []connection.Position{
			{ID: "pos_1", OrganizationID: "org_1", Organization: "Helios Inc.", Title: "Founder", StartedOn: "2020", Current: true, Ordinal: 0},
			{ID: "pos_2", OrganizationID: "org_2", Organization: "Selene", Title: "Welder", EndedOn: "2019", Ordinal: 1},
		},
		Tags: []string{"Álava", "Friend"},
	}
}

func TestPatchOfSingleFields(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name  string
		patch connection.Patch
		want  func(c *connection.Connection)
	}{
		{"name", connection.Patch{Name: new(" Ana \nRay ")}, func(c *connection.Connection) { c.Name = "Ana Ray" }},
		{"nickname", connection.Patch{Nickname: new("")}, func(c *connection.Connection) { c.Nickname = "" }},
		{"location", connection.Patch{Location: new("Vitoria")}, func(c *connection.Connection) { c.Location = "Vitoria" }},
		{"bio", connection.Patch{Bio: new("One\n\ntwo\x00 ")}, func(c *connection.Connection) { c.Bio = "One\n\ntwo" }},
		{"met on", connection.Patch{MetOn: new("2023-12")}, func(c *connection.Connection) { c.MetOn = "2023-12" }},
		{"met on, taken away", connection.Patch{MetOn: new("")}, func(c *connection.Connection) { c.MetOn = "" }},
		{"met how", connection.Patch{MetHow: new("by Bob")}, func(c *connection.Connection) { c.MetHow = "by Bob" }},
		{"starred", connection.Patch{Starred: new(true)}, func(c *connection.Connection) { c.Starred = true }},
		{"several", connection.Patch{Nickname: new("A"), Starred: new(true), ExpectedVersion: new(int32(3))}, func(c *connection.Connection) {
			c.Nickname, c.Starred = "A", true
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			want := ana()
			c.want(want)
			wantUpdated(t, c.patch, want)
		})
	}
}

// wantUpdated applies the patch to ana and checks what was written, returned and
// recorded. Version, time and the numbering of lists are filled into want.
func wantUpdated(t *testing.T, p connection.Patch, want *connection.Connection) {
	t.Helper()
	p.ID = "con_1"
	w := newWriter(ana())
	got, err := connection.Update(t.Context(), w, p)
	if err != nil {
		t.Fatal(err)
	}
	want.Version, want.UpdatedAt = 4, noon
	for i := range want.Handles {
		want.Handles[i].Ordinal = i
	}
	for i := range want.Positions {
		want.Positions[i].Ordinal = i
	}
	if diff := cmp.Diff(connection.Written{Connection: want, ChangeID: "chg_1"}, got); diff != "" {
		t.Errorf("returned (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, w.byID["con_1"]); diff != "" {
		t.Errorf("on file (-want +got):\n%s", diff)
	}
	if w.written != 1 {
		t.Errorf("%d writes", w.written)
	}
	w.wantChange(t, "con_1", ana())
}

func TestPatchOfLists(t *testing.T) {
	t.Parallel()
	on := ana().Handles
	home, phone, work, social, site := on[0], on[1], on[2], on[3], on[4]
	fresh := func(kind, value, normal string, at int) connection.Handle {
		return connection.Handle{ID: "hnd_4_" + string(rune('0'+at)), Kind: kind, Value: value, NormalValue: normal}
	}
	email, url := connection.KindEmail, connection.KindURL
	cases := []struct {
		name    string
		patch   connection.Patch
		handles []connection.Handle // nil: as they were
		tags    []string            // nil: as they were
	}{
		{name: "add", patch: connection.Patch{Emails: connection.Edit{Add: []string{"New@x.example", "ANA@home.example"}}},
			handles: []connection.Handle{home, phone, work, social, site, fresh(email, "New@x.example", "new@x.example", 5)}},
		{name: "remove by any spelling", patch: connection.Patch{Emails: connection.Edit{Remove: []string{" ANA@Home.example", "none@x.example"}},
			Phones: connection.Edit{Remove: []string{"0049 (30) 1"}}},
			handles: []connection.Handle{work, social, site}},
		{name: "replace keeps what stays, in the new order", patch: connection.Patch{Emails: connection.Edit{Replace: []string{"new@x.example", "Ana@Work.example"}}},
			handles: []connection.Handle{fresh(email, "new@x.example", "new@x.example", 0), phone,
				{ID: "hnd_3", Kind: email, Value: "Ana@Work.example", NormalValue: "ana@work.example", Label: "work"}, social, site}},
		{name: "replace puts the preferred one first", patch: connection.Patch{Emails: connection.Edit{Replace: []string{"ana@work.example", "ana@home.example"}}},
			handles: []connection.Handle{work, phone, home, social, site}},
		{name: "replace by fewer", patch: connection.Patch{Emails: connection.Edit{Replace: []string{"ana@work.example"}}},
			handles: []connection.Handle{work, phone, social, site}},
		{name: "replace by more", patch: connection.Patch{Emails: connection.Edit{Replace: []string{"a@x.example", "b@x.example", "ana@home.example"}}},
			handles: []connection.Handle{fresh(email, "a@x.example", "a@x.example", 0), phone, fresh(email, "b@x.example", "b@x.example", 2), social, site, home}},
		{name: "replace, then remove, then add", patch: connection.Patch{Emails: connection.Edit{
			Replace: []string{"a@x.example", "b@x.example"}, Remove: []string{"a@x.example", "c@x.example"}, Add: []string{"c@x.example"}}},
			handles: []connection.Handle{fresh(email, "b@x.example", "b@x.example", 0), phone, fresh(email, "c@x.example", "c@x.example", 2), social, site}},
		{name: "web addresses are social ones as well: remove", patch: connection.Patch{URLs: connection.Edit{Remove: []string{"http://www.in.example/ana/"}}},
			handles: []connection.Handle{home, phone, work, site}},
		{name: "web addresses are social ones as well: replace", patch: connection.Patch{URLs: connection.Edit{Replace: []string{"https://new.example", "https://in.example/ana"}}},
			handles: []connection.Handle{home, phone, work, fresh(url, "https://new.example", "new.example", 3), social}},
		{name: "tags: add", patch: connection.Patch{Tags: connection.Edit{Add: []string{" Zoo ", "FRIEND", "zoo"}}},
			tags: []string{"Álava", "Friend", "Zoo"}},
		{name: "tags: remove", patch: connection.Patch{Tags: connection.Edit{Remove: []string{"alava", "none"}}},
			tags: []string{"Friend"}},
		{name: "tags: remove all", patch: connection.Patch{Tags: connection.Edit{Remove: []string{"ALAVA", "friend"}}},
			tags: []string{}},
		{name: "tags: replace", patch: connection.Patch{Tags: connection.Edit{Replace: []string{"zoo", "friend"}}},
			tags: []string{"Friend", "zoo"}},
		{name: "tags: replace, then remove, then add", patch: connection.Patch{Tags: connection.Edit{
			Replace: []string{"b", "a"}, Remove: []string{"a", "c"}, Add: []string{"c"}}},
			tags: []string{"b", "c"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			want := ana()
			if c.handles != nil {
				want.Handles = append([]connection.Handle(nil), c.handles...)
			}
			if c.tags != nil {
				want.Tags = c.tags
			}
			wantUpdated(t, c.patch, want)
		})
	}
}

func TestPatchOfOrganisationAndTitle(t *testing.T) {
	t.Parallel()
	on := ana().Positions
	founder, welder := on[0], on[1]
	past := founder
	past.Current = false
	now := func(organization, title string) connection.Position {
		return connection.Position{Organization: organization, Title: title, Current: true}
	}
	retitled := func(title string) connection.Position {
		p := founder
		p.Title = title
		return p
	}
	cases := []struct {
		name                string
		organization, title *string
		want                []connection.Position
	}{
		{"another title, the same job", nil, new(" Chief "), []connection.Position{retitled("Chief"), welder}},
		{"no title, the same job", nil, new(""), []connection.Position{retitled(""), welder}},
		{"another organisation: the title does not move along", new("Eos"), nil, []connection.Position{now("Eos", ""), past, welder}},
		{"another organisation and title", new("Eos"), new("Chief"), []connection.Position{now("Eos", "Chief"), past, welder}},
		{"another organisation, the same title", new("Eos"), new("Founder"), []connection.Position{now("Eos", "Founder"), past, welder}},
		{"another spelling of the organisation, another title", new("HELIOS"), new("Chief"), []connection.Position{retitled("Chief"), welder}},
		{"a former organisation again", new("Selene"), nil, []connection.Position{now("Selene", ""), past, welder}},
		{"no organisation: the job ends", new(""), nil, []connection.Position{past, welder}},
		{"neither: the job ends", new(" "), new(""), []connection.Position{past, welder}},
		{"no organisation, but a title", new(""), new("Freelancer"), []connection.Position{now("", "Freelancer"), past, welder}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			want := ana()
			want.Positions = append([]connection.Position(nil), c.want...)
			wantUpdated(t, connection.Patch{Organization: c.organization, Title: c.title}, want)
		})
	}
}

func TestPatchOfSomebodyWithoutAJob(t *testing.T) {
	t.Parallel()
	title := []connection.Position{{Title: "Chef", Current: true}}
	cases := []struct {
		name                string
		held                []connection.Position
		organization, title *string
		want                []connection.Position
	}{
		{"a first organisation", nil, new("Eos"), nil, []connection.Position{{Organization: "Eos", Current: true}}},
		{"a first title", nil, nil, new("Chef"), []connection.Position{{Title: "Chef", Current: true}}},
		{"after a former job", []connection.Position{{Organization: "Eos"}}, new("Eos"), nil,
			[]connection.Position{{Organization: "Eos", Current: true}, {Organization: "Eos"}}},
		{"a title alone is changed", title, nil, new("Baker"), []connection.Position{{Title: "Baker", Current: true}}},
		{"a title alone ends", title, nil, new(""), []connection.Position{{Title: "Chef"}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWriter(&connection.Connection{ID: "con_1", Name: "Bob", Version: 1, Positions: c.held})
			got, err := connection.Update(t.Context(), w, connection.Patch{ID: "con_1", Organization: c.organization, Title: c.title})
			if err != nil {
				t.Fatal(err)
			}
			for i := range c.want {
				c.want[i].Ordinal = i
			}
			if diff := cmp.Diff(c.want, got.Connection.Positions); diff != "" {
				t.Errorf("positions (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNothingChangedNothingWritten(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name  string
		patch connection.Patch
	}{
		{"an empty patch", connection.Patch{}},
		{"the values on file", connection.Patch{
			Name: new("Ana López"), Nickname: new(" Ana"), Organization: new("Helios Inc."), Title: new("Founder"), Location: new("Bilbao"),
			Bio: new("Builds.\n"), MetOn: new("2024"), MetHow: new("at a fair"), Starred: new(false),
		}},
		{"the version on file", connection.Patch{ExpectedVersion: new(int32(3))}},
		{"another spelling of the organisation", connection.Patch{Organization: new("HELIOS")}},
		{"add what is there", connection.Patch{
			Emails: connection.Edit{Add: []string{"ANA@work.example"}}, Phones: connection.Edit{Add: []string{"0049 301"}},
			URLs: connection.Edit{Add: []string{"http://www.ana.example/", "https://in.example/ana"}}, Tags: connection.Edit{Add: []string{"alava"}},
		}},
		{"remove what is not there", connection.Patch{
			Emails: connection.Edit{Remove: []string{"x@x.example"}}, Phones: connection.Edit{Remove: []string{"1"}},
			URLs: connection.Edit{Remove: []string{"https://x.example"}}, Tags: connection.Edit{Remove: []string{"x"}},
		}},
		{"replace by the same", connection.Patch{
			Emails: connection.Edit{Replace: []string{"ana@home.example", "ana@work.example"}}, Phones: connection.Edit{Replace: []string{"+49 30 1"}},
			URLs: connection.Edit{Replace: []string{"https://in.example/ana", "https://ana.example"}}, Tags: connection.Edit{Replace: []string{"friend", "Alava"}},
		}},
		{"add, take away", connection.Patch{Tags: connection.Edit{Replace: []string{"Álava", "Friend", "x"}, Remove: []string{"x"}}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWriter(ana())
			c.patch.ID = "con_1"
			got, err := connection.Update(t.Context(), w, c.patch)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(connection.Written{Connection: ana()}, got); diff != "" {
				t.Errorf("returned (-want +got):\n%s", diff)
			}
			w.wantNothingWritten(t)
		})
	}
}

// A store may read an empty list as nil or as empty; neither is a change.
func TestEmptyListsAreNoChange(t *testing.T) {
	t.Parallel()
	w := newWriter(&connection.Connection{
		ID: "con_1", Name: "Bob", Version: 1,
		Handles: []connection.Handle{}, Positions: []connection.Position{}, Tags: []string{},
	})
	got, err := connection.Update(t.Context(), w, connection.Patch{ID: "con_1", Title: new(""), Tags: connection.Edit{Remove: []string{"x"}}})
	if err != nil || got.ChangeID != "" {
		t.Errorf("got %+v, %v", got, err)
	}
	w.wantNothingWritten(t)
}

// Repeating a patch is harmless, whatever it holds: the second time nothing is
// different. (An address both removed and added goes last, and is left out.)
func TestPatchIsIdempotent(t *testing.T) {
	t.Parallel()
	values := func(t *rapid.T, label, pattern string) []string {
		return rapid.SliceOfN(rapid.StringMatching(pattern), 0, 4).Draw(t, label)
	}
	text := func(t *rapid.T, label string) *string {
		return rapid.Ptr(rapid.SampledFrom([]string{"", " ", "Helios", "HELIOS, Inc.", "Eos", "Chef", "Founder"}), true).Draw(t, label)
	}
	rapid.Check(t, func(t *rapid.T) {
		p := connection.Patch{
			ID: "con_1", Name: new(rapid.StringMatching(`[A-C] ?[a-c]`).Draw(t, "name")), Organization: text(t, "organization"), Title: text(t, "title"),
			Emails: connection.Edit{Replace: values(t, "emails", `[abA]@(x|home|work)\.example`), Remove: values(t, "no emails", `[ab]@x`), Add: values(t, "more emails", `[cd]@x`)},
			Phones: connection.Edit{Add: values(t, "phones", `(\+|00)49 ?[0-3]?`)},
			URLs:   connection.Edit{Replace: values(t, "urls", `https?://(www\.)?(ana|in)\.example(/ana)?/?`)},
			Tags:   connection.Edit{Replace: values(t, "tags", `[abÁ]?`), Remove: values(t, "no tags", `[aé]`), Add: values(t, "more tags", `[aéz]`)},
		}
		w := newWriter(ana())
		first, err := connection.Update(t.Context(), w, p)
		if err != nil {
			t.Fatal(err)
		}
		second, err := connection.Update(t.Context(), w, p)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(first.Connection, second.Connection); diff != "" || second.ChangeID != "" {
			t.Fatalf("repeating %+v made change %q:\n%s", p, second.ChangeID, diff)
		}
	})
}

func TestUpdateKeepsToTheLimits(t *testing.T) {
	t.Parallel()
	for field, patch := range map[string]func(e connection.Edit) connection.Patch{
		"emails": func(e connection.Edit) connection.Patch { return connection.Patch{Emails: e} },
		"phones": func(e connection.Edit) connection.Patch { return connection.Patch{Phones: e} },
		"urls":   func(e connection.Edit) connection.Patch { return connection.Patch{URLs: e} },
		"tags":   func(e connection.Edit) connection.Patch { return connection.Patch{Tags: e} },
	} {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			w, limit := newWriter(&connection.Connection{ID: "con_1", Name: "Bob", Version: 1}), limits[field]
			update := func(e connection.Edit) error {
				p := patch(e)
				p.ID = "con_1"
				_, err := connection.Update(t.Context(), w, p)
				return err
			}
			if err := update(connection.Edit{Add: numbered(limit)}); err != nil {
				t.Fatalf("%d are refused: %v", limit, err)
			}
			wantInvalid(t, update(connection.Edit{Add: []string{"9999"}}), field)
			wantInvalid(t, update(connection.Edit{Replace: numbered(limit + 1)}), field)
			if w.written != 1 {
				t.Errorf("%d writes", w.written)
			}
			if err := update(connection.Edit{Remove: []string{"0001"}, Add: []string{"9999"}}); err != nil {
				t.Errorf("one for another is refused: %v", err)
			}
		})
	}
}

func TestBlankNameIsRefused(t *testing.T) {
	t.Parallel()
	w := newWriter(ana())
	_, err := connection.Update(t.Context(), w, connection.Patch{ID: "con_1", Name: new("\u200b ")})
	wantInvalid(t, err, "name")
	w.wantNothingWritten(t)
}

func TestStaleVersionIsRefused(t *testing.T) {
	t.Parallel()
	for _, version := range []int32{0, 2, 4} {
		w := newWriter(ana())
		_, err := connection.Update(t.Context(), w, connection.Patch{ID: "con_1", ExpectedVersion: &version, Starred: new(true)})
		if !fault.Is(err, fault.Conflict) {
			t.Errorf("version %d: got %v", version, err)
		}
		w.wantNothingWritten(t)
	}
}

// A connection that changed between reading and writing is refused by the store.
func TestConflictOfTheStoreReachesTheCaller(t *testing.T) {
	t.Parallel()
	w := newWriter(ana())
	w.fail = map[string]error{"ReplaceConnection": fault.New(fault.Conflict, "changed")}
	if _, err := connection.Update(t.Context(), w, connection.Patch{ID: "con_1", Starred: new(true)}); !fault.Is(err, fault.Conflict) {
		t.Errorf("got %v", err)
	}
	if len(w.changes) != 0 {
		t.Error("a change was recorded")
	}
}

func TestUnknownConnectionIsNotFound(t *testing.T) {
	t.Parallel()
	w := newWriter(ana())
	if _, err := connection.Update(t.Context(), w, connection.Patch{ID: "con_2", Starred: new(true)}); !fault.Is(err, fault.NotFound) {
		t.Errorf("got %v", err)
	}
	w.wantNothingWritten(t)
}
