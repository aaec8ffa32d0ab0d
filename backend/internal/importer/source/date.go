package source

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/text"
)

// dayOrder says what comes first in dates such as 3/4/2021.
type dayOrder int

const (
	monthFirst dayOrder = iota
	dayFirst
)

var errNoDate = errors.New("it is no date")

// readDate returns a date in the form of a DateDraft: YYYY, YYYY-MM, YYYY-MM-DD or
// --MM-DD. For an empty date, 0/0/00 included, it returns an empty text. It accepts ISO
// 8601, the dates of vCards, months in words and days with dots or slashes.
func readDate(value string, order dayOrder) (string, error) {
	const longest = 60
	value = strings.TrimSpace(value)
	if len(value) > longest {
		return "", errNoDate
	}
	value = withoutTime(text.Line(value))
	if strings.Trim(value, "0/-.: ") == "" {
		return "", nil
	}
	for _, read := range []func(string, dayOrder) (date, bool){truncatedDate, numericDate, wordDate} {
		if d, ok := read(value, order); ok {
			return d.partial()
		}
	}
	return "", errNoDate
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
func truncatedDate(s string, _ dayOrder) (date, bool) {
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

// numericDate reads three numbers, or a year and a month.
func numericDate(s string, order dayOrder) (date, bool) {
	separator := strings.Trim(s, "0123456789 ")
	if separator == "" {
		return date{}, false
	}
	var numbers []int
	var first string
	for part := range strings.SplitSeq(s, separator[:1]) {
		part = strings.TrimSpace(part)
		n, err := strconv.Atoi(part)
		if err != nil || len(numbers) == 3 || strings.ContainsAny(part, "+-") {
			return date{}, false
		}
		if first == "" {
			first = part
		}
		numbers = append(numbers, n)
	}
	switch {
	case len(numbers) == 2 && len(first) == 4:
		return date{year: numbers[0], month: numbers[1]}, true
	case len(numbers) == 2 && numbers[1] > 999:
		return date{year: numbers[1], month: numbers[0]}, true
	case len(numbers) != 3:
		return date{}, false
	case len(first) == 4:
		return date{numbers[0], numbers[1], numbers[2]}, true
	case separator[0] == '/' && order == monthFirst:
		return date{fullYear(numbers[2]), numbers[0], numbers[1]}, true
	}
	return date{fullYear(numbers[2]), numbers[1], numbers[0]}, true
}

// fullYear completes a year of two digits to one between 1930 and 2029, when people in
// address books were born and met.
func fullYear(n int) int {
	switch {
	case n == 0 || n >= 100:
		return n
	case n < 30:
		return 2000 + n
	default:
		return 1900 + n
	}
}

// wordDate reads a date with the month in words: 2 Jan 2006, January 2, 2006,
// 2. März, 2 de enero de 2006; and 2006年1月2日.
func wordDate(s string, _ dayOrder) (date, bool) {
	words := strings.FieldsFunc(text.Fold(s), func(r rune) bool { return strings.ContainsRune(" .,-/年月日", r) })
	if strings.Contains(s, "月") {
		return numericDate(strings.Join(words, "-"), dayFirst)
	}
	var d date
	for _, word := range words {
		if isDigit(word[0]) {
			word = strings.TrimRight(word, "stndrhaeo") // 1st, 2nd, 3e
		}
		n, err := strconv.Atoi(word)
		switch {
		case err == nil && len(word) <= 2 && d.day == 0:
			d.day = n
		case err == nil && len(word) <= 2 && d.year == 0:
			d.year = fullYear(n)
		case err == nil && len(word) == 4 && d.year == 0:
			d.year = n
		case err != nil && d.month == 0 && monthOf(word) > 0:
			d.month = monthOf(word)
		case word == "de" || word == "del" || word == "of":
		default:
			return date{}, false
		}
	}
	return d, d.month > 0
}

// monthOf returns the month that is a prefix of a folded word, in the languages of the
// known headers; 0 for none.
func monthOf(word string) int {
	for month, beginnings := range [][]string{
		{"jan", "ene", "gen", "sty"}, {"feb", "fev", "lut"}, {"mar", "maa", "mrt", "mae"}, {"apr", "avr", "abr", "kwi"},
		{"may", "mai", "mei", "mag", "maj"}, {"jun", "juin", "giu", "cze"}, {"jul", "juil", "lug", "lip"},
		{"aug", "aou", "ago", "sie"}, {"sep", "set", "wrz"}, {"oct", "okt", "out", "ott", "paz"}, {"nov", "lis"},
		{"dec", "dez", "des", "dic", "gru"},
	} {
		for _, beginning := range beginnings {
			if strings.HasPrefix(word, beginning) {
				return month + 1
			}
		}
	}
	return 0
}
