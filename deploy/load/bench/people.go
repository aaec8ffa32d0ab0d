package main

import (
	"fmt"
	"strings"
)

// person is a person of a network, derived from a number.
type person struct {
	id, given, surname, email, organization, title, city string
	// employer is the name of an organization that has about 25 people in networks that
	// are imported; organization is the id of a larger one in networks that are inserted.
	employer string
}

func (p person) name() string { return p.given + " " + p.surname }

// organizations is the number of organizations in a network of any size.
const organizations = 400

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
			surname:      start[k%len(start)] + middle[k/len(start)%len(middle)] + end[k/len(start)/len(middle)%len(end)],
			organization: fmt.Sprintf("org_%026d", i%organizations), title: role[i%len(role)], city: city[i/5%len(city)],
			employer: fmt.Sprintf("Guild %d", i%max(1, n/25)),
		}
		p.email = fmt.Sprintf("%s.%s.%d@people.example", strings.ToLower(p.given), strings.ToLower(p.surname), i)
		list[i] = p
	}
	return list
}
