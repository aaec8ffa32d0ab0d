package people_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/people"
	"pgregory.net/rapid"
)

// ana is a connection with something in every list, as the store reads it.
func ana() *people.Connection {
	return &people.Connection{
		TenantID: "mem_1", ID: "con_1", Name: "Ana López", Nickname: "Ana", Location: "Bilbao", Bio: "Builds.", MetOn: "2024",
		MetHow: "at a fair", Source: people.SourceManual, Version: 3, CreatedAt: noon.AddDate(-1, 0, 0), UpdatedAt: noon.AddDate(0, -1, 0),
		Handles: []people.Handle{
			{ID: "hnd_1", Kind: people.KindEmail, Value: "ana@home.example", NormalValue: "ana@home.example", Label: "home", Ordinal: 0},
			{ID: "hnd_2", Kind: people.KindPhone, Value: "+49 30 1", NormalValue: "+49301", Ordinal: 1},
			{ID: "hnd_3", Kind: people.KindEmail, Value: "ana@work.example", NormalValue: "ana@work.example", Label: "work", Ordinal: 2},
			{ID: "hnd_4", Kind: people.KindSocial, Value: "https://in.example/ana", NormalValue: "in.example/ana", Label: "in", Ordinal: 3},
			{ID: "hnd_5", Kind: people.KindURL, Value: "https://ana.example", NormalValue: "ana.example", Ordinal: 4},
		},
		Positions: []people.Position{
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
		patch people.Patch
		want  func(c *people.Connection)
	}{
		{"name", people.Patch{Name: new(" Ana \nRay ")}, func(c *people.Connection) { c.Name = "Ana Ray" }},
		{"nickname", people.Patch{Nickname: new("")}, func(c *people.Connection) { c.Nickname = "" }},
		{"location", people.Patch{Location: new("Vitoria")}, func(c *people.Connection) { c.Location = "Vitoria" }},
		{"bio", people.Patch{Bio: new("One\n\ntwo\x00 ")}, func(c *people.Connection) { c.Bio = "One\n\ntwo" }},
		{"met on", people.Patch{MetOn: new("2023-12")}, func(c *people.Connection) { c.MetOn = "2023-12" }},
		{"met on, taken away", people.Patch{MetOn: new("")}, func(c *people.Connection) { c.MetOn = "" }},
		{"met how", people.Patch{MetHow: new("by Bob")}, func(c *people.Connection) { c.MetHow = "by Bob" }},
		{"starred", people.Patch{Starred: new(true)}, func(c *people.Connection) { c.Starred = true }},
		{"several", people.Patch{Nickname: new("A"), Starred: new(true), ExpectedVersion: new(int32(3))}, func(c *people.Connection) {
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
func wantUpdated(t *testing.T, p people.Patch, want *people.Connection) {
	t.Helper()
	p.ID = "con_1"
	w := newWriter(t, ana())
	got, err := w.update(p)
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
	if diff := cmp.Diff(plain(want), plain(got.Connection)); diff != "" || got.ChangeID != w.changes()[0].ID {
		t.Errorf("returned (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(plain(want), plain(w.held("con_1"))); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	w.wantWrites(t, 1)
	w.wantChange(t, "con_1", ana())
}

func TestPatchOfLists(t *testing.T) {
	t.Parallel()
	on := ana().Handles
	home, phone, work, social, site := on[0], on[1], on[2], on[3], on[4]
	fresh := func(kind, value, normal string, at int) people.Handle {
		return people.Handle{ID: "new_" + string(rune('0'+at)), Kind: kind, Value: value, NormalValue: normal}
	}
	email, url := people.KindEmail, people.KindURL
	cases := []struct {
		name    string
		patch   people.Patch
		handles []people.Handle // nil: as they were
		tags    []string        // nil: as they were
	}{
		{name: "add", patch: people.Patch{Emails: people.Edit{Add: []string{"New@x.example", "ANA@home.example"}}},
			handles: []people.Handle{home, phone, work, social, site, fresh(email, "New@x.example", "new@x.example", 5)}},
		{name: "remove by any spelling", patch: people.Patch{Emails: people.Edit{Remove: []string{" ANA@Home.example", "none@x.example"}},
			Phones: people.Edit{Remove: []string{"0049 (30) 1"}}},
			handles: []people.Handle{work, social, site}},
		{name: "replace keeps what stays, in the new order", patch: people.Patch{Emails: people.Edit{Replace: []string{"new@x.example", "Ana@Work.example"}}},
			handles: []people.Handle{fresh(email, "new@x.example", "new@x.example", 0), phone,
				{ID: "hnd_3", Kind: email, Value: "Ana@Work.example", NormalValue: "ana@work.example", Label: "work"}, social, site}},
		{name: "replace puts the preferred one first", patch: people.Patch{Emails: people.Edit{Replace: []string{"ana@work.example", "ana@home.example"}}},
			handles: []people.Handle{work, phone, home, social, site}},
		{name: "replace by fewer", patch: people.Patch{Emails: people.Edit{Replace: []string{"ana@work.example"}}},
			handles: []people.Handle{work, phone, social, site}},
		{name: "replace by more", patch: people.Patch{Emails: people.Edit{Replace: []string{"a@x.example", "b@x.example", "ana@home.example"}}},
			handles: []people.Handle{fresh(email, "a@x.example", "a@x.example", 0), phone, fresh(email, "b@x.example", "b@x.example", 2), social, site, home}},
		{name: "replace, then remove, then add", patch: people.Patch{Emails: people.Edit{
			Replace: []string{"a@x.example", "b@x.example"}, Remove: []string{"a@x.example", "c@x.example"}, Add: []string{"c@x.example"}}},
			handles: []people.Handle{fresh(email, "b@x.example", "b@x.example", 0), phone, fresh(email, "c@x.example", "c@x.example", 2), social, site}},
		{name: "web addresses are social ones as well: remove", patch: people.Patch{URLs: people.Edit{Remove: []string{"http://www.in.example/ana/"}}},
			handles: []people.Handle{home, phone, work, site}},
		{name: "web addresses are social ones as well: replace", patch: people.Patch{URLs: people.Edit{Replace: []string{"https://new.example", "https://in.example/ana"}}},
			handles: []people.Handle{home, phone, work, fresh(url, "https://new.example", "new.example", 3), social}},
		{name: "tags: add", patch: people.Patch{Tags: people.Edit{Add: []string{" Zoo ", "FRIEND", "zoo"}}},
			tags: []string{"Álava", "Friend", "Zoo"}},
		{name: "tags: remove", patch: people.Patch{Tags: people.Edit{Remove: []string{"alava", "none"}}},
			tags: []string{"Friend"}},
		{name: "tags: remove all", patch: people.Patch{Tags: people.Edit{Remove: []string{"ALAVA", "friend"}}},
			tags: []string{}},
		{name: "tags: replace", patch: people.Patch{Tags: people.Edit{Replace: []string{"zoo", "friend"}}},
			tags: []string{"Friend", "zoo"}},
		{name: "tags: replace, then remove, then add", patch: people.Patch{Tags: people.Edit{
			Replace: []string{"b", "a"}, Remove: []string{"a", "c"}, Add: []string{"c"}}},
			tags: []string{"b", "c"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			want := ana()
			if c.handles != nil {
				want.Handles = append([]people.Handle(nil), c.handles...)
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
	now := func(organization, title string) people.Position {
		return people.Position{Organization: organization, Title: title, Current: true}
	}
	retitled := func(title string) people.Position {
		p := founder
		p.Title = title
		return p
	}
	cases := []struct {
		name                string
		organization, title *string
		want                []people.Position
	}{
		{"another title, the same job", nil, new(" Chief "), []people.Position{retitled("Chief"), welder}},
		{"no title, the same job", nil, new(""), []people.Position{retitled(""), welder}},
		{"another organisation: the title does not move along", new("Eos"), nil, []people.Position{now("Eos", ""), past, welder}},
		{"another organisation and title", new("Eos"), new("Chief"), []people.Position{now("Eos", "Chief"), past, welder}},
		{"another organisation, the same title", new("Eos"), new("Founder"), []people.Position{now("Eos", "Founder"), past, welder}},
		{"another spelling of the organisation, another title", new("HELIOS"), new("Chief"), []people.Position{retitled("Chief"), welder}},
		{"a former organisation again", new("Selene"), nil, []people.Position{now("Selene", ""), past, welder}},
		{"no organisation: the job ends", new(""), nil, []people.Position{past, welder}},
		{"neither: the job ends", new(" "), new(""), []people.Position{past, welder}},
		{"no organisation, but a title", new(""), new("Freelancer"), []people.Position{now("", "Freelancer"), past, welder}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			want := ana()
			want.Positions = append([]people.Position(nil), c.want...)
			wantUpdated(t, people.Patch{Organization: c.organization, Title: c.title}, want)
		})
	}
}

func TestPatchOfAPersonWithoutAJob(t *testing.T) {
	t.Parallel()
	title := []people.Position{{Title: "Chef", Current: true}}
	cases := []struct {
		name                string
		held                []people.Position
		organization, title *string
		want                []people.Position
	}{
		{"a first organisation", nil, new("Eos"), nil, []people.Position{{Organization: "Eos", Current: true}}},
		{"a first title", nil, nil, new("Chef"), []people.Position{{Title: "Chef", Current: true}}},
		{"after a former job", []people.Position{{Organization: "Eos"}}, new("Eos"), nil,
			[]people.Position{{Organization: "Eos", Current: true}, {Organization: "Eos"}}},
		{"a title alone is changed", title, nil, new("Baker"), []people.Position{{Title: "Baker", Current: true}}},
		{"a title alone ends", title, nil, new(""), []people.Position{{Title: "Chef"}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWriter(t, &people.Connection{ID: "con_1", Name: "Bob", Version: 1, Positions: c.held})
			got, err := w.update(people.Patch{ID: "con_1", Organization: c.organization, Title: c.title})
			if err != nil {
				t.Fatal(err)
			}
			for i := range c.want {
				c.want[i].Ordinal = i
			}
			if diff := cmp.Diff(c.want, plain(got.Connection).Positions); diff != "" {
				t.Errorf("positions (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNothingChangedNothingWritten(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name  string
		patch people.Patch
	}{
		{"an empty patch", people.Patch{}},
		{"the stored values", people.Patch{
			Name: new("Ana López"), Nickname: new(" Ana"), Organization: new("Helios Inc."), Title: new("Founder"), Location: new("Bilbao"),
			Bio: new("Builds.\n"), MetOn: new("2024"), MetHow: new("at a fair"), Starred: new(false),
		}},
		{"the stored version", people.Patch{ExpectedVersion: new(int32(3))}},
		{"another spelling of the organisation", people.Patch{Organization: new("HELIOS")}},
		{"add what is there", people.Patch{
			Emails: people.Edit{Add: []string{"ANA@work.example"}}, Phones: people.Edit{Add: []string{"0049 301"}},
			URLs: people.Edit{Add: []string{"http://www.ana.example/", "https://in.example/ana"}}, Tags: people.Edit{Add: []string{"alava"}},
		}},
		{"remove what is not there", people.Patch{
			Emails: people.Edit{Remove: []string{"x@x.example"}}, Phones: people.Edit{Remove: []string{"1"}},
			URLs: people.Edit{Remove: []string{"https://x.example"}}, Tags: people.Edit{Remove: []string{"x"}},
		}},
		{"replace by the same", people.Patch{
			Emails: people.Edit{Replace: []string{"ana@home.example", "ana@work.example"}}, Phones: people.Edit{Replace: []string{"+49 30 1"}},
			URLs: people.Edit{Replace: []string{"https://in.example/ana", "https://ana.example"}}, Tags: people.Edit{Replace: []string{"friend", "Alava"}},
		}},
		{"add, take away", people.Patch{Tags: people.Edit{Replace: []string{"Álava", "Friend", "x"}, Remove: []string{"x"}}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWriter(t, ana())
			c.patch.ID = "con_1"
			got, err := w.update(c.patch)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(plain(ana()), plain(got.Connection)); diff != "" {
				t.Errorf("returned (-want +got):\n%s", diff)
			}
			w.wantNothingWritten(t)
		})
	}
}

// A store may return an empty list as nil or as empty; neither is a change.
func TestEmptyListsAreNoChange(t *testing.T) {
	t.Parallel()
	w := newWriter(t, &people.Connection{
		ID: "con_1", Name: "Bob", Version: 1,
		Handles: []people.Handle{}, Positions: []people.Position{}, Tags: []string{},
	})
	got, err := w.update(people.Patch{ID: "con_1", Title: new(""), Tags: people.Edit{Remove: []string{"x"}}})
	if err != nil || got.ChangeID != "" {
		t.Errorf("got %+v, %v", got, err)
	}
	w.wantNothingWritten(t)
}

// Repeating a patch changes nothing. (An address that is both removed and added moves to
// the end, so the test leaves it out.)
func TestPatchIsIdempotent(t *testing.T) {
	t.Parallel()
	values := func(t *rapid.T, label, pattern string) []string {
		return rapid.SliceOfN(rapid.StringMatching(pattern), 0, 4).Draw(t, label)
	}
	text := func(t *rapid.T, label string) *string {
		return rapid.Ptr(rapid.SampledFrom([]string{"", " ", "Helios", "HELIOS, Inc.", "Eos", "Chef", "Founder"}), true).Draw(t, label)
	}
	w := newWriter(t)
	rapid.Check(t, func(t *rapid.T) {
		p := people.Patch{
			ID: "con_1", Name: new(rapid.StringMatching(`[A-C] ?[a-c]`).Draw(t, "name")), Organization: text(t, "organization"), Title: text(t, "title"),
			Emails: people.Edit{Replace: values(t, "emails", `[abA]@(x|home|work)\.example`), Remove: values(t, "no emails", `[ab]@x`), Add: values(t, "more emails", `[cd]@x`)},
			Phones: people.Edit{Add: values(t, "phones", `(\+|00)49 ?[0-3]?`)},
			URLs:   people.Edit{Replace: values(t, "urls", `https?://(www\.)?(ana|in)\.example(/ana)?/?`)},
			Tags:   people.Edit{Replace: values(t, "tags", `[abÁ]?`), Remove: values(t, "no tags", `[aé]`), Add: values(t, "more tags", `[aéz]`)},
		}
		w.reset(ana())
		first, err := w.update(p)
		if err != nil {
			t.Fatal(err)
		}
		second, err := w.update(p)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(plain(first.Connection), plain(second.Connection)); diff != "" || second.ChangeID != "" {
			t.Fatalf("repeating %+v made change %q:\n%s", p, second.ChangeID, diff)
		}
	})
}

func TestUpdateKeepsToTheLimits(t *testing.T) {
	t.Parallel()
	for field, patch := range map[string]func(e people.Edit) people.Patch{
		"emails": func(e people.Edit) people.Patch { return people.Patch{Emails: e} },
		"phones": func(e people.Edit) people.Patch { return people.Patch{Phones: e} },
		"urls":   func(e people.Edit) people.Patch { return people.Patch{URLs: e} },
		"tags":   func(e people.Edit) people.Patch { return people.Patch{Tags: e} },
	} {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			w, limit := newWriter(t, &people.Connection{ID: "con_1", Name: "Bob", Version: 1}), limits[field]
			update := func(e people.Edit) error {
				p := patch(e)
				p.ID = "con_1"
				_, err := w.update(p)
				return err
			}
			if err := update(people.Edit{Add: numbered(limit)}); err != nil {
				t.Fatalf("%d are refused: %v", limit, err)
			}
			wantInvalid(t, update(people.Edit{Add: []string{"9999"}}), field)
			wantInvalid(t, update(people.Edit{Replace: numbered(limit + 1)}), field)
			w.wantWrites(t, 1)
			if err := update(people.Edit{Remove: []string{"0001"}, Add: []string{"9999"}}); err != nil {
				t.Errorf("one for another is refused: %v", err)
			}
		})
	}
}

func TestBlankNameIsRefused(t *testing.T) {
	t.Parallel()
	w := newWriter(t, ana())
	_, err := w.update(people.Patch{ID: "con_1", Name: new("\u200b ")})
	wantInvalid(t, err, "name")
	w.wantNothingWritten(t)
}

func TestStaleVersionIsRefused(t *testing.T) {
	t.Parallel()
	for _, version := range []int32{0, 2, 4} {
		w := newWriter(t, ana())
		_, err := w.update(people.Patch{ID: "con_1", ExpectedVersion: &version, Starred: new(true)})
		if !fault.Is(err, fault.Conflict) {
			t.Errorf("version %d: got %v", version, err)
		}
		w.wantNothingWritten(t)
	}
}

func TestUnknownConnectionIsNotFound(t *testing.T) {
	t.Parallel()
	w := newWriter(t, ana())
	if _, err := w.update(people.Patch{ID: "con_2", Starred: new(true)}); !fault.Is(err, fault.NotFound) {
		t.Errorf("got %v", err)
	}
	w.wantNothingWritten(t)
}
