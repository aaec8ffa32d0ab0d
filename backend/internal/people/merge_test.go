package people

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/text"
	"pgregory.net/rapid"
)

func TestAbsorb(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		into, from, want Connection
		take, both       []string
		conflicts        []MergeConflict
	}{
		"blanks are filled": {
			into: Connection{Name: "Ana"}, from: Connection{Name: "Ana", Bio: "b", MetOn: "2026", CadenceDays: 7, Starred: true, LastInteractionAt: day},
			want: Connection{Name: "Ana", Bio: "b", MetOn: "2026", CadenceDays: 7, Starred: true, LastInteractionAt: day},
		},
		"existing values stay": {
			into: Connection{Name: "Ana", Bio: "b", CadenceDays: 7, LastInteractionAt: day}, from: Connection{Name: "A.", Bio: "c", CadenceDays: 9},
			want:      Connection{Name: "Ana", Bio: "b\n\nc", CadenceDays: 7, LastInteractionAt: day},
			conflicts: []MergeConflict{{"name", "Ana", "A."}, {"cadence_days", "7", "9"}},
		},
		"a bio that includes the other is not repeated": {
			into: Connection{Bio: "Met in Lisbon."}, from: Connection{Bio: "Met in Lisbon. Sings."}, want: Connection{Bio: "Met in Lisbon. Sings."},
		},
		"a bio that does not fit is reported": {
			into: Connection{Bio: strings.Repeat("ü", 1990)}, from: Connection{Bio: "Sings in a choir."},
			want:      Connection{Bio: strings.Repeat("ü", 1990)},
			conflicts: []MergeConflict{{"bio", strings.Repeat("ü", 1990), "Sings in a choir."}},
		},
		"the chosen values are taken": {
			into:      Connection{Name: "Ana", Location: "Porto", CadenceDays: 7, Dates: []ImportantDate{{Kind: DateBirthday, Month: 2, Day: 3}}},
			from:      Connection{Name: "Ana B", Location: "Faro", CadenceDays: 9, Dates: []ImportantDate{{Kind: DateBirthday, Month: 2, Day: 4}}},
			take:      []string{"location", "cadence_days", "birthday", "nickname"},
			want:      Connection{Name: "Ana", Location: "Faro", CadenceDays: 9, Dates: []ImportantDate{{Kind: DateBirthday, Month: 2, Day: 4}}},
			conflicts: []MergeConflict{{"name", "Ana", "Ana B"}, {"location", "Faro", "Porto"}, {"cadence_days", "9", "7"}, {"birthday", "--02-04", "--02-03"}},
		},
		"both are kept where there is room": {
			into:      Connection{Name: "Ana Lopez", Nickname: "Ana", MetHow: "At Tideline", NameParts: NameParts{Former: "Silva"}, Fields: []FieldValue{{Name: "Shoe size", Value: "38"}}},
			from:      Connection{Name: "Anna Lopez", Nickname: "Annie", MetHow: "Through Bo", NameParts: NameParts{Former: "Souza"}, Fields: []FieldValue{{Name: "Shoe size", Value: "39"}}},
			both:      []string{"name", "nickname", "met_how"},
			take:      []string{"former", "field Shoe size"},
			want:      Connection{Name: "Ana Lopez", Nickname: "Ana, Annie, Anna Lopez", MetHow: "At Tideline; Through Bo", NameParts: NameParts{Former: "Souza"}, Fields: []FieldValue{{Name: "Shoe size", Value: "39"}}},
			conflicts: []MergeConflict{{"former", "Souza", "Silva"}, {"field Shoe size", "39", "38"}},
		},
		"without room, the second one is reported": {
			into:      Connection{Name: "Ana", Nickname: strings.Repeat("ü", 98)},
			from:      Connection{Name: "Anna Lopez", Nickname: "Annie"},
			both:      []string{"name", "nickname"},
			want:      Connection{Name: "Ana", Nickname: strings.Repeat("ü", 98)},
			conflicts: []MergeConflict{{"nickname", strings.Repeat("ü", 98), "Annie"}, {"name", "Ana", "Anna Lopez"}},
		},
		"a second label is reported": {
			into:      Connection{Handles: []Handle{{Kind: "phone", Value: "1", NormalValue: "1", Label: "work"}, {Kind: "email", Value: "a", NormalValue: "a"}}},
			from:      Connection{Handles: []Handle{{Kind: "phone", Value: "1", NormalValue: "1", Label: "Zweithandy"}, {Kind: "email", Value: "a", NormalValue: "a", Label: "home"}}},
			want:      Connection{Handles: []Handle{{Kind: "phone", Value: "1", NormalValue: "1", Label: "work"}, {Kind: "email", Value: "a", NormalValue: "a", Label: "home"}}},
			conflicts: []MergeConflict{{"label", "1: work", "1: Zweithandy"}},
		},
		"addresses are joined": {
			into: Connection{Handles: []Handle{{Kind: "email", NormalValue: "a"}, {Kind: "url", NormalValue: "p"}}},
			from: Connection{Handles: []Handle{{ID: "1", Kind: "email", NormalValue: "a"}, {ID: "2", Kind: "social", NormalValue: "p"}, {ID: "3", Kind: "phone", NormalValue: "a"}}},
			want: Connection{Handles: []Handle{{Kind: "email", NormalValue: "a"}, {Kind: "url", NormalValue: "p"}, {ID: "3", Kind: "phone", NormalValue: "a"}}},
		},
		"positions at one organisation are combined": {
			into: Connection{Positions: []Position{{Organization: "X", Current: true}}},
			from: Connection{Positions: []Position{{Organization: "x Ltd", Title: "Founder", StartedOn: "2020", Current: true}, {Organization: "X", Title: "Intern"}}},
			want: Connection{Positions: []Position{{Organization: "X", Title: "Founder", StartedOn: "2020", Current: true}, {Organization: "X", Title: "Intern"}}},
		},
		"positions with different titles stay separate": {
			into: Connection{Positions: []Position{{Organization: "X", Title: "CTO", Current: true}}},
			from: Connection{Positions: []Position{{Organization: "X", Title: "CEO", Current: true}}},
			want: Connection{Positions: []Position{{Organization: "X", Title: "CTO", Current: true}, {Organization: "X", Title: "CEO", Current: true}}},
		},
		"a birthday gets its year": {
			into: Connection{Dates: []ImportantDate{{Kind: DateBirthday, Month: 2, Day: 3}}},
			from: Connection{Dates: []ImportantDate{{ID: "1", Kind: DateBirthday, Year: 1980, Month: 2, Day: 3}, {Kind: DateAnniversary, Year: 2001}}},
			want: Connection{Dates: []ImportantDate{{Kind: DateBirthday, Year: 1980, Month: 2, Day: 3}, {Kind: DateAnniversary, Year: 2001}}},
		},
		"a person has one birthday": {
			into:      Connection{Dates: []ImportantDate{{Kind: DateBirthday, Month: 2, Day: 3}}},
			from:      Connection{Dates: []ImportantDate{{Kind: DateBirthday, Month: 2, Day: 4}}},
			want:      Connection{Dates: []ImportantDate{{Kind: DateBirthday, Month: 2, Day: 3}}},
			conflicts: []MergeConflict{{"birthday", "--02-03", "--02-04"}},
		},
		"tags are joined": {into: Connection{Tags: []string{"a"}}, from: Connection{Tags: []string{"A", "b"}}, want: Connection{Tags: []string{"a", "b"}}},
	} {
		got := c.into
		if diff := cmp.Diff(c.conflicts, got.absorb(&c.from, MergeChoices{Take: c.take, Both: c.both})); diff != "" {
			t.Errorf("%s: conflicts\n%s", name, diff)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// Changing the job of a person who has two ends the primary one only.
func TestSetPositionWithTwoJobs(t *testing.T) {
	t.Parallel()
	held := func() Connection {
		return Connection{Positions: []Position{{ID: "1", Organization: "A", Title: "CEO", Current: true}, {ID: "2", Organization: "B", Title: "Advisor", Current: true}}}
	}
	for name, c := range map[string]struct {
		organization, title string
		want                []Position
	}{
		"another":    {"C", "CTO", []Position{{Organization: "C", Title: "CTO", Current: true}, {ID: "1", Organization: "A", Title: "CEO"}, {ID: "2", Organization: "B", Title: "Advisor", Current: true}}},
		"none":       {"", "", []Position{{ID: "1", Organization: "A", Title: "CEO"}, {ID: "2", Organization: "B", Title: "Advisor", Current: true}}},
		"the second": {"B Ltd", "", []Position{{ID: "2", Organization: "B", Title: "Advisor", Current: true}, {ID: "1", Organization: "A", Title: "CEO"}}},
		"promoted":   {"B", "Chair", []Position{{ID: "2", Organization: "B", Title: "Chair", Current: true}, {ID: "1", Organization: "A", Title: "CEO"}}},
	} {
		got := held()
		got.setPosition(c.organization, c.title)
		if diff := cmp.Diff(c.want, got.Positions); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// A relationship has one stored form, which gives both people the same answer.
func TestNormalRelationship(t *testing.T) {
	t.Parallel()
	for _, relation := range []string{
		RelationSpouse, RelationParent, RelationChild, RelationSibling, RelationColleague, RelationManager, RelationReport,
		RelationIntroducedBy, RelationIntroduced, RelationFriend, RelationOther,
	} {
		if Inverse(Inverse(relation)) != relation {
			t.Errorf("the inverse of the inverse of %s is %s", relation, Inverse(Inverse(relation)))
		}
		for _, pair := range [][2]string{{"con_1", "con_2"}, {"con_2", "con_1"}} {
			told := Relationship{FromID: pair[0], ToID: pair[1], Type: relation}
			turned := Relationship{FromID: pair[1], ToID: pair[0], Type: Inverse(relation)}
			if told.Normal() != turned.Normal() || told.Normal().Normal() != told.Normal() {
				t.Errorf("%s: %+v and %+v", relation, told.Normal(), turned.Normal())
			}
			if got := told.Normal().SeenFrom(pair[0]); got != (Relation{ConnectionID: pair[1], Type: relation}) {
				t.Errorf("%s from %s: %+v", relation, pair[0], got)
			}
			if !slices.Contains([]string{RelationSpouse, RelationParent, RelationSibling, RelationColleague, RelationManager, RelationIntroducedBy, RelationFriend, RelationOther}, told.Normal().Type) {
				t.Errorf("%s is stored as %s", relation, told.Normal().Type)
			}
		}
	}
}

// What a file or a merged person knows of an address is added to it; other addresses are kept beside it.
func TestAddressesAreJoined(t *testing.T) {
	t.Parallel()
	home := Address{Label: "home", Street: "Rua do Sol 3", Locality: "Lisbon", Postcode: "1200-109", Country: "PT"}
	work := Address{Label: "work", Street: "1 Main St", Locality: "Austin", Country: "US"}
	part := Address{Street: "rua do sol 3", Locality: "LISBON", Region: "Estremadura"}
	joined := home
	joined.Region = "Estremadura"
	for name, c := range map[string]struct {
		mine, its []Address
		want      []Address
	}{
		"a part of it":       {[]Address{home}, []Address{part}, []Address{joined}},
		"another":            {[]Address{home}, []Address{work}, []Address{home, work}},
		"one without street": {[]Address{home}, []Address{{Locality: "Lisbon"}}, []Address{home, {Locality: "Lisbon"}}},
		"another label":      {[]Address{home}, []Address{{Label: "work", Street: home.Street}}, []Address{home, {Label: "work", Street: home.Street}}},
		"another text":       {[]Address{{Text: "a"}}, []Address{{Text: "b"}, {Text: "A"}}, []Address{{Text: "a"}, {Text: "b"}}},
	} {
		held, said := &Connection{Name: "Ana", Addresses: c.mine}, &Connection{Name: "Ana", Addresses: c.its}
		got, _, unused, err := held.MergeFrom(said, false)
		if diff := cmp.Diff(c.want, got.Addresses); diff != "" || err != nil || unused != nil {
			t.Errorf("%s from a file: %v, %v (-want +got):\n%s", name, unused, err, diff)
		}
		merged := held.clone()
		conflicts := merged.absorb(said, MergeChoices{})
		if diff := cmp.Diff(c.want, merged.Addresses); diff != "" || conflicts != nil {
			t.Errorf("%s merged: %v (-want +got):\n%s", name, conflicts, diff)
		}
	}
}

// Properties that nobody understands survive another import and a merge, without being doubled.
func TestKeptProperties(t *testing.T) {
	t.Parallel()
	line := func(name, value string) Kept { return Kept{Format: "vcard", Name: name, Text: name + ":" + value} }
	a, b, a2 := line("X-A", "1"), line("X-B", "1"), line("X-A", "2")
	js := Kept{Format: "jscontact", Name: "X-A", Text: "1"}
	for name, c := range map[string]struct {
		mine, its, blended, overwritten, merged []Kept
		unused                                  int
	}{
		"new ones":             {[]Kept{a}, []Kept{b, js}, []Kept{a, b, js}, []Kept{a, b, js}, []Kept{a, b, js}, 0},
		"the same":             {[]Kept{a, b}, []Kept{b, a}, []Kept{a, b}, []Kept{a, b}, []Kept{a, b}, 0},
		"another value":        {[]Kept{a, b}, []Kept{a2}, []Kept{a, b}, []Kept{b, a2}, []Kept{a, b, a2}, 1},
		"one more of its name": {[]Kept{a}, []Kept{a, a2}, []Kept{a}, []Kept{a, a2}, []Kept{a, a2}, 1},
	} {
		held, said := &Connection{Name: "Ana", Kept: c.mine}, &Connection{Name: "Ana", Kept: c.its}
		got, _, unused, err := held.MergeFrom(said, false)
		if diff := cmp.Diff(c.blended, got.Kept); diff != "" || err != nil || len(unused) != c.unused {
			t.Errorf("%s, imported: %v, %v (-want +got):\n%s", name, unused, err, diff)
		}
		if got, _, _, err = held.MergeFrom(said, true); err != nil || cmp.Diff(c.overwritten, got.Kept) != "" {
			t.Errorf("%s, overwritten: %v (-want +got):\n%s", name, err, cmp.Diff(c.overwritten, got.Kept))
		}
		merged := held.clone()
		if conflicts := merged.absorb(said, MergeChoices{}); conflicts != nil || cmp.Diff(c.merged, merged.Kept) != "" {
			t.Errorf("%s, merged: %v (-want +got):\n%s", name, conflicts, cmp.Diff(c.merged, merged.Kept))
		}
	}
	full := &Connection{Name: "Ana", Kept: []Kept{line("X-LONG", strings.Repeat("x", MaxKeptBytes-30))}}
	merged := full.clone()
	if conflicts := merged.absorb(&Connection{Name: "Ana", Kept: []Kept{a, line("X-C", strings.Repeat("y", 30))}}, MergeChoices{}); len(conflicts) != 1 || conflicts[0].Field != "kept" || len(merged.Kept) != 2 {
		t.Errorf("too much: %d are kept, %v", len(merged.Kept), conflicts)
	}
}

// People who are not on file are kept once, with the word that says more.
func TestRelatedNamesAreJoined(t *testing.T) {
	t.Parallel()
	mother, parent, godmother := Relation{Name: "Vera Holm", Type: "parent", Label: "mother"}, Relation{Name: "vera holm", Type: "parent"}, Relation{Name: "Vera Holm", Type: "other", Label: "godmother"}
	for name, c := range map[string]struct{ mine, its, want []Relation }{
		"another word":          {[]Relation{mother}, []Relation{godmother}, []Relation{mother, godmother}},
		"a word that says more": {[]Relation{parent}, []Relation{mother}, []Relation{{Name: "vera holm", Type: "parent", Label: "mother"}}},
		"one that says less":    {[]Relation{mother}, []Relation{parent}, []Relation{mother}},
	} {
		held, said := &Connection{Name: "Ana", Related: c.mine}, &Connection{Name: "Ana", Related: c.its}
		got, _, unused, err := held.MergeFrom(said, false)
		if diff := cmp.Diff(c.want, got.Related); diff != "" || err != nil || unused != nil {
			t.Errorf("%s from a file: %v, %v (-want +got):\n%s", name, unused, err, diff)
		}
		merged := held.clone()
		if conflicts := merged.absorb(said, MergeChoices{}); conflicts != nil || cmp.Diff(c.want, merged.Related) != "" {
			t.Errorf("%s merged: %v (-want +got):\n%s", name, conflicts, cmp.Diff(c.want, merged.Related))
		}
	}
	full := &Connection{Name: "Ana"}
	for i := range MaxRelated {
		full.Related = append(full.Related, Relation{Name: fmt.Sprint("N", i), Type: "friend"})
	}
	if conflicts := full.absorb(&Connection{Name: "Ana", Related: []Relation{mother}}, MergeChoices{}); len(conflicts) != 1 || conflicts[0].Dropped != "mother: Vera Holm" {
		t.Errorf("too many: %v", conflicts)
	}
}

// Words of files and callers stand for relations, and stay if they say more.
func TestParseRelation(t *testing.T) {
	t.Parallel()
	for word, want := range map[string][2]string{
		"spouse": {"spouse", ""}, "Domestic Partner": {"spouse", "Domestic Partner"}, "co-worker": {"colleague", ""}, "introduced_by": {"introduced_by", ""},
		"child_of": {"parent", ""}, "manager_of": {"report", ""}, "reports_to": {"manager", ""}, "son of": {"parent", "son of"}, "Mother": {"parent", "Mother"},
		"godfather": {"other", "godfather"}, "": {"other", ""}, "other": {"other", ""}, "contact": {"other", ""},
	} {
		if kind, label := ParseRelation(word); kind != want[0] || label != want[1] {
			t.Errorf("%q: %q, %q", word, kind, label)
		}
	}
}

// Parts of a name that only one of two records has are kept, and those that differ are reported.
func TestPartsOfNamesAreJoined(t *testing.T) {
	t.Parallel()
	mine := &Connection{Name: "Vera Holm", NameParts: NameParts{Given: "Vera", Family: "Holm"}}
	its := &Connection{Name: "Vera Holm", NameParts: NameParts{Given: "VERA", Family: "Berg", Former: "Lind", Pronouns: "she/her"}}
	want := NameParts{Given: "Vera", Family: "Holm", Former: "Lind", Pronouns: "she/her"}
	got, changed, unused, err := mine.MergeFrom(its, false)
	if err != nil || !changed || got.NameParts != want || len(unused) != 1 || unused[0].Said != "Berg" {
		t.Errorf("from a file: %+v, %v, %v", got.NameParts, unused, err)
	}
	merged := mine.clone()
	if conflicts := merged.absorb(its, MergeChoices{}); merged.NameParts != want || len(conflicts) != 1 || conflicts[0] != (MergeConflict{"family", "Holm", "Berg"}) {
		t.Errorf("merged: %+v, %v", merged.NameParts, conflicts)
	}
	if others := got.OtherNames(); !slices.Equal(others, []string{"Lind"}) {
		t.Errorf("other names: %q", others)
	}
}

// Whatever two records hold, and whatever is chosen, each value of both is on the person who stays or in the note about them.
func TestMergeLosesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		into, from := drawPerson(rt, "into"), drawPerson(rt, "from")
		fields := []string{customField + "Shoe size", customField + "Team"}
		for _, f := range MergeFields() {
			fields = append(fields, f.Name)
		}
		choose := MergeChoices{Take: rapid.SliceOfDistinct(rapid.SampledFrom(fields), rapid.ID).Draw(rt, "take"), Both: rapid.SliceOfDistinct(rapid.SampledFrom(fields), rapid.ID).Draw(rt, "both")}
		merged := into.clone()
		note := leftOver(from.Name, merged.absorb(from, choose))
		kept := strings.Join(append(heldBy(merged), text.Fold(merged.Location), text.Fold(note)), "\x00")
		for _, c := range []*Connection{into, from} {
			for _, value := range heldBy(c) {
				if !strings.Contains(kept, value) {
					rt.Fatalf("%q is lost\ninto: %+v\nfrom: %+v\nmerged: %+v\nnote: %s", value, into, from, merged, note)
				}
			}
		}
	})
}

// drawPerson returns a person with a few of everything; values repeat, so that two people often share some and differ on others.
func drawPerson(rt *rapid.T, label string) *Connection {
	draw := func(values ...string) string { return rapid.SampledFrom(values).Draw(rt, label) }
	some := func() bool { return rapid.Bool().Draw(rt, label) }
	c := &Connection{
		Name: draw("Ana Lopez", "Anna López", "A. L."), Nickname: draw("", "Ann", "Anna", strings.Repeat("n", 97)), Location: draw("", "Porto", "Faro, Portugal", "Lisbon, Portugal"),
		Bio: draw("", "Sings.", "Met in Lisbon. Sings.", strings.Repeat("b", 1995)), MetOn: draw("", "2024", "2024-05"), MetHow: draw("", "At Tideline", "Tideline", strings.Repeat("m", 495)),
		DeceasedOn: draw("", "2026-01-02", "2025"), CadenceDays: rapid.SampledFrom([]int{0, 7, 30}).Draw(rt, label), Starred: some(),
		NameParts: NameParts{Given: draw("", "Ana", "Anna"), Former: draw("", "Silva", "Souza"), Pronouns: draw("", "she/her", "they/them")},
	}
	if some() {
		c.SnoozedUntil = time.Date(2027, 1, rapid.IntRange(1, 3).Draw(rt, label), 0, 0, 0, 0, time.UTC)
	}
	for range rapid.IntRange(0, 3).Draw(rt, label) {
		value := draw("a@x.example", "b@x.example", "+351 21 000")
		c.Handles = append(c.Handles, Handle{Kind: draw(KindEmail, KindPhone, KindURL, KindSocial), Value: value, NormalValue: value, Label: draw("", "work", "home")})
		c.Tags = append(c.Tags, draw("few", "Investor", "investor"))
		c.Positions = append(c.Positions, Position{Organization: draw("Helios", "Helios Energy"), Title: draw("", "CTO", "CEO"), StartedOn: draw("", "2020", "2021-04"), Current: some()})
		c.Addresses = append(c.Addresses, Address{Label: draw("", "home", "work"), Street: draw("", "Rua do Sol 3"), Locality: draw("Lisbon", "Faro"), Country: draw("", "PT"), Text: draw("", "Rua do Sol 3, Lisbon")})
		c.Accounts = append(c.Accounts, Account{Service: draw("signal", "mastodon"), Handle: draw("@ana", "ana"), Label: draw("", "work", "home")})
		c.Related = append(c.Related, Relation{Name: draw("Vera Holm", "Otto"), Type: draw("parent", "friend"), Label: draw("", "mother")})
		c.Kept = append(c.Kept, Kept{Format: "vcard", Name: "X-A", Text: draw("X-A:1", "X-A:2")})
	}
	if some() {
		c.Dates = append(c.Dates, ImportantDate{Kind: DateBirthday, Year: rapid.SampledFrom([]int{0, 1980, 1981}).Draw(rt, label), Month: rapid.IntRange(1, 2).Draw(rt, label), Day: 3})
		c.Dates = append(c.Dates, ImportantDate{Kind: DateOther, Label: draw("Name day", "House"), Year: rapid.IntRange(2000, 2001).Draw(rt, label)})
	}
	for _, name := range []string{"Shoe size", "Team"} {
		if value := draw("", "38", "39"); value != "" {
			c.putField(FieldValue{Name: name, Type: "text", Value: value})
		}
	}
	return c
}

// heldBy returns all values of a person, folded. A date is shown by its parts, since another date can complete it. A place that
// an address says is not shown twice.
func heldBy(c *Connection) []string {
	all := append([]string{}, c.Tags...)
	for _, field := range c.texts() {
		if field.name == "location" && !c.HasTypedLocation() {
			continue
		}
		all = append(all, *field.value)
	}
	for _, part := range c.NameParts.All() {
		all = append(all, *part.Value)
	}
	for _, h := range c.Handles {
		all = append(all, h.Value, h.Label)
	}
	for _, p := range c.Positions {
		all = append(all, p.Organization, p.Title, p.StartedOn)
	}
	for _, a := range c.Addresses {
		all = append(all, a.Label, a.Street, a.Locality, a.Country, a.Text)
	}
	for _, a := range c.Accounts {
		all = append(all, a.Service, strings.TrimPrefix(a.Handle, "@"), a.Label)
	}
	for _, d := range c.Dates {
		all = append(all, fmt.Sprintf("%02d-%02d", d.Month, d.Day), d.Label)
		if d.Year != 0 {
			all = append(all, fmt.Sprint(d.Year))
		}
	}
	for _, f := range c.Fields {
		all = append(all, f.Value)
	}
	for _, r := range c.Related {
		all = append(all, r.Name, r.Label)
	}
	for _, k := range c.Kept {
		all = append(all, k.Text)
	}
	if c.CadenceDays != 0 {
		all = append(all, fmt.Sprint(c.CadenceDays))
	}
	if !c.SnoozedUntil.IsZero() {
		all = append(all, c.SnoozedUntil.Format(time.DateOnly))
	}
	for i, value := range all {
		all[i] = text.Fold(value)
	}
	return all
}
