package index

import (
	"time"
)

// The orders of [Query.Sort]. An unknown one means relevance.
const (
	SortRelevance   = "relevance"    // see the package comment
	SortName        = "name"         // folded name
	SortLastContact = "last_contact" // the most recent first
	SortCreated     = "created"      // the most recently created first
	SortStrength    = "strength"     // the strongest tie first
	SortNextDue     = "next_due"     // the next day of a keep-in-touch interval, the soonest first
)

// Query says what to look for. Every filter that is set must hold.
type Query struct {
	// Text is read up to 256 characters and 16 words. All words must be found, except
	// "at", "in", "of" and the like when there are others. Empty text finds every
	// document that passes the filters, with score 0.
	Text string
	// Company, Title and Location must be contained in the value, ignoring case and
	// accents. Company matches past organisations too.
	Company, Title, Location string
	// Country is a name or an ISO 3166 code; see package country.
	Country string
	// Tags, all of them, and Group must equal one of the names, ignoring case.
	Tags  []string
	Group string
	// Has lists what a person must have, Missing what they must not have: email, phone, url, note,
	// interaction, birthday, location, organization, tag, group, cadence, met_how. With an unknown
	// word no document passes.
	Has, Missing []string
	// MetHow is words that must be, or begin a word, in how they met.
	MetHow string
	// MetOnAfter and MetOnBefore are partial dates between which they met. A partial date of a
	// document passes if one of its days does.
	MetOnAfter, MetOnBefore string
	// LastContactAfter is inclusive, LastContactBefore is not. A person without a contact passes
	// only the latter. Zero is off.
	LastContactAfter, LastContactBefore time.Time
	// NeverContacted, Starred and CadenceOverdue must have this value; nil is off.
	NeverContacted, Starred, CadenceOverdue *bool
	// BirthdayFrom and BirthdayTo are days of the year, month * 100 + day, both
	// inclusive; they span New Year when the first is the later one. 0 is off.
	BirthdayFrom, BirthdayTo int
	// CreatedAfter is inclusive; zero is off.
	CreatedAfter time.Time
	// Archived finds archived people instead of all others.
	Archived bool
	// Sort is one of the Sort constants; Reverse reverses it. Documents without a value
	// for the order come last in both directions.
	Sort    string
	Reverse bool
	// MinScore is the lowest score of a hit; if it is set, misspelt matches are included. If not,
	// they are left out when a match as spelt is strong, or when the order is not by relevance and
	// any match is as spelt.
	MinScore *float64
	// Now and the name of the member's time Zone say what today is.
	Now  time.Time `json:"-"`
	Zone string    `json:"-"`
	// Offset skips hits; below 0 it is 0. Limit is how many to return; below 1 it is 10.
	// Concatenated pages are the full list.
	Offset, Limit int
}

// Hit is one found document.
type Hit struct {
	ID  string
	Doc *Document // shared with the index: read only
	// Score is 0 to 1 in thousandths. It never increases from one hit to the next in the relevance
	// order.
	Score float64
	// Matched names the field in which each word of the query was found best,
	// without repetition: name, nickname, email, phone, url, domain,
	// organization, title, headline, location, tag, group, bio, met_how, note,
	// interaction.
	Matched []string
	// Snippet is the text around a match in the bio, in how they met, in a note or
	// in an interaction, at most 160 characters on one line; "" when the match was
	// elsewhere.
	Snippet string
}

// Result is one page of hits.
type Result struct {
	Hits []Hit
	// Total is the number of matches. There are more pages exactly when it
	// exceeds Offset plus Limit.
	Total int
	// ByIdentifier means that the query is an e-mail address, a phone number or a URL
	// of a document.
	ByIdentifier bool
	// Sum is a checksum over the ids of all that Total counts, in any order.
	Sum uint64
}

const (
	maxQueryRunes  = 256
	maxQueryTokens = 16
	defaultLimit   = 10
	maxWindow      = 1 << 30 // bound on offset and limit, so that sums fit
)
