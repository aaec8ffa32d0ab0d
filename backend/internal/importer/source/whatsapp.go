package source

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/text"
)

// chatLine is the first line of a message in a chat that WhatsApp exports: a date in the numbers of the phone's language, a time,
// the sender and the text, as "[31.12.20, 21:15:32] Ida: Hi" or "12/31/20, 9:15 PM - Ida: Hi".
var chatLine = regexp.MustCompile(`^[\x{200e}\x{feff}]*\[?(\d{1,4})([./-]) ?(\d{1,2})[./-] ?(\d{1,4})\.?(?:,| à| a las| um| at)?[\s\x{a0}\x{202f}]+\d{1,2}[:.]\d{2}(?:[:.]\d{2})?(?:[\s\x{a0}\x{202f}]*[AaPp]\.?[\s\x{a0}\x{202f}]?[Mm]\.?)?(?:\]| -) [\x{200e}]*([^:\n]{1,100}): `)

// isChat recognises a chat by its first lines.
func isChat(data []byte) bool {
	const enough = 20
	n := 0
	for line := range bytes.Lines(data[:min(len(data), 64<<10)]) {
		if n++; n > enough {
			break
		}
		if chatLine.Match(line) {
			return true
		}
	}
	return false
}

// chat is who wrote when in a chat.
type chat struct {
	days  []dayOfChat
	names []string // of those who wrote, in the order in which they first did
	// separator is between the numbers of a date.
	separator byte
}

// dayOfChat is one date of a chat: its three numbers, and the indices in names of those who wrote on it.
type dayOfChat struct {
	date    [3]int
	senders []int
}

// mostChatDays is how many days a chat may have.
const mostChatDays = 20_000

// openChat reads who wrote on which day of a chat. The texts are not imported.
func (f *File) openChat(data []byte, o Options) error {
	c := chat{}
	known := map[string]int{} // the index in names
	var last []int            // for each of names, how many days the chat had when they last wrote
	for line := range bytes.Lines(data) {
		m := chatLine.FindSubmatch(line[:min(len(line), 300)])
		if m == nil {
			continue // a further line of a message, or a message of WhatsApp itself
		}
		var day [3]int
		for i, number := range [][]byte{m[1], m[3], m[4]} {
			day[i], _ = strconv.Atoi(string(number))
		}
		c.separator = m[2][0]
		sender := text.Line(strings.TrimPrefix(strings.TrimSpace(string(m[5])), "~"))
		if !text.Visible(sender) {
			continue
		}
		if n := len(c.days); n == 0 || c.days[n-1].date != day {
			if n == mostChatDays {
				return fault.New(fault.Invalid, "the chat has more than %d days", mostChatDays)
			}
			c.days = append(c.days, dayOfChat{date: day})
		}
		i, ok := known[sender]
		if !ok {
			i = len(c.names)
			known[sender], c.names, last = i, append(c.names, sender), append(last, 0)
			if err := f.count("people"); err != nil {
				return err
			}
		}
		if n := len(c.days); last[i] != n {
			last[i], c.days[n-1].senders = n, append(c.days[n-1].senders, i)
		}
	}
	others, title, err := c.others(o)
	if err != nil {
		return err
	}
	if len(others) == 0 {
		return fault.New(fault.Invalid, "nobody but you wrote in this chat")
	}
	order, doubtful, err := c.order(o.calendar())
	if err != nil {
		return err
	}
	if doubtful {
		n := c.days[0].date
		on, _ := chatDay(n, order)
		f.warn(fmt.Sprintf("The dates of the chat may be in another order: %02d/%02d/%02d was read as %s. Choose the order of day, month and year if that is wrong.",
			n[0], n[1], n[2], on.Format(time.DateOnly)))
	}
	f.total = len(others)
	f.records = func(yield func(Record) bool) {
		for i, other := range others {
			name := c.names[other]
			d := draft{region: o.DefaultRegion, fields: f.fields}
			d.ID, d.name.full = chatKey(name), name
			if strings.HasPrefix(name, "+") {
				d.phone(name, "", 0)
			}
			r := d.record(i+1, true)
			if r.Source, r.ByName = WhatsApp, true; !yield(r) {
				return
			}
		}
	}
	f.lists = map[string][][]byte{"interactions": c.interactions(others, title, order)}
	f.warn("Of the chat come the days and who wrote. Texts and pictures are not imported.")
	return nil
}

