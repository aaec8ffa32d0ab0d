package people

import (
	"hash/maphash"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/people/names"
	"github.com/kith-crm/kith/backend/internal/search/index"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/nyaruka/phonenumbers"
)

// Candidate is the data about a person that distinguishes them from others.
type Candidate struct {
	ID, Name, Nickname, Headline string
	Handles                      []Handle
	// Birthdays are the dates of that kind.
	Birthdays []ImportantDate
	// Organizations are the current ones.
	Organizations []string
	// Values counts the values stored about the person.
	Values int
}

// record is a person with the values that are compared.
type record struct {
	*Candidate

	name          []string // folded words, in alphabetical order
	compactName   string   // the name without spacing and punctuation
	given, family string   // folded, as far as they can be told
	organizations []string // normal names
	keys          []key
	evidence      Evidence
}

// key is an address in the form in which all its spellings are equal.
type key struct {
	kind  string // connection.KindEmail and so on
	value string
	shown string
}

func newRecord(p *Candidate) record {
	name := names.Parse(p.Name)
	k := record{Candidate: p, name: name.Words, compactName: name.Key, evidence: EvidenceOf(names.Names{Full: p.Name, Nickname: p.Nickname}, p.Handles, p.Birthdays)}
	if n := len(name.Words); n > 1 {
		k.given, k.family = name.Words[0], name.Words[n-1]
	}
	slices.Sort(k.name)
	for _, o := range p.Organizations {
		if normal := NormalOrganization(o); normal != "" && !slices.Contains(k.organizations, normal) {
			k.organizations = append(k.organizations, normal)
		}
	}
	for _, h := range p.Handles {
		of := keyOf(h)
		same := func(other key) bool { return other.kind == of.kind && other.value == of.value }
		if of.value != "" && !slices.ContainsFunc(k.keys, same) {
			k.keys = append(k.keys, of)
		}
	}
	return k
}

func keyOf(h Handle) key {
	normal := h.NormalValue
	switch {
	case h.Kind == KindEmail:
		return key{KindEmail, mailbox(normal), h.Value}
	case h.Kind == KindPhone:
		if len(normal) < minDigits {
			return key{}
		}
		return key{KindPhone, normal, h.Value}
	case h.Kind == KindSocial || isProfile(normal):
		return key{KindSocial, strings.ToLower(strings.TrimSuffix(normal, "/")), h.Value}
	default:
		return key{KindURL, normal, h.Value}
	}
}

// minDigits is the least number of digits in a phone number that is compared.
const minDigits = 7

// mailbox returns the mailbox behind an address: without a +tag and, where dots
// do not count, without them.
func mailbox(email string) string {
	local, domain := SplitEmail(email)
	local, _, _ = strings.Cut(local, "+")
	switch domain {
	case "googlemail.com", "gmail.com":
		return strings.ReplaceAll(local, ".", "") + "@gmail.com"
	}
	return local + "@" + domain
}

// isProfile reports whether an address is a person's page at LinkedIn, on the host of any
// country.
func isProfile(normal string) bool {
	u, err := url.Parse("https://" + normal)
	return err == nil && strings.Contains(u.Hostname(), "linkedin.") && strings.HasPrefix(u.Path, "/in/")
}

// isShared reports whether an address may belong to several people: a mailbox like
// info@, or the front page of a site.
func (k key) isShared() bool {
	switch k.kind {
	case KindEmail:
		local, _ := SplitEmail(k.value)
		return IsSharedMailbox(local)
	case KindURL:
		return !strings.ContainsAny(k.value, "/?")
	}
	return false
}

// The weights of the grounds.
const (
	weightProfile      = .97
	weightEmail        = .95
	weightPhone        = .90
	weightURL          = .90
	weightName         = .70
	weightSimilar      = .50
	weightOrganization = .15
)

// How many people may have an address before it counts half, and before it counts nothing.
const (
	manyShare = 3
	allShare  = 50
)

// ground is one reason to believe that two people are one.
type ground struct {
	weight float64
	reason string
}

