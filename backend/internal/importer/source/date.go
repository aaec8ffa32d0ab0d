package source

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/kith-crm/kith/backend/internal/text"
)

// dayOrder says what comes first in dates such as 3/4/2021.
type dayOrder int

const (
	monthFirst dayOrder = iota
	dayFirst
	yearFirst
)

// The orders of Options.DateOrder.
const (
	DayMonthYear = "dmy"
	MonthDayYear = "mdy"
	YearMonthDay = "ymd"
)

// DateOrders returns all orders of Options.DateOrder.
func DateOrders() []string { return []string{DayMonthYear, MonthDayYear, YearMonthDay} }

// calendar says how dates are read whose parts are ambiguous. The zero value reads 3/4/2021 as
// 4 March, and 3.4.2021 and 3-4-2021 as 3 April.
type calendar struct {
	// known is set if order is more than the default. forDots is set if it is for dots, too: the
	// language of a header says nothing about them.
	known, forDots bool
	order          dayOrder
	// languages are the likely languages of month names, the likeliest first.
	languages []string
	// today is the last day that a date may be; the zero value allows all.
	today time.Time
}

// calendarOf returns how dates are read by the options: in the given order, otherwise as in the
// member's locale.
func (o Options) calendar() calendar {
	c := calendar{today: o.Today}
	if c.today.IsZero() {
		c.today = time.Now().UTC()
	}
	c.today = c.today.AddDate(0, 0, 1) // it may be tomorrow elsewhere
	language, region, _ := strings.Cut(strings.ReplaceAll(o.Locale, "_", "-"), "-")
	if language != "" {
		c.languages = []string{strings.ToLower(language)}
		c.order, c.known = orderIn(c.languages[0], region)
	}
	if at := slices.Index(DateOrders(), o.DateOrder); at >= 0 {
		c.order, c.known, c.forDots = []dayOrder{dayFirst, monthFirst, yearFirst}[at], true, true
	}
	return c
}

// orderIn returns the usual order of dates in a language and a region, which may be empty. It is
// not known for English without a region.
func orderIn(language, region string) (order dayOrder, known bool) {
	for part := range strings.SplitSeq(region, "-") {
		switch strings.ToUpper(part) {
		case "US", "PH", "PR", "GU", "VI", "AS", "MP", "FM", "MH", "PW", "UM":
			return monthFirst, true
		}
	}
	switch language {
	case "ja", "zh", "ko", "hu", "lt", "mn":
		return yearFirst, true
	case "en":
		return dayFirst, region != "" && !strings.EqualFold(region, "CA")
	}
	return dayFirst, true
}

// orderAt returns the order of numbers with a separator between them.
func (c calendar) orderAt(separator byte) dayOrder {
	switch {
	case c.known && (separator != '.' || c.forDots || c.order == yearFirst):
		return c.order
	case separator == '/':
		return monthFirst
	}
	return dayFirst
}

var errNoDate = errors.New("it is no date")

// readDate returns a date in the form of a DateDraft: YYYY, YYYY-MM, YYYY-MM-DD or
// --MM-DD. For an empty date, 0/0/00 included, it returns an empty text. It accepts ISO
// 8601, the dates of vCards, months in words, weekdays before them, and days with dots or slashes.
func readDate(value string, c calendar) (string, error) {
	const longest = 60
	value = strings.TrimSpace(value)
	if len(value) > longest {
		return "", errNoDate
	}
	value = withoutTime(text.Line(value))
	if strings.Trim(value, "0/-.: ") == "" {
		return "", nil
	}
	for _, read := range []func(string, calendar) (date, bool){truncatedDate, numericDate} {
		if d, ok := read(value, c); ok {
			return d.partial()
		}
	}
	d, err := wordDate(value, c)
	if err != nil {
		return "", err
	}
	return d.partial()
}

// ReadDate returns a date that a person typed in the form of the contract: 1975, 1975-11, 1975-11-26, --11-26 or "about
// 1950"; an empty text for none. Numbers are in the order of the options, or of their locale. It fails for other texts.
func ReadDate(typed string, o Options) (string, error) { return readYearly(typed, o.calendar()) }

