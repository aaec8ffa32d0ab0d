package page

import (
	"maps"
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
	// Icon is the path of its SVG icon, of 24 by 24 units; phones show it.
	Icon string
	// Phone is set for what only phones show, because wider pages show it elsewhere.
	Phone bool
}

// icons of the areas, in the bar of phones.
const (
	iconToday    = "M7 2h2v2h6V2h2v2h3v16H4V4h3zM6 9v9h12V9z"
	iconPeople   = "M9 11a4 4 0 1 0 0-8 4 4 0 0 0 0 8m-7 9c0-4 3-7 7-7s7 3 7 7zm13-9a4 4 0 0 0 0-8v8m3 9h4c0-4-2-6-5-7 1 2 1 4 1 7"
	iconNetwork  = "M12 3 3 8l9 5 9-5zM3 14l9 5 9-5v3l-9 5-9-5z"
	iconActivity = "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18m1 4v5l4 3-1 2-5-4V7z"
)

// areas returns the areas of the site, in the order of their navigation.
func areas() []Section {
	return []Section{{PathStart, "Today"}, {PathPeople, "People"}, {PathNetwork, "Network"}, {PathActivity, "Activity"}}
}

// Sections returns the sections of the settings, in the order of their navigation.
func Sections() []Section {
	return []Section{{PathAccount, "Account"}, {PathAgents, "Agents"}, {PathDevices, "Devices"}, {PathSources, "Sources"}, {PathImports, "Data"}, {PathNotifications, "Notifications"}, {PathSecurity, "Security"}}
}

// subpages are the pages that a section of the settings leads to, with the path of that section.
func subpages() map[Section]string {
	return map[Section]string{
		{PathProfile, "Profile"}: PathAccount, {PathTime, "Time zone"}: PathAccount, {PathTokens, "Tokens"}: PathAgents, {PathSearch, "Similarity search"}: PathImports,
	}
}

// sortedSubpages returns the subpages in the order of their titles.
func sortedSubpages() []Section {
	return slices.SortedFunc(maps.Keys(subpages()), func(a, b Section) int { return strings.Compare(a.Title, b.Title) })
}

// PlaceOf returns the section of the settings or the area of the site that a path belongs
// to.
func PlaceOf(path string) (Section, bool) {
	others := []Section{{PathMCP, "Agents"}, {PathImport, "Import contacts"}, {PathConnect, "Connect an agent"}, {PathDecide, "Decide"}, {PathGroups, "Groups"}, {PathSettings, "Settings"}}
	for _, s := range slices.Concat(Sections(), sortedSubpages(), others, areas()) {
		if below(path, s.Path) {
			return s, true
		}
	}
	return Section{}, false
}

// areaOf returns the path of the area of the site that a path belongs to; empty if there is
// none. The forms of PathStart are below PathToday; PathDecide belongs to the activity, and
// groups and imports to the people.
func areaOf(path string) string {
	switch {
	case below(path, PathToday):
		return PathStart
	case below(path, PathDecide):
		return PathActivity
	case below(path, PathImport), below(path, PathGroups):
		return PathPeople
	case below(path, PathSettings):
		return PathSettings
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
		for sub, section := range subpages() {
			if sub.Path == f.Section {
				f.Sections = placesOf(Sections(), section, "true")
			}
		}
	}
	if f.Area == PathSettings {
		f.Width = "wide reading"
	}
	f.Areas = placesOf(areas(), f.Area, current)
	for i, icon := range []string{iconToday, iconPeople, iconNetwork, iconActivity} {
		f.Areas[i].Icon, f.Areas[i].Path = icon, v.To(f.Areas[i].Path)
	}
	f.More = []Place{{Section: f.Areas[2].Section, Phone: true}, {Section: Section{v.To(PathGroups), "Groups"}}}
	if f.Demo {
		f.More = append(f.More, Place{Section: Section{PathSignIn, "Sign in"}})
		return
	}
	settings := Place{Section: Section{PathSettings, "Settings"}}
	if f.Area == PathSettings {
		settings.Current = current
	}
	f.More = append(f.More, settings)
	f.Pages = slices.Concat([]Section{{PathGroups, "Groups"}, {PathImports, "Imports"}, {PathImport, "Import contacts"}}, Sections(), sortedSubpages())
	me := AvatarOf(f.Member, f.Member)
	f.Me = &me
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
