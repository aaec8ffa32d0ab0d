package sandbox

import "time"

// Dataset is the whole demo account on one day. Every id in it belongs to an object of the
// same Dataset.
type Dataset struct {
	Day     time.Time // midnight UTC of the day it was built for
	Members []Member  // the demo account first, then the other public members

	// Document is the demo account's network.
	Document
	// Domains are the web domains of organizations by name, which are not part of the document's format.
	Domains map[string]string

	// Records that were added on purpose for tests and visitors to find.
	Duplicates     []DuplicatePair
	InjectedNoteID string // the one note whose text tries to instruct the model
}

// Member is a person with an account and a public profile page. All members but the first have no
// network: they are for the public directory only.
type Member struct {
	ID        string // mem_…
	Username  string
	Email     string
	Timezone  string // IANA name
	Plan      string // "free" or "pro"
	Profile   Profile
	UpdatedAt time.Time
}

// Profile is a member's profile page. No member has a picture.
type Profile struct {
	Name         string
	Headline     string
	Bio          string
	LocationText string
	Country      string // ISO 3166-1 alpha-2
	Organization string
	Title        string
	Skills       []string
	Languages    []string // in English: "Portuguese"
	Links        []Link
	OpenTo       []string
	PublicFields []string // what anyone may read
	Listed       bool     // shown in the member directory
}

// Link is one link of a profile; the URL is https.
type Link struct{ Label, URL string }

// DuplicatePair is a pair of connections, added on purpose, that look like one person.
type DuplicatePair struct {
	FirstID    string
	SecondID   string
	Reason     string // what the two have in common
	SamePerson bool   // false for the pair of namesakes
}