// aboutYear matches a folded year that is not certain, such as "ca. 1950" or, as EDTF writes it (ISO 8601-2), 1950~.
var aboutYear = regexp.MustCompile(`^(?:(?:about|around|circa|ca|c|approx|approximately|um|vers|environ|hacia|verso)\.? ?|~ ?)([0-9]{4})$|^([0-9]{4})~$`)

// readYearly is readDate, and returns a year that is not certain as "about YYYY".
func readYearly(value string, c calendar) (string, error) {
	m := aboutYear.FindStringSubmatch(text.Fold(text.Line(value)))
	if m == nil {
		return readDate(value, c)
	}
	day, err := readDate(m[1]+m[2], c)
	if day == "" {
		return "", cmp.Or(err, errNoDate)
	}
	return "about " + day, nil
}

// date is a day of which parts may be unknown (0).
type date struct{ year, month, day int }

// partial formats a date, if the day exists.
func (d date) partial() (string, error) {
	const leapYear = 2000
	year := d.year
	if year == 0 {
		year = leapYear
	}
	on := time.Date(year, time.Month(max(d.month, 1)), max(d.day, 1), 0, 0, 0, 0, time.UTC)
	switch {
	case year > 9999 || d.month > 0 && int(on.Month()) != d.month || d.day > 0 && on.Day() != d.day:
		return "", errors.New("the calendar has no such day")
	case d.month == 0 && d.day == 0 && d.year > 0:
		return fmt.Sprintf("%04d", d.year), nil
	case d.day == 0 && d.month > 0 && d.year > 0:
		return fmt.Sprintf("%04d-%02d", d.year, d.month), nil
	case d.month > 0 && d.day > 0 && d.year > 0:
		return fmt.Sprintf("%04d-%02d-%02d", d.year, d.month, d.day), nil
	case d.month > 0 && d.day > 0:
		return fmt.Sprintf("--%02d-%02d", d.month, d.day), nil
	}
	return "", errors.New("too little of it is known")
}

// withoutTime removes the time of day.
func withoutTime(s string) string {
	if at := strings.IndexByte(s, 'T'); at >= 0 && strings.Trim(s[:at], "0123456789-") == "" && at > 0 {
		return s[:at]
	}
	for _, separator := range []string{", ", " "} {
		if head, tail, ok := strings.Cut(s, separator); ok && strings.IndexByte(tail, ':') > 0 && isDigit(tail[0]) && (separator != " " || strings.ContainsAny(head, "/.-")) {
			return head
		}
	}
	return s
}

// truncatedDate parses the dates of ISO 8601 without separators or without their
// beginning, in the form of vCards (RFC 6350, section 4.3.1).
func truncatedDate(s string, _ calendar) (date, bool) {
	dashes := len(s) - len(strings.TrimLeft(s, "-"))
	digits := strings.ReplaceAll(s[dashes:], "-", "")
	n, err := strconv.Atoi(digits)
	if err != nil || !isDigit(digits[0]) {
		return date{}, false
	}
	separated := strings.IndexByte(s[dashes:], '-') >= 0
	switch {
	case dashes == 0 && !separated && len(digits) == 8:
		return date{n / 10000, n / 100 % 100, n % 100}, true
	case dashes == 0 && !separated && len(digits) == 4:
		return date{year: n}, true
	case dashes == 2 && len(digits) == 4:
		return date{month: n / 100, day: n % 100}, true
	case dashes == 2 && len(digits) == 2:
		return date{month: n}, true
	case dashes == 3 && len(digits) == 2:
		return date{day: n}, true
	}
	return date{}, false
}

