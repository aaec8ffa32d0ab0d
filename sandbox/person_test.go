package sandbox_test

import (
	"net/url"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/kith-crm/kith/sandbox"
)

func TestNamesAreUniqueExceptInPlantedPairs(t *testing.T) {
	t.Parallel()
	d := sandbox.Build(someDay)
	partner := map[string]string{}
	for _, pair := range d.Duplicates {
		partner[pair.SecondID] = pair.FirstID
		partner[pair.FirstID] = pair.SecondID
	}
	if len(partner) != 24 {
		t.Fatalf("the pairs hold %d connections, want 24", len(partner))
	}
	bearer := map[string]string{}
	for _, c := range d.Connections {
		key := strings.ToLower(c.Name)
		if other, taken := bearer[key]; taken && partner[c.ID] != other {
			t.Errorf("%s and %s are both called %s", c.ID, other, c.Name)
		}
		bearer[key] = c.ID
	}
}

// normal returns a handle in the form in which handles are compared.
func normal(h sandbox.Handle) string {
	value := strings.ToLower(h.Value)
	switch h.Kind {
	case "email":
		local, host, _ := strings.Cut(value, "@")
		local, _, _ = strings.Cut(local, "+")
		return local + "@" + host
	case "phone":
		return strings.Map(func(r rune) rune {
			if unicode.IsDigit(r) {
				return r
			}
			return -1
		}, value)
	default:
		return value
	}
}

func TestPlantedPairsShareTheirKind(t *testing.T) {
	t.Parallel()
	d := sandbox.Build(someDay)
	handles := map[string]map[string]bool{}
	employer, byID := map[string]string{}, map[string]sandbox.Connection{}
	for _, c := range d.Connections {
		byID[c.ID], handles[c.ID] = c, map[string]bool{}
		for _, h := range c.Handles {
			handles[c.ID][normal(h)] = true
		}
		for _, p := range c.Positions {
			if p.Current {
				employer[c.ID] = p.Organization
			}
		}
	}
	for _, pair := range d.Duplicates {
		first, second := byID[pair.FirstID], byID[pair.SecondID]
		var shared int
		for value := range handles[second.ID] {
			if handles[first.ID][value] {
				shared++
			}
		}
		sameName := first.Name == second.Name
		sameEmployer := employer[first.ID] != "" && employer[first.ID] == employer[second.ID]
		detectable := shared > 0 || (sameName && sameEmployer)
		if detectable != pair.SamePerson {
			t.Errorf("%s and %s (%s): %d handles shared, same employer %v", first.Name, second.Name, pair.Reason, shared, sameEmployer)
		}
		if !pair.SamePerson && (!sameName || employer[second.ID] == "") {
			t.Errorf("the namesakes %s and %s are not", first.Name, second.Name)
		}
	}
}

func TestHandlesAreUnique(t *testing.T) {
	t.Parallel()
	d := sandbox.Build(someDay)
	partner := map[string]string{}
	for _, pair := range d.Duplicates {
		partner[pair.SecondID], partner[pair.FirstID] = pair.FirstID, pair.SecondID
	}
	owners := map[string][]string{}
	for _, c := range d.Connections {
		for _, h := range c.Handles {
			owners[normal(h)] = append(owners[normal(h)], c.ID)
		}
	}
	var mailboxes int
	for value, who := range owners {
		switch {
		case strings.HasPrefix(value, "team@"):
			mailboxes++
			if len(who) != 3 {
				t.Errorf("%s has %d owners, want 3", value, len(who))
			}
		case len(who) == 2 && partner[who[0]] == who[1], len(who) == 1:
		default:
			t.Errorf("%s belongs to %v", value, who)
		}
	}
	if mailboxes != 1 {
		t.Errorf("%d shared mailboxes, want 1", mailboxes)
	}
}

func TestHandlesAreFictional(t *testing.T) {
	t.Parallel()
	d := sandbox.Build(someDay)
	email := regexp.MustCompile(`^[A-Za-z.-]+(\+[a-z]+)?@[a-z-]+\.example$`)
	phone := regexp.MustCompile(`^(1[2-9]\d{2}55501\d{2}|442079460\d{3})$`)
	reachable, numbers := map[string]bool{}, 0
	for _, c := range d.Connections {
		for _, h := range c.Handles {
			var valid bool
			switch h.Kind {
			case "email":
				valid = email.MatchString(h.Value)
				reachable[c.ID] = true
			case "phone":
				valid = phone.MatchString(normal(h))
				numbers++
			case "url", "social":
				u, err := url.Parse(h.Value)
				valid = err == nil && u.Scheme == "https" && strings.HasSuffix(u.Host, ".example")
			}
			if !valid {
				t.Errorf("%s %q is not fictional", h.Kind, h.Value)
			}
		}
	}
	if len(reachable) < 185 || numbers < 90 {
		t.Errorf("%d connections with e-mail and %d numbers, want 185 and 90", len(reachable), numbers)
	}
}

func TestPositionsAreInOrder(t *testing.T) {
	t.Parallel()
	for _, c := range sandbox.Build(someDay).Connections {
		for i, p := range c.Positions {
			if p.Current != (p.EndedOn == "") || p.Title == "" || p.StartedOn == "" {
				t.Errorf("incomplete position %+v", p)
			}
			if !p.Current && p.EndedOn < p.StartedOn {
				t.Errorf("position %+v ends before it starts", p)
			}
			if p.Current && i > 0 {
				t.Errorf("%s has two current positions, or not the current one first", c.ID)
			}
		}
	}
}

func TestTextsAreFilled(t *testing.T) {
	t.Parallel()
	d := sandbox.Build(someDay)
	bodies := map[string]bool{}
	check := func(where, text string, longest int) {
		t.Helper()
		if strings.ContainsAny(text, "{}") || strings.Contains(text, "  ") || len([]rune(text)) > longest {
			t.Errorf("%s: %q", where, text)
		}
	}
	for _, n := range d.Notes {
		check(n.ID, n.Body, 20000)
		if n.Body == "" || bodies[n.Body] {
			t.Errorf("note %s is empty or a copy: %q", n.ID, n.Body)
		}
		bodies[n.Body] = true
	}
	summaries := map[string]bool{}
	for _, i := range d.Interactions {
		check(i.ID, i.Summary, 2000)
		summaries[i.Summary] = true
	}
	if len(summaries) < 550 {
		t.Errorf("%d different summaries, want 550", len(summaries))
	}
	for _, r := range d.Reminders {
		check(r.ID, r.Text, 200)
	}
	for _, c := range d.Connections {
		check(c.ID, c.Bio, 2000)
		check(c.ID, c.MetHow, 200)
		check(c.ID, c.Name, 200)
	}
}
