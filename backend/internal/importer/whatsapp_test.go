package importer_test

import (
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/importer/source"
)

// A chat adds its days to the only person of that name, once however often it is exported, and a person who is not there yet.
func TestChat(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d *fixture) {
		d.imports(t, "three.csv", three, importer.Options{})
		before := normal(d.export(t))
		known := d.person(t, "Bo Berg").ID
		chat := "30/11/2020, 21:15 - Bo Berg: Hi\n30/11/2020, 21:16 - Ove: Hi\n01/12/2020, 21:15 - Ove: Still there?\n"
		r := d.imports(t, "WhatsApp Chat with Bo Berg.txt", chat, importer.Options{Owner: "Ove"})
		longer := d.imports(t, "WhatsApp Chat with Bo Berg.txt", chat+"02/12/2020, 21:15 - Bo Berg: Yes\n", importer.Options{Owner: "Ove"})
		group := d.imports(t, "WhatsApp Chat with Sailors.txt", "02/12/2020, 21:15 - Bo Berg: Hi\n02/12/2020, 21:16 - Mia: Hi\n02/12/2020, 21:17 - Ove: Hi\n", importer.Options{Owner: "Ove", DateOrder: source.DayMonthYear})
		if r.Created != 0 || longer.Created != 0 || group.Created != 1 {
			t.Errorf("%s; %s; %s", counts(r), counts(longer), counts(group))
		}
		if d.person(t, "Bo Berg").ID != known {
			t.Error("another person was added")
		}
		mia := d.person(t, "Mia").ID
		var got []string
		for _, i := range d.export(t).Interactions {
			who := map[string]string{known: "Bo", mia: "Mia"}
			names := []string{}
			for _, id := range i.ConnectionIDs {
				names = append(names, who[id])
			}
			slices.Sort(names)
			got = append(got, i.OccurredLocal+" "+i.Summary+" "+strings.Join(names, "+"))
		}
		slices.Sort(got)
		if diff := gocmp.Diff([]string{"2020-11-30 WhatsApp Bo", "2020-12-01 WhatsApp Bo", "2020-12-02 WhatsApp Bo", "2020-12-02 WhatsApp: WhatsApp Chat with Sailors Bo+Mia"}, got); diff != "" {
			t.Errorf("interactions (-want +got):\n%s", diff)
		}
		for _, id := range []string{group.ImportID, longer.ImportID, r.ImportID} {
			d.undoes(t, id)
		}
		if diff := gocmp.Diff(before, normal(d.export(t))); diff != "" {
			t.Errorf("undone (-before +after):\n%s", diff)
		}
	})
}

// Of two people of one name, neither is the sender of a chat.
func TestChatOfANamesake(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d *fixture) {
		d.imports(t, "two.csv", "Name,E-mail\nBo Berg,bo@x.example\nBo Berg,berg@y.example\n", importer.Options{})
		r := d.imports(t, "WhatsApp Chat with Bo Berg.txt", "30/11/2020, 21:15 - Bo Berg: Hi\n", importer.Options{})
		if r.Created != 1 {
			t.Error(counts(r))
		}
	})
}
