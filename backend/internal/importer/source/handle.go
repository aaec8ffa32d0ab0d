package source

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/text"
	"golang.org/x/net/idna"
)

// email, phone and web add an address in the form of the contract, or a warning that it is
// invalid.
func (d *draft) email(value, label string, pref int) {
	d.address(people.KindEmail, value, label, pref, cleanEmail)
}

// phone adds the numbers of a value. What is in no number is kept in the import note.
func (d *draft) phone(value, label string, pref int) {
	head, cut := firstBytes(value, maxPhones)
	if !text.Visible(head) || isPlaceholder(head) {
		return
	}
	numbers, rest, wrong := readPhones(head, d.region)
	switch {
	case wrong != "":
		d.unreadable("phone number", value, wrong)
		return
	case cut || rest:
		d.keepInNote("phone number", value, "not all of it is a number")
	}
	for _, n := range numbers {
		d.address(people.KindPhone, n.value, joined(label, n.words), pref, func(v string) (string, string) { return v, "" })
	}
}

// web adds the addresses of a value. An e-mail address among them is added as one.
func (d *draft) web(kind, value, label string, pref int) {
	head, cut := firstBytes(value, maxURLs)
	if cut {
		d.keepInNote("web address", value, "it is so long that only its beginning was read")
	}
	for _, one := range splitURLs(head) {
		bare := strings.TrimSpace(one)
		if email, wrong := cleanEmail(bare); wrong == "" && !strings.ContainsAny(bare, "/:") || strings.HasPrefix(strings.ToLower(bare), "mailto:") {
			d.email(cmp.Or(email, bare), label, pref)
			continue
		}
		d.address(kind, one, label, pref, cleanURL)
	}
}

// account adds an account with a messenger or a network. An account that is given by its web address is a link.
func (d *draft) account(service, handle, label string) {
	head, _ := firstBytes(handle, maxURLs)
	if head = strings.TrimSpace(head); strings.HasPrefix(strings.ToLower(head), "http://") || strings.HasPrefix(strings.ToLower(head), "https://") {
		d.web(people.KindSocial, head, cmp.Or(label, service), 0)
		return
	}
	if service == "" && label != "home" && label != "work" { // such as a person's own type of the property
		service, label = label, ""
	}
	a := people.Account{
		Service: d.line("name of a service", cmp.Or(service, "other"), maxService), Handle: d.line("account", handle, maxHandle), Label: d.line("label of an account", label, maxLabel),
	}.Clean()
	if (people.Account{Service: a.Label}).Clean().Service == a.Service { // a type of the property that is the service
		a.Label = ""
	}
	switch {
	case !text.Visible(a.Handle) || isPlaceholder(a.Handle) || slices.Contains(d.Accounts, a):
	case len(d.Accounts) == people.MaxAccounts:
		d.keepInNote("account", a.Shown()+" "+a.Handle, fmt.Sprintf("one person has %d at most", people.MaxAccounts))
	default:
		d.Accounts = append(d.Accounts, a)
	}
}

// accountURI reads an account that is a URI such as xmpp:ana@chat.example, whose scheme is the service unless that is known.
func (d *draft) accountURI(service, uri, label string) {
	scheme, rest, found := strings.Cut(strings.TrimSpace(uri), ":")
	scheme = strings.ToLower(scheme)
	if !found || !anyScheme.MatchString(scheme) || scheme == "http" || scheme == "https" {
		d.account(service, uri, label)
		return
	}
	handle, query, _ := strings.Cut(rest, "?")
	if plain, err := url.PathUnescape(strings.TrimPrefix(handle, "//")); err == nil {
		handle = plain
	}
	if values, err := url.ParseQuery(query); err == nil && values.Get("screenname") != "" { // as in aim:goim?screenname=ana
		handle = values.Get("screenname")
	} else if query != "" {
		d.addToNote("Account", uri)
	}
	if scheme == "x-apple" || scheme == "x-user" {
		scheme = ""
	}
	d.account(cmp.Or(service, scheme), handle, label)
}

