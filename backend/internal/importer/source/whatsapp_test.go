package source_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/importer/source"
)

// A chat is read in the spellings of the phones' languages: who wrote on which day, and no texts.
func TestChats(t *testing.T) {
	t.Parallel()
	const both = "2020-11-30 Ida Holm, 2020-12-01 Ida Holm"
	for name, c := range map[string]struct{ file, owner, content, want string }{
		"iOS":                              {"WhatsApp Chat - Ida Holm.zip", "", "\u200e[30.11.20, 21:15:32] Ida Holm: \u200eMessages are encrypted.\r\n[30.11.20, 21:16:00] Ove: Hi\nsecond: line\r\n[01.12.20, 00:01:02] Ida Holm: Yes", both},
		"iOS, twelve hours":                {"WhatsApp Chat - Ida Holm.zip", "", "[11/30/20, 9:15:32\u202fPM] Ida Holm: Hi\n[12/1/20, 9:15:32\u202fAM] Ove: Hi", both},
		"Android":                          {"WhatsApp Chat with Ida Holm.txt", "", "30/11/2020, 21:15 - Messages and calls are end-to-end encrypted.\n30/11/2020, 21:15 - Ida Holm: Hi: you\n01/12/2020, 21:15 - Ove: Hi", both},
		"Android, American":                {"WhatsApp Chat with Ida Holm.txt", "", "11/30/20, 9:15 PM - Ida Holm: Hi\n12/1/20, 9:15 PM - Ove: Hi", both},
		"Android, German":                  {"WhatsApp Chat mit Ida Holm.txt", "", "30.11.20, 21:15 - Ida Holm: Hi\n01.12.20, 21:15 - Ove: Hi", both},
		"Android, French":                  {"Discussion WhatsApp avec Ida Holm.txt", "", "30/11/2020 à 21:15 - Ida Holm: Hi\n01/12/2020 à 21:15 - Ove: Hi", both},
		"Android, Brazilian":               {"Conversa do WhatsApp com Ida Holm.txt", "", "30/11/2020 21:15 - Ida Holm: Hi\n01/12/2020 21:15 - Ove: Hi", both},
		"Android, Swedish":                 {"WhatsApp-chatt med Ida Holm.txt", "", "2020-11-30 21:15 - Ida Holm: Hi\n2020-12-01 21:15 - Ove: Hi", both},
		"only their order tells the dates": {"WhatsApp Chat with Ida.txt", "", "02/01/20, 9:15 - Ida: Hi\n01/02/20, 9:15 - Ida: Hi", "2020-01-02 Ida, 2020-02-01 Ida"},
		"dots begin with the day":          {"WhatsApp Chat mit Ida.txt", "", "02.12.20, 21:15 - Ida: Hi", "2020-12-02 Ida"},
		"a group, by the account's name": {"WhatsApp Chat with Sailors.txt", "Ove Lind", "30/11/2020, 21:15 - Ida Holm: Hi\n30/11/2020, 21:15 - ~ Mia: Hi\n30/11/2020, 21:15 - Ove Lind: Hi\n01/12/2020, 21:15 - +47 22 33 44 55: Hi",
			"2020-11-30 Ida Holm, 2020-11-30 Mia, 2020-12-01 +47 22 33 44 55"},
		"a name that is not clear": {"_chat.txt", "", "30/11/2020, 21:15 - Ida Holm: Hi\n01/12/2020, 21:15 - Ove: Hi", "it is not clear whether you are Ida Holm or Ove"},
		"only the member":          {"_chat.txt", "Ove", "30/11/2020, 21:15 - Ove: Hi", "nobody but you wrote"},
		"no order of dates":        {"WhatsApp Chat with Ida.txt", "", "30/11/2020, 21:15 - Ida: Hi\n11/30/2020, 21:15 - Ida: Hi", "in no order"},
		"too many days":            {"WhatsApp Chat with Ida.txt", "", strings.Join(manyDays(20_001), "\n"), "more than 20000 days"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, err := source.Open([]byte(c.content), source.Options{Filename: c.file, Owner: c.owner, Today: time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)})
			if err != nil {
				if !strings.Contains(err.Error(), c.want) {
					t.Errorf("%v, want %s", err, c.want)
				}
				return
			}
			names := map[string]string{}
			for r := range f.Records() {
				if r.Err != nil || !r.ByName || r.Source != source.WhatsApp {
					t.Errorf("%+v", r)
				}
				names[r.Person.ID] = r.Person.Name
			}
			var got []string
			for i := range f.Interactions() {
				if i.Err != nil || i.Record.Kind != "message" || !strings.HasPrefix(i.Record.Summary, "WhatsApp") {
					t.Errorf("%+v", i)
				}
				for _, id := range i.Record.ConnectionIDs {
					got = append(got, i.Record.OccurredLocal+" "+names[id])
				}
			}
			if diff := cmp.Diff(c.want, strings.Join(got, ", ")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// manyDays are the messages of as many days.
func manyDays(n int) (lines []string) {
	on := time.Date(2010, 1, 1, 0, 0, 0, 0, time.UTC)
	for range n {
		lines = append(lines, on.Format("2006-01-02")+" 21:15 - Ida: Hi")
		on = on.AddDate(0, 0, 1)
	}
	return lines
}

// Dates that may be read in two orders are told.
func TestChatOfDoubtfulDates(t *testing.T) {
	t.Parallel()
	const chat = "02/12/2020, 21:15 - Ida: Hi\n"
	for order, want := range map[string]string{"": "02/12/2020 was read as 2020-02-12", source.DayMonthYear: ""} {
		f := open(t, chat, source.Options{Filename: "WhatsApp Chat with Ida.txt", DateOrder: order})
		if got := strings.Join(f.Warnings, "\n"); !strings.Contains(got, want) || strings.Contains(got, "was read as") != (want != "") {
			t.Errorf("%q: %s", order, got)
		}
	}
}

// The ZIP that a phone exports is named after the chat.
func TestZippedChat(t *testing.T) {
	t.Parallel()
	data := archive(t, entry{"_chat.txt", "[30.11.20, 21:15:32] Ida Holm: Hi\n[01.12.20, 21:15:32] Ove: Hi\n"}, entry{"00000002-PHOTO.jpg", "\xff\xd8\xff"})
	f := open(t, string(data), source.Options{Filename: "WhatsApp Chat - Ida Holm.zip"})
	got := records(f)
	if f.Format != source.WhatsApp || len(got) != 1 || got[0].Person.Name != "Ida Holm" || !strings.Contains(f.Warnings[0], "00000002-PHOTO.jpg") {
		t.Errorf("%s, %+v, %q", f.Format, got, f.Warnings)
	}
}
