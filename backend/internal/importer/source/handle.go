package source

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/nyaruka/phonenumbers"
	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"
)

// email, phone and web add an address in the form of the contract, or a warning that it is
// invalid.
func (d *draft) email(value, label string, pref int) {
	d.address(people.KindEmail, value, label, pref, cleanEmail)
}

func (d *draft) phone(value, label string, pref int) {
	d.address(people.KindPhone, value, label, pref, func(v string) (string, string) { return cleanPhone(v, d.region) })
}

func (d *draft) web(kind, value, label string, pref int) {
	d.address(kind, value, label, pref, cleanURL)
}

// mostAddresses limits how many addresses of a record are read, duplicates included.
const mostAddresses = 200

// address adds a handle after clean has corrected its value. For a value that it cannot
// correct, clean returns what is wrong.
func (d *draft) address(kind, value, label string, pref int, clean func(string) (value, wrong string)) {
	head, _ := firstBytes(value, 4*maxURL)
	if head = text.Line(head); !text.Visible(head) {
		return
	}
	if len(d.handles) == mostAddresses {
		d.warn("%q was left out: there are too many addresses", shown(value))
		return
	}
	good, wrong := clean(head)
	if wrong != "" {
		d.warn("%q was left out: %s", shown(value), wrong)
		return
	}
	d.handles = append(d.handles, ranked{export.HandleRecord{Kind: kind, Value: good, Label: d.line("label of an address", label, maxLabel)}, pref})
}

// settleHandles puts the preferred handle of each kind first, in the places of its kind,
// and removes duplicates and handles beyond the limit.
func (d *draft) settleHandles() {
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
		case count[kind] == maxHandlesOfKind:
			d.warn("%q was left out: one person holds %d of a kind at most", shown(h.Value), maxHandlesOfKind)
		default:
			seen[key] = true
			count[kind]++
			d.Handles = append(d.Handles, h.HandleRecord)
		}
	}
}

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
		case local == "" || !isLocal(local) || !isDomain(domain):
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

// isLocal reports whether s is valid before the @.
func isLocal(s string) bool {
	for i := range len(s) {
		if !isAlphanumeric(s[i]) && strings.IndexByte(".!#$%&'*+/=?^_`{|}~-", s[i]) < 0 {
			return false
		}
	}
	return true
}

// isDomain reports whether s consists of labels of letters, digits and hyphens.
func isDomain(s string) bool {
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for i := range len(label) {
			if !isAlphanumeric(label[i]) && label[i] != '-' {
				return false
			}
		}
	}
	return true
}

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

// cleanPhone returns a number in the form of the contract: digits and the usual characters
// between them, and an extension after an x. A number that already has this form keeps its
// spelling, unless it lacks the country code of region.
func cleanPhone(value, region string) (phone, wrong string) {
	phone = value
	if !isPhone(phone) {
		phone = plainPhone(value)
	}
	switch {
	case strings.Contains(phone, "E+"):
		return "", "a spreadsheet has rounded this phone number"
	case !isPhone(phone):
		return "", "it is no phone number"
	}
	if region == "" || strings.HasPrefix(phone, "+") || strings.HasPrefix(phone, "00") {
		return phone, ""
	}
	number, err := phonenumbers.Parse(phone, region)
	if err != nil || !phonenumbers.IsPossibleNumber(number) {
		return phone, ""
	}
	extension := number.GetExtension()
	number.Extension = nil
	full := phonenumbers.Format(number, phonenumbers.INTERNATIONAL)
	if extension != "" {
		full += " x" + extension
	}
	if !isPhone(full) {
		return phone, ""
	}
	return full, ""
}

// plainPhone converts a number to ASCII: digits of any script, dashes, spaces, the tel
// scheme (RFC 3966) and the notations of an extension.
func plainPhone(value string) string {
	const scheme = "tel:"
	if len(value) > len(scheme) && strings.EqualFold(value[:len(scheme)], scheme) {
		value = withoutParameters(value[len(scheme):])
	}
	var b strings.Builder
	for _, r := range norm.NFKC.String(value) {
		switch {
		case r >= '٠' && r <= '٩':
			b.WriteRune('0' + r - '٠')
		case r >= '۰' && r <= '۹':
			b.WriteRune('0' + r - '۰')
		case r >= '०' && r <= '९':
			b.WriteRune('0' + r - '०')
		case unicode.Is(unicode.Pd, r) || r == '−':
			b.WriteByte('-')
		case unicode.IsSpace(r):
			b.WriteByte(' ')
		case unicode.Is(unicode.Cf, r): // marks of direction, which come with numbers copied from screens
		default:
			b.WriteRune(r)
		}
	}
	plain := strings.TrimLeftFunc(b.String(), func(r rune) bool { return unicode.IsLetter(r) || r == ':' || r == ' ' })
	return strings.Join(strings.Fields(plainExtension(plain)), " ")
}

// withoutParameters removes the parameters of a tel URI except its extension.
func withoutParameters(uri string) string {
	number, parameters, _ := strings.Cut(uri, ";")
	for parameter := range strings.SplitSeq(parameters, ";") {
		if extension, ok := strings.CutPrefix(parameter, "ext="); ok {
			return number + " x" + extension
		}
	}
	return number
}

// plainExtension writes an extension with an x.
func plainExtension(s string) string {
	lower := strings.ToLower(s)
	if len(lower) != len(s) {
		return s
	}
	for _, word := range []string{"extension", "ext.", "ext", "x.", "#", ",,", ",", ";", "x"} {
		at := strings.Index(lower, word)
		if at <= 0 {
			continue
		}
		extension := strings.Trim(s[at+len(word):], " .:,;#")
		if extension == "" {
			return strings.TrimSpace(s[:at])
		}
		return strings.TrimSpace(s[:at]) + " x" + extension
	}
	return s
}

// isPhone reports whether the contract accepts the number.
func isPhone(s string) bool {
	const shortest = 3
	if len(s) < shortest || len(s) > maxPhone-1 || s[0] != '+' && s[0] != '(' && !isDigit(s[0]) {
		return false
	}
	for i := 1; i < len(s); i++ {
		if !isDigit(s[i]) && strings.IndexByte(" ()./x-", s[i]) < 0 {
			return false
		}
	}
	return strings.ContainsFunc(s, unicode.IsDigit)
}

// cleanURL returns a web address in the form of the contract, https or http. An address
// without a scheme gets https. Any other scheme is an error, since some schemes run code.
func cleanURL(value string) (address, wrong string) {
	scheme, rest, found := strings.Cut(value, ":")
	switch scheme = strings.ToLower(scheme); {
	case found && (scheme == "https" || scheme == "http") && strings.HasPrefix(rest, "//"):
		address = scheme + ":" + rest // the contract knows schemes in lower case only
	case found && isScheme(scheme) && !isPort(rest):
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

// unusable reports white space and invisible characters.
func unusable(r rune) bool { return unicode.IsSpace(r) || unicode.In(r, unicode.C) }

// isScheme reports whether s is a scheme (RFC 3986, section 3.1).
func isScheme(s string) bool {
	for i := range len(s) {
		if !isAlphanumeric(s[i]) && (i == 0 || strings.IndexByte("+-.", s[i]) < 0) {
			return false
		}
	}
	return s != "" && !isDigit(s[0])
}

// isPort reports whether the text is the port of host:8080/path, rather than the rest
// after a scheme.
func isPort(rest string) bool {
	port, _, _ := strings.Cut(rest, "/")
	for i := range len(port) {
		if !isDigit(port[i]) {
			return false
		}
	}
	return port != ""
}
