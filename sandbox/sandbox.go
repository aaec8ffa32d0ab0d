package sandbox

import "time"

// Username is the username of the demo account, the first of [Dataset.Members].
const Username = "demo"

// Token is the demo account's personal token. It is public on purpose: it can only read the demo
// account, and the store refuses every write made with it. Visitors never send it; the edge
// attaches it to calls under /sandbox and /mcp/sandbox.
const Token = "kith_pat_sandbox_public_read_only_demo_account"

// seed seeds every random number generator. Changing it changes each person, id and text of the account.
const seed = 0x4b697468_53616e64

// Build returns the demo account as it looks on the UTC day that contains day.
//
// Only the dates in the result depend on that day: people, ids and texts are the same on every day.
// Only reminders, snoozes and birthdays are in the future. Each call returns a new Dataset that the
// caller may change. Safe for concurrent use.
func Build(day time.Time) *Dataset {
	b := newBuilder(day)
	b.sectors = sectors()
	b.addMembers()
	b.addOrganizations()
	b.planConnections()
	b.planCadences()
	b.addGroups()
	b.planHistories()
	b.planIntroductions()
	b.addConnections()
	b.addPositions()
	b.addHandles()
	b.addTags()
	b.addInteractions()
	b.addNotes()
	b.addReminders()
	b.addImportantDates()
	b.addRelationships()
	b.addDuplicates()
	return b.data
}

// Members returns the members of [Build] alone.
func Members(day time.Time) []Member {
	b := newBuilder(day)
	b.addMembers()
	return b.data.Members
}

// builder holds the account while its parts are added. Each step of Build uses the results of
// earlier steps, so their order matters.
type builder struct {
	cal           calendar
	data          *Dataset
	sectors       map[string]sector
	organizations []organizationSeed
	plans         []plan          // same order as data.Connections
	duplicates    []duplicatePair // the planted duplicates, as ordinals of plans
	introductions []introduction
}

func newBuilder(day time.Time) *builder {
	cal := newCalendar(day)
	return &builder{cal: cal, data: &Dataset{Day: cal.day, Document: Document{Format: Format}}}
}
