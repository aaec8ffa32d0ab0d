package sandbox

import (
	"cmp"
	"strings"
)

// fill replaces the {placeholders} of a template with words about the person. {others} stands for
// the other people. An unknown placeholder is kept, and a test fails on it.
func (b *builder) fill(r rng, template string, p plan, others ...plan) string {
	var text strings.Builder
	for {
		before, rest, found := strings.Cut(template, "{")
		text.WriteString(before)
		if !found {
			return text.String()
		}
		key, after, _ := strings.Cut(rest, "}")
		text.WriteString(b.word(r, key, p, others))
		template = after
	}
}

// word returns the text of one placeholder.
func (b *builder) word(r rng, key string, p plan, others []plan) string {
	switch key {
	case "given":
		return p.short()
	case "name":
		return p.name.full
	case "others":
		return list(others)
	case "org":
		return b.employerOf(p)
	case "title":
		return cmp.Or(p.title, "Independent")
	case "city":
		if p.home.city == "" {
			return "another city"
		}
		city, _, _ := strings.Cut(p.home.city, ",")
		return city
	case "topic":
		if topics := b.sectorOf(p).topics; len(topics) > 0 && r.chance(72) {
			return pick(r, topics)
		}
		return pick(r, commonTopics())
	case "event":
		return pick(r, eventNames())
	case "field":
		return pick(r, fields())
	case "detail":
		return pick(r, details())
	case "wish":
		return b.fill(r, pick(r, wishes()), p)
	case "offer":
		return b.fill(r, pick(r, offers()), p)
	case "next":
		return b.fill(r, pick(r, nextSteps()), p)
	default:
		return "{" + key + "}"
	}
}

// list returns names as in a sentence: "A", "A and B", "A, B and C". People with the same short
// name have their full names.
func list(plans []plan) string {
	bearers := map[string]int{}
	for _, p := range plans {
		bearers[p.short()]++
	}
	var names []string
	for _, p := range plans {
		if bearers[p.short()] > 1 {
			names = append(names, p.name.full)
			continue
		}
		names = append(names, p.short())
	}
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}