// splitURLs splits a text between web addresses: before a scheme or www, and at white space, commas
// and semicolons if each part looks like an address.
func splitURLs(s string) []string {
	s = addressStart.ReplaceAllString(s, "\n$1")
	var out []string
	for line := range strings.SplitSeq(s, "\n") {
		parts := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' || r == '\r' })
		for i := range parts[:max(len(parts)-1, 0)] {
			parts[i] = strings.TrimRight(parts[i], ",;")
		}
		if slices.ContainsFunc(parts, func(part string) bool { return !looksLikeURL.MatchString(part) }) {
			parts = []string{line}
		}
		out = append(out, parts...)
	}
	return out
}

// maxURLs is how much of a value is read for web addresses, in bytes.
const maxURLs = 20_000

var (
	addressStart = regexp.MustCompile(`(?i)[\s,;|]+(https?://|www\.)`)
	looksLikeURL = regexp.MustCompile(`^@?[^\s@]*@?[^\s.]+\.[^\s]+$`)
)

// mostAddresses limits how many addresses of a record are read, duplicates included.
const mostAddresses = 200

// address adds a handle after clean has corrected its value. For a value that it cannot
// correct, clean returns what is wrong.
func (d *draft) address(kind, value, label string, pref int, clean func(string) (value, wrong string)) {
	head, _ := firstBytes(value, 4*maxURL)
	if head = text.Line(head); !text.Visible(head) || isPlaceholder(head) {
		return
	}
	if len(d.handles) == mostAddresses {
		if slices.ContainsFunc(d.handles, func(h ranked) bool { return h.Kind == kind && h.Value == head }) {
			return
		}
		d.keepInNote(kindInWords(kind), value, "there are too many addresses")
		return
	}
	good, wrong := clean(head)
	if wrong != "" {
		d.unreadable(kindInWords(kind), value, wrong)
		return
	}
	d.handles = append(d.handles, ranked{export.HandleRecord{Kind: kind, Value: good, Label: d.line("label of an address", label, maxLabel)}, pref})
}

// finishHandles puts the preferred handle of each kind first, in the places of its kind,
// and removes duplicates and handles beyond the limit.
func (d *draft) finishHandles() {
	for _, kind := range []string{people.KindEmail, people.KindPhone, people.KindURL} {
		preferFirst(d.handles, kind)
	}
	all := map[string]int{}
	for _, h := range d.handles {
		all[listOf(h.Kind)]++
	}
	seen := map[string]bool{}
	count := map[string]int{}
	for _, h := range d.handles {
		kind := listOf(h.Kind)
		key := kind
		if all[kind] > 1 { // a single handle has no duplicate, and normalising is slow
			key += " " + people.NormalValue(h.Kind, h.Value)
		}
		switch {
		case seen[key]:
		case count[kind] == people.MaxHandlesOfKind:
			d.keepInNote(kindInWords(kind), h.Value, fmt.Sprintf("one person has %d of a kind at most", people.MaxHandlesOfKind))
		default:
			seen[key] = true
			count[kind]++
			d.Handles = append(d.Handles, h.HandleRecord)
		}
	}
}

func kindInWords(kind string) string {
	switch kind {
	case people.KindEmail:
		return "e-mail address"
	case people.KindPhone:
		return "phone number"
	}
	return "web address"
}

// isPlaceholder reports whether a value is what people type for none, such as a dash.
func isPlaceholder(s string) bool { return strings.Trim(s, " -–—./?") == "" }

// listOf returns the kind of the list that has handles of a kind: to callers, social
// addresses are web addresses.
func listOf(kind string) string {
	if kind == people.KindSocial {
		return people.KindURL
	}
	return kind
}

// preferFirst sorts the handles of a kind by preference, among themselves.
func preferFirst(handles []ranked, kind string) {
	var places []int
	var of []ranked
	for i, h := range handles {
		if listOf(h.Kind) == kind {
			places, of = append(places, i), append(of, h)
		}
	}
	slices.SortStableFunc(of, func(a, b ranked) int { return cmp.Compare(rank(a.pref), rank(b.pref)) })
	for i, h := range of {
		handles[places[i]] = h
	}
}

