package indextest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/search/index"
)

// Size is how many people a set has.
const Size = 200

// Name is a given name with an everyday form that the index should know; empty for
// none.
type Name struct{ Full, Short string }

// Source has the words that the people of a set are made from.
type Source struct {
	Label                         string
	Seed                          uint64
	First                         []Name
	Last                          []string
	Places, Titles, Firms, Topics []string
	// Events are where people were met, Studies are subjects for their bios.
	Events, Studies []string
	// Meanings are titles and topics in other words.
	Meanings map[string]string
}

// Sources returns the sources of the two sets.
func Sources() []Source { return []Source{Tuned(), Fresh()} }

// Tuned is the source of the set that the search was tuned on.
func Tuned() Source {
	return Source{
		Label: "tuned", Seed: 7,
		First: []Name{
			{"Robert", "Bob"}, {"Elizabeth", "Liz"}, {"William", "Bill"}, {"Katherine", "Kate"},
			{"Alexander", "Alex"}, {"Margaret", "Peggy"}, {"José", "Pepe"}, {"Mikhail", "Misha"},
			{"Johannes", "Hans"}, {"Stephanie", "Steffi"}, {"Theodore", "Ted"}, {"Susan", "Sue"},
			{"Zoë", ""}, {"Łukasz", ""}, {"Søren", ""}, {"Françoise", ""}, {"Jürgen", ""}, {"Ingeborg", ""},
			{"Amara", ""}, {"Dmitri", "Dima"}, {"Wolfgang", "Wolfi"}, {"Yuki", ""}, {"Nkechi", ""}, {"Aoife", ""},
		},
		Last: strings.Fields(`García Müller Kowalski Öztürk Håkansson Dvořák Novotný Fernández Lindqvist Yılmaz
Okonkwo Takahashi Bianchi Castellanos Thorvaldsen Papadopoulos Weißmann Grünwald Petrović Sørensen Łukasiewicz
O'Sullivan MacAllister Vandenberg Rosenthal Abernathy Whitfield Kuznetsov Moreau Delacroix Silveira Montgomery`),
		Places:  []string{"Berlin", "São Paulo", "Zürich", "Kraków", "Lisbon", "Montréal", "Osaka", "Reykjavík", "Nairobi", "Boston"},
		Titles:  []string{"Head of Design", "Data Engineer", "General Counsel", "Founder", "Investor", "Product Manager", "Research Scientist"},
		Firms:   []string{"Helios Energy", "Borealis Labs", "Café Aurora", "Quartz Capital", "Meridian Foods", "Tundra Systems", "Juniper Health", "Nimbus Airlines", "Rivet Robotics", "Lumen Press", "Orbit Logistics", "Cobalt Mining"},
		Topics:  []string{"beekeeping", "sailing", "chess", "translation", "watercolours", "marathon", "accordion", "astronomy"},
		Events:  []string{"Granite Days", "Copper Summit", "Lantern Forum", "Nordlicht Meetup", "Feira do Norte", "Maker Faire"},
		Studies: []string{"cognitive science", "marine biology", "medieval history", "fluid mechanics", "comparative literature"},
		Meanings: map[string]string{
			"General Counsel": "lawyer", "Investor": "someone who puts money into start-ups", "Founder": "entrepreneur", "Research Scientist": "works in a laboratory",
			"beekeeping": "honey from their own hives", "sailing": "spends weekends on a boat", "marathon": "long distance runner", "astronomy": "looks at the stars at night", "watercolours": "paints pictures",
		},
	}
}

