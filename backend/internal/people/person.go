package people

import (
	"net/url"
	"slices"
	"strings"

	"github.com/kith-crm/kith/backend/internal/people/names"
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
