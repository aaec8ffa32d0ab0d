package index

import (
	"time"
)

// The orders of [Query.Sort]. An unknown one means relevance.
const (
	SortRelevance   = "relevance"    // see the package comment
	SortName        = "name"         // folded name, then id
	SortLastContact = "last_contact" // the most recent first, never contacted last
	SortRecent      = "recent"       // the most recently created first
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
	// Tag and Group must equal one of the names, ignoring case.
	Tag, Group string
	// LastContactAfter is inclusive, LastContactBefore is not. A connection
	// never contacted passes neither. Zero is off.
	LastContactAfter, LastContactBefore time.Time
	// Has lists what must be there: email, phone, url, note, interaction. No
	// document has an unknown word.
	Has []string
	// Sort is one of the Sort constants. Orders other than relevance leave out
	// misspelt matches unless there are no others.
	Sort string
	// Offset skips hits; below 0 it is 0. Limit is how many to return; below 1
	// it is 10. Pages laid end to end are the full list.
	Offset, Limit int
}

// Hit is one found document.
type Hit struct {
	ID  string
	Doc *Document // shared with the index: read only
	// Score is 0 to 1 in thousandths and never rises down the relevance order.
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
	// TotalCapped means that weaker matches, not counted here, may follow.
	TotalCapped bool
}

const (
	maxQueryRunes  = 256
	maxQueryTokens = 16
	defaultLimit   = 10
	maxWindow      = 1 << 30 // bound on offset and limit, so that sums fit
)