// Fresh is the source of the set that the search was not tuned on.
func Fresh() Source {
	return Source{
		Label: "fresh", Seed: 20_261_121,
		First: []Name{
			{"Michael", "Mike"}, {"Jennifer", "Jenny"}, {"Thomas", "Tom"}, {"Christopher", "Chris"}, {"Victoria", "Vicky"},
			{"Benjamin", "Ben"}, {"Patricia", "Pat"}, {"Anthony", "Tony"}, {"Deborah", "Debbie"}, {"Nicholas", "Nick"},
			{"Samuel", "Sam"}, {"Rebecca", "Becky"}, {"Joaquín", ""}, {"Ágnes", ""}, {"Þórdís", ""}, {"Oğuz", ""},
			{"Renée", ""}, {"Siobhán", ""}, {"Chidi", ""}, {"Haruka", ""}, {"Priya", ""}, {"Björn", ""}, {"Ondřej", ""},
		},
		Last: strings.Fields(`Nuñez Schröder Wiśniewski Çelik Bergström Černý Horváth Gutiérrez Nyström Demir
Adeyemi Nakamura Ferrari Villanueva Guðmundsson Konstantinidis Großmann Lüdtke Jovanović Mikkelsen Zieliński
D'Angelo McKinnon Hendricks Goldstein Pemberton Ashworth Volkov Lefèvre Beaumont Carvalho Fitzgerald`),
		Places:  []string{"Hamburg", "Bogotá", "Genève", "Gdańsk", "Porto", "Québec", "Kyoto", "Malmö", "Accra", "Chicago"},
		Titles:  []string{"Chief Financial Officer", "Site Reliability Engineer", "Patent Attorney", "Editor in Chief", "Architect", "Recruiter", "Paediatrician"},
		Firms:   []string{"Saffron Textiles", "Glacier Bank", "Maré Seafood", "Pinnacle Optics", "Harbour Insurance", "Willow Schools", "Ember Steel", "Falcon Telecom", "Cedar Publishing", "Vortex Games", "Prairie Seeds", "Anchor Freight"},
		Topics:  []string{"pottery", "falconry", "crosswords", "mountaineering", "jazz", "gardening", "woodcarving", "birdwatching"},
		Events:  []string{"Harvest Conference", "Open Data Week", "Rhein Salon", "Hackathon Zürichsee", "Festival da Luz", "Winter Academy"},
		Studies: []string{"organic chemistry", "industrial ecology", "art conservation", "number theory", "public health policy"},
		Meanings: map[string]string{
			"Paediatrician": "doctor for children", "Patent Attorney": "protects inventions", "Chief Financial Officer": "looks after a company's money", "Recruiter": "hires people",
			"mountaineering": "climbs high peaks", "jazz": "plays improvised music", "gardening": "grows flowers and vegetables", "pottery": "makes clay bowls",
		},
	}
}

// People returns n people of the source.
func (s *Source) People(n int) []index.Document {
	rng := rand.New(rand.NewPCG(s.Seed, 11))
	today := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	out := make([]index.Document, n)
	for i := range out {
		first, last := s.First[i%len(s.First)].Full, s.Last[(i*5+i/len(s.First))%len(s.Last)]
		firm := s.Firms[rng.IntN(len(s.Firms))]
		host := Plain(strings.ToLower(strings.Fields(firm)[1]))
		out[i] = index.Document{
			ID: fmt.Sprintf("con_%03d", i), Name: first + " " + last,
			Emails:            []string{fmt.Sprintf("Person%d@%s%d.example", i, host, i%60)},
			Phones:            []string{fmt.Sprintf("+1 (%d) 555-01%02d", 212+i/100, i%100)},
			URLs:              []string{fmt.Sprintf("https://www.linkedin.example/in/p-%d/", i)},
			Organization:      firm,
			Title:             s.Titles[rng.IntN(len(s.Titles))],
			Location:          s.Places[rng.IntN(len(s.Places))],
			Tags:              []string{s.Topics[rng.IntN(len(s.Topics))]},
			Notes:             []string{"We talked about " + s.Topics[rng.IntN(len(s.Topics))] + " and stone number " + fmt.Sprint(10_000+i) + "."},
			MetHow:            "At " + s.Events[i%len(s.Events)] + ", over lunch",
			Bio:               "Studied " + s.Studies[i%len(s.Studies)] + ", then moved abroad.",
			Starred:           rng.IntN(10) == 0,
			LastInteractionAt: today.AddDate(0, 0, -rng.IntN(600)),
			CreatedAt:         today.AddDate(-2, 0, rng.IntN(600)),
		}
		if i%4 == 0 {
			out[i].Nickname = fmt.Sprintf("%sy%c", s.Topics[i/4%len(s.Topics)][:4], 'a'+rune(i/32))
		}
	}
	return out
}
