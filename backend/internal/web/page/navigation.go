package page

import (
	"slices"
	"strings"
)

// Section is a page of the settings, or an area of the site.
type Section struct{ Path, Title string }

// Place is a link of a navigation.
type Place struct {
	Section

	// Current is the value of aria-current: "page" for the page itself, "true" for the area
	// that it is in, empty for other places.
	Current string
}

// areas returns the areas of the site, in the order of their navigation.
func areas() []Section {
	return []Section{
		{PathStart, "Today"}, {PathPeople, "People"}, {PathNetwork, "Network"}, {PathGroups, "Groups"}, {PathActivity, "Activity"},
		{PathSettings, "Settings"},
	}
}

// Sections returns the pages of the settings, in the order of their navigation.
func Sections() []Section {
	return []Section{
		{PathProfile, "Profile"}, {PathAgents, "Agents"}, {PathImports, "Imports"}, {PathSearch, "Search"},
		{PathTime, "Time zone"}, {PathSecurity, "Security"}, {PathAccount, "Account"},
	}
}

// PlaceOf returns the section of the settings or the area of the site that a path belongs
// to.
func PlaceOf(path string) (Section, bool) {
	for _, s := range slices.Concat(Sections(), []Section{{PathMCP, "Agents"}, {PathImport, "Import contacts"}, {PathConnect, "Connect an agent"}, {PathDecide, "Decide"}}, areas()) {
		if below(path, s.Path) {
			return s, true
		}
	}
	return Section{}, false
}

// areaOf returns the path of the area of the site that a path belongs to; empty if there is
// none. The forms of PathStart are below PathToday; PathDecide belongs to the activity.
func areaOf(path string) string {
	switch {
	case below(path, PathToday):
		return PathStart
	case below(path, PathDecide):
		return PathActivity
	case below(path, PathImport):
		return PathPeople
	}
	for _, a := range areas() {
		if below(path, a.Path) {
			return a.Path
		}
	}
	return ""
}

// below reports whether a path equals another one, or is below it. Only the start page is below
// PathStart.
func below(path, of string) bool {
	return path == of || of != PathStart && strings.HasPrefix(path, of+"/")
}

// addNavigation adds the areas of the site and the sections of the settings to a page that
// belongs to one of them, and the width of the page.
func (v *Request) addNavigation(f *frame) {
	if f.Area == "" && f.Section != "" {
		f.Area = PathSettings
	}
	f.Home, f.Width = PathStart, "narrow"
	if f.Area == "" {
		return
	}
	f.Home, f.Width = v.To(PathStart), "wide"
	current := "page"
	if f.Section != "" {
		current = "true"
		f.Sections = placesOf(Sections(), f.Section, "page")
	}
	if f.Area == PathSettings {
		f.Width = "wide reading"
	}
	shown := areas()
	if f.Demo {
		shown = shown[:len(shown)-1] // no settings
	} else {
		f.Settings = Sections()
	}
	f.Areas = placesOf(shown, f.Area, current)
	for i := range f.Areas {
		f.Areas[i].Path = v.To(f.Areas[i].Path)
	}
}

func placesOf(sections []Section, current, value string) []Place {
	places := make([]Place, len(sections))
	for i, s := range sections {
		places[i].Section = s
		if s.Path == current {
			places[i].Current = value
		}
	}
	return places
}
