package discovery_test

import (
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// element is a start tag of a page, with the text up to the next tag.
type element struct {
	name       string
	attributes map[string]string
	text       string // of the element and everything inside it
}

var (
	ownScript        = regexp.MustCompile(`^/assets/(try|docs)\.js\?v=`)
	tagPattern       = regexp.MustCompile(`<(/?)([a-z0-9]+)((?:\s+[a-zA-Z0-9-]+(?:="[^"<>]*")?)*)\s*(/?)>`)
	attributePattern = regexp.MustCompile(`([a-zA-Z0-9-]+)(?:="([^"]*)")?`)
)

func void(name string) bool {
	return slices.Contains([]string{"meta", "link", "input", "br", "hr", "img", "source"}, name)
}

// parsePage parses a page, and fails unless elements are closed in order and every "<" begins a
// tag.
func parsePage(t *testing.T, page string) []*element {
	t.Helper()
	body, found := strings.CutPrefix(page, "<!doctype html>\n")
	if !found {
		t.Error("no doctype")
	}
	var all, open []*element
	at := 0
	for _, m := range tagPattern.FindAllStringSubmatchIndex(body, -1) {
		between := body[at:m[0]]
		if strings.ContainsAny(between, "<>") {
			t.Errorf("a bracket that is not a tag: %q", between)
		}
		for _, e := range open {
			e.text += html.UnescapeString(between)
		}
		at = m[1]
		name := body[m[4]:m[5]]
		if m[2] < m[3] {
			if len(open) == 0 || open[len(open)-1].name != name {
				t.Fatalf("</%s> closes nothing", name)
			}
			open = open[:len(open)-1]
			continue
		}
		e := &element{name: name, attributes: map[string]string{}}
		for _, a := range attributePattern.FindAllStringSubmatch(body[m[6]:m[7]], -1) {
			if _, twice := e.attributes[a[1]]; twice {
				t.Errorf("<%s> has %s twice", name, a[1])
			}
			e.attributes[a[1]] = html.UnescapeString(a[2])
		}
		all = append(all, e)
		if !void(name) && m[8] == m[9] {
			open = append(open, e)
		}
	}
	if len(open) > 0 || strings.TrimSpace(body[at:]) != "" {
		t.Errorf("%d elements stay open, rest %q", len(open), body[at:])
	}
	return all
}

func named(all []*element, name string) []*element {
	var found []*element
	for _, e := range all {
		if e.name == name {
			found = append(found, e)
		}
	}
	return found
}

// checkPage fails unless a page meets the rules of all pages: landmarks, names, references, no
// inline code.
func checkPage(t *testing.T, page string) {
	t.Helper()
	all := parsePage(t, page)
	checkLandmarks(t, all)
	checkNames(t, all)
	checkReferences(t, all)
	checkNothingInline(t, all)
}

func checkLandmarks(t *testing.T, all []*element) {
	t.Helper()
	if root := named(all, "html"); len(root) != 1 || root[0].attributes["lang"] != "en" {
		t.Error("no language")
	}
	for _, name := range []string{"title", "h1", "main", "header", "footer", "nav"} {
		if found := named(all, name); len(found) != 1 || strings.TrimSpace(found[0].text) == "" {
			t.Errorf("%d of %s", len(found), name)
		}
	}
	if skip := named(all, "a")[0]; skip.attributes["href"] != "#main" {
		t.Error("no skip link")
	}
	level := 0
	for _, e := range all {
		if len(e.name) != 2 || e.name[0] != 'h' || e.name[1] < '1' || e.name[1] > '6' {
			continue
		}
		if next := int(e.name[1] - '0'); next > level+1 {
			t.Errorf("h%d after h%d: %s", next, level, e.text)
		}
		level = int(e.name[1] - '0')
	}
}

// checkNames fails unless each field, button, link and region has a name.
func checkNames(t *testing.T, all []*element) {
	t.Helper()
	labelled := map[string]bool{}
	for _, l := range named(all, "label") {
		labelled[l.attributes["for"]] = strings.TrimSpace(l.text) != ""
	}
	for _, e := range all {
		switch e.name {
		case "input":
			if !labelled[e.attributes["id"]] {
				t.Errorf("input %s has no label", e.attributes["id"])
			}
		case "a", "button", "h1", "h2", "h3", "h4", "th":
			if strings.TrimSpace(e.text) == "" {
				t.Errorf("an empty %s", e.name)
			}
		case "section", "article", "nav":
			if e.attributes["aria-label"] == "" && e.attributes["aria-labelledby"] == "" {
				t.Errorf("a %s without a name", e.name)
			}
		}
		if e.attributes["role"] == "region" && e.attributes["aria-label"] == "" && e.attributes["aria-labelledby"] == "" {
			t.Errorf("a region without a name")
		}
	}
}

// checkReferences checks that no two elements have the same id, and that each attribute that refers
// to an id, such as for, refers to an element of the page.
func checkReferences(t *testing.T, all []*element) {
	t.Helper()
	ids := map[string]int{}
	for _, e := range all {
		if id := e.attributes["id"]; id != "" {
			ids[id]++
		}
	}
	for id, n := range ids {
		if n > 1 {
			t.Errorf("%d elements are called %s", n, id)
		}
	}
	for _, e := range all {
		wanted := strings.Fields(e.attributes["aria-labelledby"] + " " + e.attributes["for"] + " " + e.attributes["data-try-answer"])
		if id, ok := strings.CutPrefix(e.attributes["href"], "#"); ok {
			wanted = append(wanted, id)
		}
		for _, id := range wanted {
			if ids[id] == 0 {
				t.Errorf("%s refers to %s, which does not exist", e.name, id)
			}
		}
	}
}

// checkNothingInline fails on inline code, which the content security policy forbids.
func checkNothingInline(t *testing.T, all []*element) {
	t.Helper()
	for _, e := range all {
		for name, value := range e.attributes {
			if name == "style" || strings.HasPrefix(name, "on") || strings.HasPrefix(value, "javascript:") {
				t.Errorf("<%s %s=%q>", e.name, name, value)
			}
		}
		if e.name == "style" || e.name == "iframe" || e.name == "base" {
			t.Errorf("a %s", e.name)
		}
		if e.name == "img" && (!strings.HasPrefix(e.attributes["src"], "/assets/demo-light.png?v=") || e.attributes["alt"] == "") {
			t.Errorf("an image from another site, or without alt text: %v", e.attributes)
		}
		if e.name == "script" && (!ownScript.MatchString(e.attributes["src"]) || e.text != "") {
			t.Errorf("an inline script: %v %q", e.attributes, e.text)
		}
	}
}