// numericDate reads three numbers, a year and a month, or a day and a month.
func numericDate(s string, c calendar) (date, bool) {
	separator := strings.Trim(s, "0123456789 ")
	if separator == "" {
		return date{}, false
	}
	if separator[0] == '.' {
		s = strings.TrimRight(s, ". ") // 2.4.
	}
	var parts []string
	for part := range strings.SplitSeq(s, separator[:1]) {
		if part = strings.TrimSpace(part); part == "" || strings.Trim(part, "0123456789") != "" || len(part) > 4 || len(parts) == 3 {
			return date{}, false
		}
		parts = append(parts, part)
	}
	n := func(i int) int { v, _ := strconv.Atoi(parts[i]); return v }
	switch {
	case len(parts) == 2 && len(parts[0]) == 4:
		return date{year: n(0), month: n(1)}, true
	case len(parts) == 2 && len(parts[1]) == 4:
		return date{year: n(1), month: n(0)}, true
	case len(parts) == 2 && len(parts[0]) <= 2 && len(parts[1]) <= 2:
		if c.orderAt(separator[0]) == dayFirst && n(1) <= 12 || n(0) > 12 {
			return date{month: n(1), day: n(0)}, true
		}
		return date{month: n(0), day: n(1)}, true
	case len(parts) != 3:
		return date{}, false
	case len(parts[0]) == 4:
		return date{n(0), n(1), n(2)}, true
	}
	return c.threeNumbers(parts, c.orderAt(separator[0])), true
}

// threeNumbers returns the date of three numbers in an order. If there is no such month, they are
// read in the only order in which there is.
func (c calendar) threeNumbers(parts []string, order dayOrder) date {
	n := func(i int) int { v, _ := strconv.Atoi(parts[i]); return v }
	if order == yearFirst && len(parts[2]) <= 2 {
		return c.withYear(parts[0], n(1), n(2))
	}
	first, second := n(0), n(1)
	if order == dayFirst && second <= 12 || first > 12 {
		return c.withYear(parts[2], second, first)
	}
	return c.withYear(parts[2], first, second)
}

// withYear returns a date, and completes a year of two digits: to the latest that is not in the
// future.
func (c calendar) withYear(year string, month, day int) date {
	n, _ := strconv.Atoi(year)
	if len(year) > 2 {
		return date{n, month, day}
	}
	const oldest = 1930 // without a day of today
	d := date{2000 + n, month, day}
	switch {
	case c.today.IsZero() && d.year >= oldest+100, !c.today.IsZero() && d.isAfter(c.today):
		d.year -= 100
	}
	return d
}

// isAfter reports whether the whole of a date is after a day.
func (d date) isAfter(day time.Time) bool {
	return d.year > 0 && time.Date(d.year, time.Month(max(d.month, 1)), max(d.day, 1), 0, 0, 0, 0, time.UTC).After(day)
}

// isFuture reports whether a date in the form of a DateDraft is in the future.
func (c calendar) isFuture(day string) bool {
	d, ok := truncatedDate(strings.TrimPrefix(day, "about "), c)
	if !ok {
		d, ok = numericDate(day, c)
	}
	return ok && !c.today.IsZero() && d.isAfter(c.today)
}

// wordDate reads a date with the month in words: 2 Jan 2006, January 2, 2006,
// 2. März, 2 de enero de 2006, Wed, 12 Mar 1980; and 2006年1月2日.
func wordDate(s string, c calendar) (date, error) {
	words := dateWords(s)
	if strings.ContainsAny(s, "月월") {
		d, ok := numericDate(strings.Join(words, "-"), c)
		if !ok {
			return date{}, errNoDate
		}
		return d, nil
	}
	if len(words) > 1 && isWeekday(words, s) {
		words = words[1:]
	}
	month, day, year := "", 0, ""
	for _, word := range words {
		if isDigit(word[0]) {
			word = strings.TrimRight(word, "stndrhaeo") // 1st, 2nd, 3e
		}
		n, err := strconv.Atoi(word)
		switch {
		case err == nil && len(word) <= 2 && day == 0 && n > 0 && n <= 31:
			day = n
		case err == nil && (len(word) == 2 || len(word) == 4) && year == "":
			year = word
		case err != nil && month == "" && isMonth(word):
			month = word
		case isFiller(word):
		default:
			return date{}, errNoDate
		}
	}
	if month == "" {
		return date{}, errNoDate
	}
	at, err := c.month(month)
	if err != nil {
		return date{}, err
	}
	if year == "" {
		return date{month: at, day: day}, nil
	}
	return c.withYear(year, at, day), nil
}

// dateWords returns the folded words and numbers of a date.
func dateWords(s string) []string {
	return strings.FieldsFunc(text.Fold(s), func(r rune) bool { return strings.ContainsRune(" .,-/'’年月日년월일", r) })
}