// chatKey is by what a sender is known.
func chatKey(name string) string { return keyOf("whatsapp " + text.Fold(name)) }

// others returns the indices in names of those who wrote beside the member, and the title of the chat. WhatsApp names a file
// after the other one, or after the group.
func (c *chat) others(o Options) (others []int, title string, err error) {
	base := strings.TrimSuffix(path.Base(o.Filename), path.Ext(o.Filename))
	named := -1 // after whom the file is named
	for i, name := range c.names {
		if text.Fold(name) != text.Fold(o.Owner) && !strings.EqualFold(name, "you") {
			others = append(others, i)
		}
		if strings.HasSuffix(text.Fold(base), " "+text.Fold(name)) || text.Fold(base) == text.Fold(name) {
			named, title = i, name
		}
	}
	switch {
	case named >= 0 && len(c.names) <= 2:
		return []int{named}, title, nil
	case len(others) == len(c.names) && len(c.names) > 1:
		return nil, "", fault.New(fault.Invalid, "it is not clear whether you are %s; name the file after the other one, such as %q, or give your account the name that you have in WhatsApp",
			strings.Join([]string{shown(c.names[0]), shown(c.names[1])}, " or "), "WhatsApp Chat with "+shown(c.names[0])+".txt")
	}
	return others, cmp.Or(title, base), nil
}

// order returns in which order the dates have year, month and day: that in which all of them are dates and none is before the one
// above it. If there are several, that of the member counts, and doubtful is set unless they chose it.
func (c *chat) order(days calendar) (order dayOrder, doubtful bool, err error) {
	var fitting []dayOrder
	for _, order := range []dayOrder{days.orderAt(c.separator), dayFirst, monthFirst, yearFirst} {
		last := time.Time{}
		if !slices.Contains(fitting, order) && !slices.ContainsFunc(c.days, func(d dayOfChat) bool {
			on, ok := chatDay(d.date, order)
			wrong := !ok || on.Before(last) || days.isFuture(on.Format(time.DateOnly))
			last = on
			return wrong
		}) {
			fitting = append(fitting, order)
		}
	}
	if len(fitting) == 0 {
		return 0, false, fault.New(fault.Invalid, "the dates of the chat are in no order of day, month and year in which they follow one another")
	}
	return fitting[0], len(fitting) > 1 && !days.forDots, nil
}

// chatDay returns the day of numbers in an order.
func chatDay(n [3]int, order dayOrder) (time.Time, bool) {
	day, month, year := n[0], n[1], n[2]
	switch order {
	case monthFirst:
		day, month = month, day
	case yearFirst:
		day, year = year, day
	}
	if year < 100 {
		year += 2000
	}
	on := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	return on, on.Day() == day && int(on.Month()) == month && year >= 2009 && year < 10_000 // the year of WhatsApp
}

// interactions returns one interaction for each day, with those who wrote on it, each as JSON.
func (c *chat) interactions(others []int, title string, order dayOrder) (all [][]byte) {
	keys := make([]string, len(c.names)) // "" of the member
	for _, i := range others {
		keys[i] = chatKey(c.names[i])
	}
	byDay := map[time.Time][]string{}
	for _, d := range c.days {
		on, _ := chatDay(d.date, order)
		for _, i := range d.senders {
			if keys[i] != "" {
				byDay[on] = append(byDay[on], keys[i])
			}
		}
		if len(others) == 1 { // also of a day on which only the member wrote
			byDay[on] = append(byDay[on], keys[others[0]])
		}
	}
	summary := "WhatsApp"
	if len(others) > 1 {
		summary = "WhatsApp: " + text.Line(title)
	}
	for _, on := range slices.SortedFunc(maps.Keys(byDay), time.Time.Compare) {
		day := on.Format(time.DateOnly)
		slices.Sort(byDay[on])
		for part := range slices.Chunk(slices.Compact(byDay[on]), mostOfInteraction) {
			encoded, _ := json.Marshal(export.InteractionRecord{ // no value of it can fail
				Kind: "message", OccurredAt: civil.Noon(on, time.UTC), OccurredLocal: day, Summary: summary, ConnectionIDs: part,
				ExternalKey: text.Truncate("whatsapp "+day+" "+text.Fold(title), maxExternalKey),
			})
			all = append(all, encoded)
		}
	}
	return all
}
