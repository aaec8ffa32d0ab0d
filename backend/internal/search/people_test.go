package search_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/search"
)

var day = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// indexOf builds an index in one go.
func indexOf(docs ...search.Document) *search.Index {
	ix := search.New()
	ix.Put(docs...)
	return ix
}

func ids(r search.Result) []string {
	out := make([]string, 0, len(r.Hits))
	for _, h := range r.Hits {
		out = append(out, h.ID)
	}
	return out
}

func wantIDs(t *testing.T, r search.Result, want ...string) {
	t.Helper()
	if got := ids(r); !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
}

// firstNames pairs given names with an everyday form that the index should know.
var firstNames = []struct{ full, short string }{
	{"Robert", "Bob"}, {"Elizabeth", "Liz"}, {"William", "Bill"}, {"Katherine", "Kate"},
	{"Alexander", "Alex"}, {"Margaret", "Peggy"}, {"José", "Pepe"}, {"Mikhail", "Misha"},
	{"Johannes", "Hans"}, {"Stephanie", "Steffi"}, {"Theodore", "Ted"}, {"Susan", "Sue"},
	{"Zoë", ""}, {"Łukasz", ""}, {"Søren", ""}, {"Françoise", ""}, {"Jürgen", ""}, {"Ingeborg", ""},
	{"Amara", ""}, {"Dmitri", "Dima"}, {"Wolfgang", "Wolfi"}, {"Yuki", ""}, {"Nkechi", ""}, {"Aoife", ""},
}

var lastNames = strings.Fields(`García Müller Kowalski Öztürk Håkansson Dvořák Novotný Fernández Lindqvist Yılmaz
Okonkwo Takahashi Bianchi Castellanos Thorvaldsen Papadopoulos Weißmann Grünwald Petrović Sørensen Łukasiewicz
O'Sullivan MacAllister Vandenberg Rosenthal Abernathy Whitfield Kuznetsov Moreau Delacroix Silveira Montgomery`)

var (
	places = []string{"Berlin", "São Paulo", "Zürich", "Kraków", "Lisbon", "Montréal", "Osaka", "Reykjavík", "Nairobi", "Boston"}
	titles = []string{"Head of Design", "Data Engineer", "General Counsel", "Founder", "Investor", "Product Manager", "Research Scientist"}
	firms  = []string{"Helios Energy", "Borealis Labs", "Café Aurora", "Quartz Capital", "Meridian Foods", "Tundra Systems", "Juniper Health", "Nimbus Airlines", "Rivet Robotics", "Lumen Press", "Orbit Logistics", "Cobalt Mining"}
	topics = []string{"beekeeping", "sailing", "chess", "translation", "watercolours", "marathon", "accordion", "astronomy"}
)

// people returns n documents with names, places and handles of all sorts.
func people(n int) []search.Document {
	rng := rand.New(rand.NewPCG(7, 11))
	out := make([]search.Document, n)
	for i := range out {
		first, last := firstNames[i%len(firstNames)].full, lastNames[(i*5+i/len(firstNames))%len(lastNames)]
		firm := firms[rng.IntN(len(firms))]
		host := strings.ToLower(strings.Fields(strings.ReplaceAll(firm, "é", "e"))[1])
		out[i] = search.Document{
			ID: fmt.Sprintf("con_%03d", i), Name: first + " " + last,
			Emails:            []string{fmt.Sprintf("Person%d@%s%d.example", i, host, i%60)},
			Phones:            []string{fmt.Sprintf("+1 (%d) 555-01%02d", 212+i/100, i%100)},
			URLs:              []string{fmt.Sprintf("https://www.linkedin.example/in/p-%d/", i)},
			Organization:      firm,
			Title:             titles[rng.IntN(len(titles))],
			Location:          places[rng.IntN(len(places))],
			Tags:              []string{topics[rng.IntN(len(topics))]},
			Notes:             []string{"We talked about " + topics[rng.IntN(len(topics))] + " and stone number " + fmt.Sprint(10_000+i) + "."},
			Starred:           rng.IntN(10) == 0,
			LastInteractionAt: day.AddDate(0, 0, -rng.IntN(600)),
			CreatedAt:         day.AddDate(-2, 0, rng.IntN(600)),
		}
		if i%4 == 0 {
			out[i].Nickname = fmt.Sprintf("%sy%c", topics[i/4%len(topics)][:4], 'a'+rune(i/32))
		}
	}
	return out
}
