package rpc_test

import (
	"fmt"
	"strings"
	"testing"
)

// An empty answer says why, and an answer with hits doesn't.
func TestEmptyAnswersSayWhy(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		ids := map[string]any{}
		for _, body := range []string{
			`{"name":"Ana López","organization":"Helios Energy","location":"Lisbon","tags":["investor"],"emails":["ana@helios.example"]}`,
			`{"name":"Ben Okafor","organization":"Helios Energy","location":"Oslo","bio":"plays chess"}`,
			`{"name":"Александр Иванов","location":"Oslo"}`,
			`{"name":"Ove \"x\" Lindqvist","tags":["rower"],"emails":["ove@old.example"],"phones":["+47 22 12 34 56"]}`,
			`{"name":"Christopher Vandermeer"}`,
		} {
			made := b.call(t, create, body)
			ids[made.at("connection", "name").(string)] = made.at("connection", "id")
		}
		ove := fmt.Sprintf(`"Ove \"x\" Lindqvist" (%v)`, ids[`Ove "x" Lindqvist`])
		near := fmt.Sprintf(`"Christopher Vandermeer" (%v)`, ids["Christopher Vandermeer"])
		b.call(t, archive, fmt.Sprintf(`{"ids":[%q]}`, ids[`Ove "x" Lindqvist`]))
		for body, want := range map[string]string{
			`{"query":"ana"}`:                                        "",
			`{"query":"aleksandr ivanov"}`:                           "",
			`{"query":"ove"}`:                                        "Archived people match: " + ove + ".",
			`{"tag":["rower"]}`:                                      "Archived people match: " + ove + ".",
			`{"query":"ana","archived":true}`:                        fmt.Sprintf(`People who are not archived match: "Ana López" (%v).`, ids["Ana López"]),
			`{"query":"helios zanzibar"}`:                            `No one matches "zanzibar". Without it, 2 people match.`,
			`{"query":"ana chess"}`:                                  `Without "ana", one person matches; without "chess", one person matches.`,
			`{"query":"Kristofer Vandermer"}`:                        `No one matches "Kristofer". Without it, one person matches.`,
			`{"query":"Kryztofer"}`:                                  "",
			`{"query":"Cristofer"}`:                                  "Nearest: " + near + ".",
			`{"query":"helios Cristofer"}`:                           `No one matches "Cristofer". Without it, 2 people match. Nearest: ` + near + ".",
			`{"query":"helios","location":"Lisbon","has":["phone"]}`: "Without has, one person matches.",
			`{"query":"ben","location":"Lisbon"}`:                    "Without location, one person matches.",
			`{"query":"ben","location":"Rome","has":["phone"]}`:      "Without the filters, one person matches.",
			`{"location":"Oslo","tag":["investor"]}`:                 "Without location, one person matches; without tag, 2 people match.",
			`{"location":"Rome"}`:                                    "",
			`{"query":"ana chess","location":"Oslo"}`:                `Without "ana", one person matches.`,
			`{"query":"ana","min_score":1}`:                          "Without min_score, one person matches.",
		} {
			got := b.call(t, searchPath, body)
			if why, _ := got.at("why").(string); why != want {
				t.Errorf("%s: %q, want %q (%v)", body, why, want, got.body)
			}
		}
		entries := map[string]string{
			"Aleksandr Ivanov": "", "ove@old.example": "Archived: " + ove + ".", "+47 22123456": "Archived: " + ove + ".", "Ove Lindqvist": "Archived: " + ove + ".",
			"Ana Okonkwo": `No one matches "Okonkwo". Without it, one person matches.`, "chess": "In no name; search_connections finds it.",
			"nobody@nowhere.example": "", "Cristofer": "Nearest: " + near + ".", "?": "",
		}
		var list []string
		for entry := range entries {
			list = append(list, fmt.Sprintf("%q", entry))
		}
		got := b.call(t, resolvePeople, `{"entries":[`+strings.Join(list, ",")+`]}`)
		for i := range list {
			entry, _ := got.at("entries", i, "entry").(string)
			if why, _ := got.at("entries", i, "why").(string); why != entries[entry] {
				t.Errorf("%s: %q, want %q (%v)", entry, why, entries[entry], got.at("entries", i))
			}
			if entry == "Aleksandr Ivanov" && got.at("entries", i, "people", 0, "name") != "Александр Иванов" {
				t.Error(got.at("entries", i))
			}
		}
	})
}

// search_notes says why it finds nothing, or only some of the words.
func TestAnswersOfSearchNotesSayWhy(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		ana, ove, chris := b.made(t, `{"name":"Ana López"}`), b.made(t, `{"name":"Ove Lindqvist"}`), b.made(t, `{"name":"Christopher Vandermeer"}`)
		b.call(t, addNote, `{"connection_ids":["`+ana+`"],"body":"knows about permits at the harbour"}`)
		b.call(t, addNote, `{"connection_ids":["`+ove+`"],"body":"builds wooden canoes and permits"}`)
		b.call(t, logCall, `{"connection_ids":["`+ana+`","`+chris+`"],"kind":"call","summary":"the crane"}`)
		b.call(t, archive, `{"ids":["`+ove+`"]}`)
		near := fmt.Sprintf(`Nearest: "Christopher Vandermeer" (%s).`, chris)
		archived := fmt.Sprintf(`Entries about archived people match: "Ove Lindqvist" (%s).`, ove)
		for body, want := range map[string]string{
			`{"query":"permits"}`:                             "1 ",
			`{"query":"permit harbours"}`:                     "1 ",
			`{"query":"lopez crane"}`:                         "1 ",
			`{"query":"canoes"}`:                              "0 " + archived,
			`{"query":"canoe permits"}`:                       "1 " + archived + " No entry has all the words; these have 1 of 2.",
			`{"query":"permits crane"}`:                       "2 No entry has all the words; these have 1 of 2.",
			`{"query":"permits harbour zanzibar"}`:            `1 No entry has all the words; these have 2 of 3. No entry has "zanzibar".`,
			`{"query":"Cristofer"}`:                           "0 " + near,
			`{"query":"crane Cristofer"}`:                     `1 No entry has all the words; these have 1 of 2. No entry has "Cristofer". ` + near,
			`{"query":"zanzibar dragons"}`:                    `0 No entry has "zanzibar dragons".`,
			`{"query":"permits","kinds":["call"]}`:            "0 Without the filters, entries match.",
			`{"query":"crane permits","until":"2020-01-01"}`:  "0 ",
			`{"query":"permits","until":"2020-01-01"}`:        "0 Without the filters, entries match.",
			`{"query":"crane","since":"2020-01-01"}`:          "1 ",
			`{"query":"crane","connection_id":"` + ana + `"}`: "1 ",
			`{"query":"the"}`:                                 "2 ",
		} {
			got := b.call(t, searchNotes, body)
			why, _ := got.at("why").(string)
			if said := fmt.Sprintf("%d %s", got.size("entries"), why); said != want {
				t.Errorf("%s: %q, want %q (%v)", body, said, want, got.body)
			}
		}
		for query, text := range map[string]string{"vandermeer": "the crane", "harbours": "knows about permits at the harbour"} {
			if got := b.call(t, searchNotes, `{"query":"`+query+`"}`); got.at("entries", 0, "text") != text {
				t.Errorf("%s: %v", query, got.body)
			}
		}
		if got := b.call(t, searchNotes, `{"query":"x","since":"2026-02-01","until":"2026-01-01"}`); got.code() != "invalid_argument" {
			t.Errorf("until before since: %v", got.body)
		}
	})
}
