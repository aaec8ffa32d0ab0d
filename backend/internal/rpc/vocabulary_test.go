package rpc_test

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/kith-crm/kith/backend/internal/account"
)

// vocabulary has the values for the arguments of a member's calls: ids by their prefixes, such as
// con_, and words by their kinds. Every new word contains a unique mark. Days and times have no
// owner.
type vocabulary struct {
	serial int // the member's
	coined int
	hidden bool // invisible characters are in the words that are coined
	words  map[string][]string
	known  map[string]bool     // by kind and word
	names  map[string]string   // of people, by their ids
	gone   map[string]bool     // people who are archived or deleted, by id
	pages  map[string][]string // arguments for the next page of a list, by tool
}

func newVocabulary(serial int) *vocabulary {
	return &vocabulary{
		serial: serial, words: map[string][]string{}, known: map[string]bool{},
		names: map[string]string{}, gone: map[string]bool{}, pages: map[string][]string{},
	}
}

// coin makes a new word of a kind and stores it.
func (v *vocabulary) coin(kind string) string {
	v.coined++
	mark := mark(v.serial, v.coined)
	word := "Some " + mark
	if v.hidden {
		word = "S\u200bo\u202em\u2066e\U000e0041\U000e0042 " + mark + "\ufe0f\u200d\ufeff"
	}
	switch kind {
	case kindEmail:
		word = mark + "@mail.example"
	case kindURL:
		word = "https://" + mark + ".example/about"
	case kindPhone:
		word = phone(v.serial, v.coined)
	case kindFile:
		word = "Name,E-mail\n" + word + "," + mark + "@mail.example\n"
	case kindBytes:
		word = base64.StdEncoding.EncodeToString([]byte("Name\n" + word + "\n"))
	}
	switch kind {
	case kindAnyID:
		kind = "con_"
	case kindEntry:
		kind = "not_"
	}
	if isID(kind + unknownID) {
		return kind + unknownID
	}
	v.keep(kind, word)
	return word
}

func (v *vocabulary) keep(kind, word string) {
	if !v.known[kind+word] {
		v.known[kind+word] = true
		v.words[kind] = append(v.words[kind], word)
	}
}

// of returns the words of a kind, the earliest first.
func (v *vocabulary) of(kind string) []string {
	switch kind {
	case kindAnyID:
		return v.all(func(kind string) bool { return isID(kind + unknownID) })
	case kindEntry:
		return v.all(func(kind string) bool { return kind == "not_" || kind == "int_" })
	case kindAny:
		return v.all(func(string) bool { return true })
	default:
		return v.words[kind]
	}
}

// alive is like of, but leaves out people who are archived or deleted.
func (v *vocabulary) alive(kind string) []string {
	return slices.DeleteFunc(slices.Clone(v.of(kind)), func(id string) bool { return v.gone[id] })
}

func (v *vocabulary) all(wanted func(kind string) bool) []string {
	var out []string
	for _, kind := range slices.Sorted(maps.Keys(v.words)) {
		if wanted(kind) {
			out = append(out, v.words[kind]...)
		}
	}
	return out
}

// shown returns the words of a kind that another member may try: all ids, and
// every other word. The rest stays secret.
func (v *vocabulary) shown(kind string) []string {
	var out []string
	for i, word := range v.of(kind) {
		if i%2 == 0 || isID(word) {
			out = append(out, word)
		}
	}
	return out
}

// unknownID, after a prefix, is an id that is never issued.
const unknownID = "zz000zz000"

// unknownOf are words of a kind that no member has: words that are never stored, and words
// that a careless query would treat as syntax.
func unknownOf(kind string) []string {
	switch kind {
	case kindDay:
		return []string{"2026-11-28", "2026-11-20", "2027-02-28", "2026-12-31", "2024-05", "1999", "--02-29", "2026-02-30", ""}
	case kindYearDay:
		return []string{"01-01", "02-29", "11-28", "12-31"}
	case kindTime:
		return []string{"2026-11-20T10:00:00Z", "2026-11-20", "2026-11-21", "2020-02-29T23:59:59.999999999+14:00", "2026-11-22T11:00:00Z", "2031-01-01T00:00:00Z"}
	case kindEmail:
		return []string{"nobody@mail.example"}
	case kindPhone:
		return []string{"+12125550100"}
	case kindURL:
		return []string{"https://nobody.example"}
	case kindAnyID:
		return []string{"con_" + unknownID}
	case kindBytes:
		return []string{"AAAA", "====", "TmFtZQo="}
	case kindRegion:
		return []string{"DE", "US", "ZZ"}
	case account.FieldTimezone:
		return []string{"Asia/Tokyo", "Pacific/Kiritimati", "pacific/pago_pago", "UTC", "Europe/Nowhere"}
	case account.FieldLocale:
		return []string{"de-DE", "en", "pt_br", "nothing"}
	case kindCharset:
		return []string{"utf-8", "windows-1252", "klingon"}
	}
	if isID(kind + unknownID) {
		return []string{kind + unknownID}
	}
	return []string{"nobody", "%", "_", "' OR ''='", `"`, "*", "a\u202eb", "AAAAAAAAAAAAAAAAAAAA", "con_" + unknownID}
}

// learn stores the ids in a member's rows.
func (v *vocabulary) learn(rows []row) {
	alive := map[string]bool{}
	for _, r := range rows {
		for _, value := range r.values {
			for _, id := range idsIn(value) {
				v.keep(id[:prefixLength], id)
			}
		}
		if r.table == "connections" && r.get("archived_at") == "" {
			alive[r.get("id")] = true
		}
	}
	for _, id := range v.words["con_"] {
		v.gone[id] = !alive[id]
	}
}

// turn stores the arguments for the next page of a list.
func (v *vocabulary) turn(tool, body string, got answer) {
	cursor, ok := got.at("next_cursor").(string)
	if !ok {
		return
	}
	var arguments map[string]any
	if err := json.Unmarshal([]byte(body), &arguments); err != nil {
		return
	}
	arguments["cursor"] = cursor
	if next, err := json.Marshal(arguments); err == nil {
		v.keep("cursor", cursor)
		v.pages[tool] = append(v.pages[tool], string(next))
	}
}

// read stores the names of the people in an answer.
func (v *vocabulary) read(value any) {
	switch x := value.(type) {
	case map[string]any:
		id, _ := x["id"].(string)
		if name, ok := x["name"].(string); ok && strings.HasPrefix(id, "con_") {
			v.names[id] = name
		}
		for _, inner := range x {
			v.read(inner)
		}
	case []any:
		for _, inner := range x {
			v.read(inner)
		}
	}
}

// nameOf is the name of one of the member's people.
func (v *vocabulary) nameOf(id string) string {
	if name, ok := v.names[id]; ok {
		return name
	}
	return "Nobody"
}

// text is the answer as JSON.
func (a answer) text() string {
	data, err := json.Marshal(a.body)
	if err != nil {
		return err.Error()
	}
	return encodedDetail.ReplaceAllString(string(data), "")
}

// encodedDetail matches an error detail in protobuf bytes; the error has the same detail in JSON.
var encodedDetail = regexp.MustCompile(`,"value":"[A-Za-z0-9+/]+"`)