// rank puts handles without a preference after every preference (1 to 100 in vCards).
func rank(pref int) int {
	if pref <= 0 {
		return 1000
	}
	return pref
}

// cleanEmail returns the address in value in the form of the contract (that of HTML's
// input element): without a name around it, and with the domain in ASCII.
func cleanEmail(value string) (email, wrong string) {
	for _, spelling := range []string{value, bareEmail(value)} {
		local, domain := people.SplitEmail(spelling)
		if !isASCII(domain) {
			domain, _ = idna.Lookup.ToASCII(domain) // empty on failure, which is not a domain
		}
		email = local + "@" + domain
		switch {
		case !emailForm.MatchString(email):
			continue
		case len(email) > maxEmail:
			return "", "it is longer than e-mail addresses are"
		}
		return email, ""
	}
	return "", "it is no e-mail address"
}

// bareEmail removes the text around an address: Ana <ana@…>, mailto:ana@…, quotation marks
// and separators.
func bareEmail(value string) string {
	if open := strings.LastIndexByte(value, '<'); open >= 0 && strings.HasSuffix(value, ">") {
		value = value[open+1 : len(value)-1]
	}
	value = strings.Trim(value, " '\"<>,;")
	const scheme = "mailto:"
	if len(value) > len(scheme) && strings.EqualFold(value[:len(scheme)], scheme) {
		value, _, _ = strings.Cut(value[len(scheme):], "?")
	}
	return value
}

// emailForm is the contract's (proto/kith): that of HTML's input element, with a dot-separated domain.
var emailForm = regexp.MustCompile(`^[a-zA-Z0-9.!#$%&'*+/=?^_` + "`" + `{|}~-]+@` + label + `(?:\.` + label + `)*$`)

// label is a part of a domain.
const label = `[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?`

func isAlphanumeric(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || isDigit(b)
}

func isDigit(b byte) bool { return b >= '0' && b <= '9' }

func isASCII[T string | []byte](s T) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// cleanURL returns a web address in the form of the contract, https or http. An address
// without a scheme gets https. Any other scheme is an error, since some schemes run code.
func cleanURL(value string) (address, wrong string) {
	if account := fediverseAccount.FindStringSubmatch(value); account != nil {
		value = "https://" + account[2] + "/@" + account[1]
	}
	scheme, rest, found := strings.Cut(value, ":")
	switch scheme = strings.ToLower(scheme); {
	case found && (scheme == "https" || scheme == "http") && strings.HasPrefix(rest, "//"):
		address = scheme + ":" + rest // the contract knows schemes in lower case only
	case found && anyScheme.MatchString(scheme) && !portForm.MatchString(rest):
		return "", "only https and http addresses are kept"
	default:
		address = "https://" + strings.TrimLeft(value, "/")
		if u, err := url.Parse(address); err != nil || !strings.Contains(u.Hostname(), ".") {
			return "", "it is no web address"
		}
	}
	address = strings.ReplaceAll(address, " ", "%20")
	switch {
	case strings.ContainsFunc(address, unusable) || strings.HasSuffix(address, "://"):
		return "", "it is no web address"
	case utf8.RuneCountInString(address) > maxURL:
		return "", "it is longer than web addresses are kept"
	}
	return address, ""
}

// fediverseAccount is an account such as @ana@social.example, whose page is
// https://social.example/@ana.
var fediverseAccount = regexp.MustCompile(`^@([A-Za-z0-9_.-]+)@([A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)$`)

// anyScheme is a scheme (RFC 3986, section 3.1); portForm is the port of host:8080/path, rather than the rest
// after a scheme.
var (
	anyScheme = regexp.MustCompile(`^[a-z][a-z0-9+.-]*$`)
	portForm  = regexp.MustCompile(`^\d+(?:/|$)`)
)

// unusable reports white space and invisible characters.
func unusable(r rune) bool { return unicode.IsSpace(r) || unicode.In(r, unicode.C) }
