package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/kith-crm/kith/sandbox"
)

// person is a person of a network, derived from a number.
type person struct {
	id, given, surname, email, title, city string
	// employer is the name of an organization that about 25 people have.
	employer string
}

func (p person) name() string { return p.given + " " + p.surname }

// people returns n people with distinct names.
func people(n int) []person {
	given := strings.Fields("Ada Bruno Chiara Dario Edda Fabio Gesa Hauke Ilka Jannis Kaja Levin Milan Nele Okka Pina Quirin Ronja Silvan Thea Ulla Veit Wiebke Xaver Ylva Zeno Alma Bela Cleo Demir Esra Finn Gunda Hilde Ivo Jonne Kilian Lotta Mats Nuria Oda Piet Ramin Selma Tjark Undine Vito Wencke Yorick Zita Anouk Birte Cosmo Dilan Enno Freya Gero Hedda Imke Jorid Kerim")
	start := strings.Fields("Bar Cor Dal Fen Gar Hal Jor Kal Lin Mor Nor Ost Pel Quin Ram Sal Tor Ul Var Wen")
	middle := strings.Fields("a e i o u an en in on un ar er ir or ur al el il ol ul")
	end := strings.Fields("bach berg brink dahl dorf feld gart hagen holm horst horn kamp land lund mann mark ness quist rod ruth sand schau sen stad stein sund thal vik wald witz ström borg by dorp fors gaard heim hus köp low ow ring skog tved um wang werth wik zell zow")
	role := []string{"Founder", "Engineer", "Designer", "Investor", "Researcher", "Recruiter", "Product Manager", "Account Executive"}
	city := strings.Fields("Berlin Paris Wien Zagreb Lisboa Madrid Oslo Roma Praha London Boston Porto")
	list := make([]person, n)
	for i := range list {
		k := i * 7919 // a prime spreads neighbours over the alphabet
		p := person{
			id: fmt.Sprintf("con_%026d", i), given: given[i%len(given)],
			surname: start[k%len(start)] + middle[k/len(start)%len(middle)] + end[k/len(start)/len(middle)%len(end)],
			title:   role[i%len(role)], city: city[i/5%len(city)], employer: fmt.Sprintf("Guild %d", i%max(1, n/25)),
		}
		p.email = fmt.Sprintf("%s.%s.%d@people.example", strings.ToLower(p.given), strings.ToLower(p.surname), i)
		list[i] = p
	}
	return list
}

// misspelt returns the name with two letters of the surname swapped.
func (p person) misspelt() string {
	letters := []rune(p.surname)
	letters[2], letters[3] = letters[3], letters[2]
	return p.given + " " + string(letters)
}

// start returns the beginning of the surname, as typed in a search field.
func (p person) start() string { return string([]rune(p.surname)[:4]) }

// document returns people as a file that Kith imports: with organizations of 25, tags, a
// group, notes, interactions, reminders, birthdays and cadences. first is the number of the
// first person.
func document(people []person, first int, today time.Time) sandbox.Document {
	d := sandbox.Document{Format: sandbox.Format}
	for k, p := range people {
		i := first + k
		made := today.AddDate(0, 0, -i*17%900) // few people are as spread over the days as many
		c := sandbox.Connection{
			ID: p.id, Name: p.name(), Location: p.city, Source: "import", CreatedAt: made, UpdatedAt: made,
			Handles:   []sandbox.Handle{{Kind: "email", Value: p.email}},
			Positions: []sandbox.Position{{Organization: p.employer, Title: p.title, Current: true}},
			Tags:      tagsOf(i),
		}
		if i%10 == 0 || i < 100 && i%3 == 0 { // so the start page of 100 people is full, too
			c.Groups, c.CadenceDays = []string{"Circle"}, 30+i%60
			c.ImportantDates = []sandbox.ImportantDate{{Kind: "birthday", Date: made.Format("--01-02")}}
			d.Notes = append(d.Notes, sandbox.Note{ID: fmt.Sprintf("not_%026d", i), ConnectionIDs: []string{p.id}, Body: "Asks for the paper on " + p.city + " and tides.", CreatedAt: made})
		}
		if k > 0 && i%5 == 0 {
			at := made // not later in the day: contacts in the future take more statements
			d.Interactions = append(d.Interactions, sandbox.Interaction{ID: fmt.Sprintf("int_%026d", i), ConnectionIDs: []string{p.id, people[k-1].id}, Kind: "call", OccurredAt: at, Summary: "About " + p.employer, CreatedAt: at})
			c.Relationships = []sandbox.Relationship{{ID: fmt.Sprintf("rel_%026d", i), ConnectionID: people[k-1].id, Type: "colleague"}}
			c.LastInteractionAt = at
		}
		if i%100 == 0 {
			d.Reminders = append(d.Reminders, sandbox.Reminder{ID: fmt.Sprintf("rem_%026d", i), ConnectionID: p.id, Text: "Send the paper", DueOn: today.AddDate(0, 0, i/100%30).Format(time.DateOnly), Recurrence: "none", State: "open"})
		}
		d.Connections = append(d.Connections, c)
	}
	d.Groups = []sandbox.Group{{ID: fmt.Sprintf("grp_%026d", 1), Name: "Circle", CadenceDays: 90}}
	return d
}

// tagsOf returns the tags of the i-th person; fifty people have the tag fifty, and fifty
// others shelf.
func tagsOf(i int) []string {
	switch {
	case i >= 100 && i < 150:
		return []string{"fifty"}
	case i >= 150 && i < 200:
		return []string{"shelf"}
	case i%40 == 0:
		return []string{"alumni"}
	default:
		return []string{"contact"}
	}
}