func (k key) ground(sharers int) ground {
	weight, what := weightURL, "web address"
	switch k.kind {
	case KindEmail:
		weight, what = weightEmail, "e-mail"
	case KindPhone:
		weight, what = weightPhone, "phone"
	case KindSocial:
		weight, what = weightProfile, "profile"
	}
	reason := "same " + what + ": " + k.shown
	if sharers >= manyShare || k.isShared() {
		return ground{weight / 2, reason + " (shared by several)"}
	}
	return ground{weight, reason}
}

// compare returns how likely it is that two people are one, and why. sharers counts the
// people who have an address. If something speaks against the pair (Doubt), the score is at most
// DefaultMinScore.
func compare(a, b *record, sharers func(key) int) (float64, []string) {
	var grounds []ground
	for _, k := range a.keys {
		same := func(other key) bool { return other.kind == k.kind && other.value == k.value }
		if n := sharers(k); n <= allShare && slices.ContainsFunc(b.keys, same) {
			grounds = append(grounds, k.ground(n))
		}
	}
	switch {
	case len(a.name) > 0 && (slices.Equal(a.name, b.name) || a.compactName == b.compactName):
		grounds = append(grounds, ground{weightName, "same name"})
	case similar(a, b):
		grounds = append(grounds, ground{weightSimilar, "similar names: " + a.Name + " and " + b.Name})
	}
	if len(grounds) == 0 {
		return 0, nil
	}
	slices.SortStableFunc(grounds, func(x, y ground) int {
		switch {
		case x.weight > y.weight:
			return -1
		case x.weight < y.weight:
			return 1
		default:
			return 0
		}
	})
	accident := 1.0
	var reasons []string
	for _, g := range grounds {
		accident *= 1 - g.weight
		reasons = append(reasons, g.reason)
	}
	score := 1 - accident
	for _, o := range a.organizations {
		if slices.Contains(b.organizations, o) {
			score += weightOrganization
			reasons = append(reasons, "same organisation: "+o)
			break
		}
	}
	if doubt := Doubt(&a.evidence, &b.evidence); doubt != "" {
		// The pair is shown, after all certain ones.
		return min(score, DefaultMinScore), append(reasons, "may be two people: "+doubt)
	}
	return min(score, 1), reasons
}

// similar reports whether two names may be spellings of one name: the family names are
// alike, and so are the given names.
func similar(a, b *record) bool {
	if a.family == "" || b.family == "" {
		return false
	}
	return likeFamily(a.family, b.family) && likeGiven(a.given, b.given) &&
		(a.family == b.family || a.given == b.given)
}

// likeFamily accepts a misspelt family name, and one part of a double family name.
func likeFamily(a, b string) bool {
	return a == b || strings.HasPrefix(a, b+"-") || strings.HasPrefix(b, a+"-") ||
		strings.HasSuffix(a, "-"+b) || strings.HasSuffix(b, "-"+a) || index.Misspelt(a, b)
}

// likeGiven accepts an initial, an everyday form, the first of two given names and a
// misspelling.
func likeGiven(a, b string) bool {
	if a == b || names.SameGiven(a, b) || index.Misspelt(a, b) {
		return true
	}
	if utf8.RuneCountInString(a) > utf8.RuneCountInString(b) {
		a, b = b, a
	}
	return strings.HasPrefix(b, a) && (utf8.RuneCountInString(a) == 1 || strings.HasPrefix(b, a+"-"))
}

// Evidence is what is known about a person that can show that another record is somebody else.
type Evidence struct {
	names.Names

	birthday [3]int16 // year, month and day; 0 where unknown
	// emails, phones and pages are hashes of addresses.
	emails, phones, pages []uint64
}

var evidenceSeed = maphash.MakeSeed()