// isFiller reports words between the parts of a date.
func isFiller(word string) bool {
	switch word {
	case "de", "del", "d", "of", "the", "den", "der", "le", "el", "г", "года", "р", "року", "r", "roku", "god", "godine":
		return true
	}
	return false
}

// monthNames returns the month of each folded name in each language.
//
//nolint:gochecknoglobals // made once, when the first date in words is read
var monthNames = sync.OnceValue(func() map[string]map[string]int {
	names := map[string]map[string]int{}
	for language, months := range wordLines("months.txt") {
		for i, month := range strings.Fields(months) {
			for name := range strings.SplitSeq(month, "|") {
				name = text.Fold(name)
				if names[name] == nil {
					names[name] = map[string]int{}
				}
				names[name][language] = i + 1
			}
		}
	}
	return names
})

func isMonth(word string) bool { return monthNames()[word] != nil }

// month returns the month of a folded name. If it is another month in another language, the
// likeliest language decides; month fails if none is known.
func (c calendar) month(word string) (int, error) {
	in := monthNames()[word]
	for _, language := range c.languages {
		if month := in[language]; month > 0 {
			return month, nil
		}
	}
	var months []int
	for _, month := range in {
		if !slices.Contains(months, month) {
			months = append(months, month)
		}
	}
	if len(months) != 1 {
		return 0, fmt.Errorf("%q is another month in another language", word)
	}
	return months[0], nil
}

// isWeekday reports whether the first word of a date is a weekday before the rest: a known one, or
// any word before a comma.
func isWeekday(words []string, date string) bool {
	first := words[0]
	if isDigit(first[0]) || !slices.ContainsFunc(words[1:], isMonth) {
		return false
	}
	head, _, comma := strings.Cut(text.Fold(date), ",")
	return comma && strings.Trim(head, ". ") == first || slices.Contains(strings.Fields(weekdays), first)
}

// weekdays are folded names of weekdays.
const weekdays = "monday mon tuesday tue tues wednesday wed thursday thu thur thurs friday fri saturday sat sunday sun " +
	"montag mo dienstag di mittwoch mi donnerstag do freitag fr samstag sonnabend sa sonntag so " +
	"lundi lun mardi mercredi mer jeudi jeu vendredi ven samedi sam dimanche dim " +
	"lunes martes miercoles mie jueves jue viernes vie sabado sab domingo dom lunedi martedi mercoledi giovedi gio venerdi domenica " +
	"segunda terca quarta quinta sexta seg ter qua qui sex maandag dinsdag woensdag donderdag vrijdag zaterdag zondag " +
	"mandag tirsdag onsdag torsdag fredag lordag sondag poniedzialek wtorek sroda czwartek piatek sobota niedziela " +
	"понедельник пн вторник вт среда ср четверг чт пятница пт суббота сб воскресенье вс pazartesi sali carsamba persembe cuma cumartesi pazar"

// languageOf returns the language of headers, as far as they show it; empty for English and unknown
// ones.
func languageOf(headers []string) string {
	votes := map[string]int{}
	for _, header := range headers {
		head, _ := firstBytes(header, 100)
		for _, word := range text.Words(head) {
			for _, language := range headerLanguage()[word] {
				votes[language]++
			}
		}
	}
	best := ""
	for _, language := range slices.Sorted(maps.Keys(votes)) {
		if votes[language] > votes[best] {
			best = language
		}
	}
	if best == "en" {
		return ""
	}
	return best
}

// headerLanguage returns the languages of each folded word of headers.
//
//nolint:gochecknoglobals // made once, when the first table is read
var headerLanguage = sync.OnceValue(func() map[string][]string {
	languages := map[string][]string{}
	for language, words := range wordLines("header_languages.txt") {
		for word := range strings.FieldsSeq(words) {
			word = text.Fold(word)
			languages[word] = append(languages[word], language)
		}
	}
	return languages
})

//go:embed words
var wordFiles embed.FS

// wordLines returns the keys and the words of the lines of a file in words.
func wordLines(name string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		content, _ := wordFiles.ReadFile("words/" + name)
		for line := range strings.Lines(string(content)) {
			key, words, ok := strings.Cut(strings.TrimSpace(line), ": ")
			if ok && !strings.HasPrefix(key, "#") && !yield(key, words) {
				return
			}
		}
	}
}
