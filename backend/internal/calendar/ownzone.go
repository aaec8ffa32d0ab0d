package calendar

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/content"
)

// maxZones is how many zones of a feed's own are read.
const maxZones = 200

// observance is the standard time or the daylight saving time of a zone (RFC 5545, section 3.6.5).
type observance struct {
	daylight bool
	// start is the local time of its first beginning, and rule when it begins again.
	start, rule string
	// offset is its distance from UTC in seconds.
	offset int
	known  bool // the offset was read
}

// ownZone reads the zone that the lines of a VTIMEZONE describe, for names that are not known otherwise.
func (r *reader) ownZone(lines []content.Line) {
	var name string
	var zone *time.Location
	var all []observance
	for _, l := range lines {
		property, value := strings.ToUpper(l.Name), strings.TrimSpace(l.Value)
		if property+":" == "BEGIN:" {
			all = append(all, observance{daylight: strings.EqualFold(value, "DAYLIGHT")})
			continue
		}
		if len(all) == 0 {
			switch property {
			case "TZID":
				name = value
			case "X-LIC-LOCATION":
				zone = zoneNamed(value)
			}
			continue
		}
		switch o := &all[len(all)-1]; property {
		case "DTSTART":
			o.start = value
		case "RRULE":
			o.rule = strings.ToUpper(value)
		case "TZOFFSETTO":
			o.offset, o.known = offsetOf(value)
		}
	}
	if zone == nil {
		zone = zoneOfRules(name, all)
	}
	if zone != nil && len(r.zones) < maxZones {
		r.zones[name] = zone
	}
}

// offsetOf reads an offset such as +0530 or -023015.
func offsetOf(value string) (seconds int, ok bool) {
	if len(value) != 5 && len(value) != 7 {
		return 0, false
	}
	sign := map[byte]int{'+': 1, '-': -1}[value[0]]
	for i, unit := range []int{3600, 60, 1}[:(len(value)-1)/2] {
		n, err := strconv.ParseUint(value[1+2*i:3+2*i], 10, 8)
		if err != nil {
			return 0, false
		}
		seconds += int(n) * unit
	}
	return sign * seconds, sign != 0 && seconds < 24*3600
}

// zoneOfRules returns the zone with the newest standard time and daylight saving time of a list; nil if they can't be read.
func zoneOfRules(name string, all []observance) *time.Location {
	var standard, daylight *observance
	for i := range all {
		o := &all[i]
		newest := &standard
		if o.daylight {
			newest = &daylight
		}
		if o.known && (*newest == nil || o.start >= (*newest).start) {
			*newest = o
		}
	}
	switch {
	case standard == nil && daylight == nil:
		return nil
	case standard == nil:
		return time.FixedZone(name, daylight.offset)
	case daylight == nil, daylight.rule == "", strings.Contains(daylight.rule, "UNTIL="):
		return time.FixedZone(name, standard.offset)
	}
	begin, end := daylight.onset(), standard.onset()
	if begin == "" || end == "" {
		return nil
	}
	zone, err := time.LoadLocationFromTZData(name, tzif(fmt.Sprintf("STD%sDST%s,%s,%s", posixOffset(standard.offset), posixOffset(daylight.offset), begin, end), standard.offset))
	if err != nil {
		return nil
	}
	return zone
}

// onset returns the yearly rule by which the observance begins, as POSIX writes it in the variable TZ, such as M10.5.0/03:00:00 for the last
// Sunday of October at three. It is empty for a rule that TZ cannot express.
func (o *observance) onset() string {
	at, err := time.Parse(clockForm, o.start)
	if err != nil {
		return ""
	}
	rule := map[string]string{}
	for part := range strings.SplitSeq(o.rule, ";") {
		key, value, _ := strings.Cut(part, "=")
		rule[key] = value
	}
	by := rule["BYDAY"]
	week, err := strconv.Atoi(strings.TrimRight(by, "ADEFHMORSTUW"))
	if first, _, several := strings.Cut(rule["BYMONTHDAY"], ","); several { // such as BYDAY=SU;BYMONTHDAY=8,9,10,11,12,13,14
		var day int
		day, err = strconv.Atoi(first)
		week = (day-1)/7 + 1
	}
	if week == -1 {
		week = 5
	}
	month, monthErr := strconv.Atoi(rule["BYMONTH"])
	weekday := strings.Index("SUMOTUWETHFRSA", by[max(len(by)-2, 0):])
	if err != nil || monthErr != nil || by == "" || rule["FREQ"] != "YEARLY" || week < 1 || week > 5 || month < 1 || month > 12 || weekday < 0 || weekday%2 != 0 {
		return ""
	}
	return fmt.Sprintf("M%d.%d.%d/%s", month, week, weekday/2, at.Format(time.TimeOnly))
}

// posixOffset returns an offset as the variable TZ has it: west of Greenwich is positive.
func posixOffset(seconds int) string {
	sign := "-"
	if seconds < 0 {
		sign, seconds = "", -seconds
	}
	return fmt.Sprintf("%s%d:%02d:%02d", sign, seconds/3600, seconds/60%60, seconds%60)
}

// tzif returns a file of a zone (RFC 9636) without transitions, whose times follow from the variable TZ.
func tzif(variable string, offset int) []byte {
	block := append([]byte("TZif2"), make([]byte, 15)...)
	for _, count := range []uint32{0, 0, 0, 0, 1, 4} { // one type of local time, and its name of four bytes
		block = binary.BigEndian.AppendUint32(block, count)
	}
	block = binary.BigEndian.AppendUint32(block, uint32(int32(offset))) //nolint:gosec // below a day
	block = append(block, 0, 0, 'S', 'T', 'D', 0)
	return append(append(append(block, block...), '\n'), variable+"\n"...)
}