// EvidenceOf returns the evidence about a person. The names may be fewer than those of the record:
// a guessed name is no evidence.
func EvidenceOf(said names.Names, handles []Handle, dates []ImportantDate) Evidence {
	e := Evidence{Names: said}
	for _, h := range handles {
		switch k := keyOf(h); {
		case k.value == "":
		case k.kind == KindEmail:
			e.emails = append(e.emails, maphash.String(evidenceSeed, k.value))
		case k.isShared():
		case k.kind == KindPhone:
			e.phones = append(e.phones, maphash.String(evidenceSeed, k.value))
		default:
			e.pages = append(e.pages, maphash.String(evidenceSeed, k.value))
		}
	}
	if at := slices.IndexFunc(dates, func(d ImportantDate) bool { return d.Kind == DateBirthday }); at >= 0 {
		e.birthday = [3]int16{int16(dates[at].Year), int16(dates[at].Month), int16(dates[at].Day)}
		if dates[at].About {
			e.birthday[0] = 0
		}
	}
	return e
}

// Evidence returns what is known about the person.
func (c *Connection) Evidence() Evidence {
	return EvidenceOf(names.Names{Full: c.Name, Nickname: c.Nickname}, c.Handles, c.Dates)
}

// Add adds what a further record of the same person says. The fuller name stays: it is incompatible
// with more names.
func (e *Evidence) Add(other *Evidence) {
	if len(e.Full) < len(other.Full) {
		e.Full = other.Full
	}
	for i, part := range other.birthday {
		if e.birthday[i] == 0 {
			e.birthday[i] = part
		}
	}
	e.emails, e.phones, e.pages = union(e.emails, other.emails), union(e.phones, other.phones), union(e.pages, other.pages)
}

func union(a, b []uint64) []uint64 {
	for _, v := range b {
		if !slices.Contains(a, v) {
			a = append(a, v)
		}
	}
	return a
}

// Doubt says in a few words why two people with compatible names must not be taken for one person
// without asking; it is empty if nothing speaks against it. They may be relatives (names.Relatives),
// their birthdays contradict each other, or both have e-mail addresses and share no address at all.
func Doubt(a, b *Evidence) string {
	if why, ok := names.Relatives(a.Names, b.Names); ok {
		return why
	}
	for i, part := range a.birthday {
		if part != 0 && b.birthday[i] != 0 && part != b.birthday[i] {
			return "different birthdays"
		}
	}
	if len(a.emails) > 0 && len(b.emails) > 0 && !a.SharesAddress(b) {
		return "different e-mail addresses"
	}
	return ""
}

// SharesAddress reports whether two people have an e-mail address, a phone number or a page in
// common.
func (e *Evidence) SharesAddress(other *Evidence) bool {
	return overlap(e.emails, other.emails) || overlap(e.phones, other.phones) || overlap(e.pages, other.pages)
}

func overlap(a, b []uint64) bool {
	return slices.ContainsFunc(a, func(v uint64) bool { return slices.Contains(b, v) })
}

// NormalValue returns the form in which two spellings of one address are equal.
func NormalValue(kind, value string) string {
	switch kind {
	case KindEmail:
		return strings.ToLower(value)
	case KindPhone:
		return normalPhone(value)
	default:
		return normalURL(value)
	}
}

// unknownRegion makes the parser accept international numbers only: without the country, a
// national number cannot be completed.
const unknownRegion = "ZZ"

// normalPhone returns an international number as E.164, with its extension, and of any
// other number only the digits. A leading 00 counts as a plus.
func normalPhone(value string) string {
	digits := phoneDigits(value)
	if rest, ok := strings.CutPrefix(digits, "00"); ok {
		digits = "+" + rest
		value = "+" + strings.TrimPrefix(strings.TrimLeft(value, "( "), "00")
	}
	if !strings.HasPrefix(digits, "+") {
		return digits
	}
	for _, spelling := range []string{value, digits} {
		number, err := phonenumbers.Parse(spelling, unknownRegion)
		if err != nil || !phonenumbers.IsPossibleNumber(number) {
			continue
		}
		normal := phonenumbers.Format(number, phonenumbers.E164)
		if again, err := phonenumbers.Parse(normal, unknownRegion); err != nil || phonenumbers.Format(again, phonenumbers.E164) != normal {
			continue // of several trunk zeros each parse takes one: no number
		}
		if extension := number.GetExtension(); extension != "" {
			normal += "x" + extension
		}
		return normal
	}
	return digits
}

// phoneDigits keeps the digits, and a leading plus.
func phoneDigits(value string) string {
	var b strings.Builder
	for _, r := range value {
		if r == '+' && b.Len() == 0 || r >= '0' && r <= '9' {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// normalURL returns a web address without its scheme, "www." and trailing slash, and with the host in
// lower case, so that spellings of the same address are equal.
func normalURL(value string) string {
	u, err := url.Parse(value)
	if err != nil || u.Host == "" {
		return strings.ToLower(value)
	}
	normal := strings.TrimPrefix(strings.ToLower(u.Host), "www.") + strings.TrimSuffix(u.EscapedPath(), "/")
	if u.RawQuery != "" {
		normal += "?" + u.RawQuery
	}
	return normal
}

var organizationMarks = strings.NewReplacer(",", " ", ".", "")

// NormalOrganization returns the form in which two spellings of one organisation
// are equal: folded, without the words for its legal form.
func NormalOrganization(name string) string {
	plain := organizationMarks.Replace(text.Fold(name))
	words := strings.Fields(text.Fold(plain)) // again: a mark may have stood between a letter and its accent
	for len(words) > 1 && legalForm(words[len(words)-1]) {
		words = words[:len(words)-1]
	}
	return strings.Join(words, " ")
}

func legalForm(word string) bool {
	switch word {
	case "inc", "ltd", "llc", "llp", "plc", "gmbh", "ag", "kg", "se", "sa", "sas", "sarl", "srl", "spa", "bv", "nv",
		"oy", "ab", "as", "aps", "co", "corp", "corporation", "company", "limited", "kk", "pty", "eg", "ev":
		return true
	}
	return false
}

// CheckPartialDate fails with fault.Invalid unless value is empty or a real
// YYYY, YYYY-MM or YYYY-MM-DD.
func CheckPartialDate(field, value string) error {
	if value == "" {
		return nil
	}
	layout := map[int]string{4: "2006", 7: "2006-01", 10: time.DateOnly}[len(value)]
	if layout == "" {
		return fault.InvalidField(field, "%q is no date; use YYYY, YYYY-MM or YYYY-MM-DD", value)
	}
	if _, err := time.Parse(layout, value); err != nil {
		return fault.InvalidField(field, "%s", civil.NoDay(value))
	}
	return nil
}

// maxName limits the length of a guessed name; the contract limits given ones.
const maxName = 200

// GuessName guesses a name from an e-mail or web address:
// ana.lopez@… and …/in/ana-lopez both give "Ana Lopez".
func GuessName(handles []Handle) string {
	for _, h := range handles {
		var raw string
		switch h.Kind {
		case KindEmail:
			raw, _ = SplitEmail(h.Value)
			raw, _, _ = strings.Cut(raw, "+")
		case KindURL, KindSocial:
			raw = lastOfPath(h.NormalValue)
		default:
			continue
		}
		words := strings.FieldsFunc(raw, func(r rune) bool { return strings.ContainsRune("._- ", r) })
		for i, w := range words {
			first, size := utf8.DecodeRuneInString(w)
			words[i] = string(unicode.ToUpper(first)) + w[size:]
		}
		if name := text.Line(strings.Join(words, " ")); name != "" {
			return text.Truncate(name, maxName-1)
		}
	}
	return ""
}

// lastOfPath returns the last part of a normal web address as people read it.
func lastOfPath(address string) string {
	address, _, _ = strings.Cut(address, "?")
	last := address[strings.LastIndexByte(address, '/')+1:]
	if plain, err := url.PathUnescape(last); err == nil {
		return plain
	}
	return last
}

// IsSharedMailbox reports whether the local part of an address names a role, such as
// info, rather than a person.
func IsSharedMailbox(local string) bool {
	switch local {
	case "info", "contact", "hello", "office", "mail", "admin", "team", "sales", "support", "kontakt", "contacto",
		"help", "service", "reception", "enquiries", "inquiries", "press", "jobs", "hr", "billing", "noreply", "no-reply":
		return true
	}
	return false
}
