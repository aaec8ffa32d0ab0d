package vector

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/kith-crm/kith/backend/internal/text"
)

// Bounds of a person's text: what is sent is about 500 tokens at most.
const (
	// MaxNotes is how many of the latest notes count, MaxNote how much of each, in
	// characters.
	MaxNotes = 5
	MaxNote  = 400
	maxText  = 2000
)

// Person is the data that a vector is made from.
type Person struct {
	Name, Nickname, Location, Bio string
	// Positions are titles and organisations, the current ones first.
	Positions []Position
	Tags      []string
	// Notes are the latest first, MaxNotes at most, each cut to MaxNote.
	Notes []string
}

// Position is a job.
type Position struct {
	Title, Organization string
	Current             bool
}

// Text returns what a provider reads about a person, without addresses, phone numbers
// and dates.
func (p *Person) Text() string {
	var b strings.Builder
	line := func(s string) {
		if s = text.Line(s); s != "" {
			b.WriteString(s)
			b.WriteByte('\n')
		}
	}
	name := p.Name
	if p.Nickname != "" {
		name += " (" + p.Nickname + ")"
	}
	line(name)
	for _, at := range p.Positions {
		line(at.line())
	}
	line(p.Location)
	line(strings.Join(p.Tags, ", "))
	line(p.Bio)
	for _, note := range p.Notes {
		line(note)
	}
	return text.Truncate(strings.TrimSpace(b.String()), maxText)
}

func (p *Position) line() string {
	out := p.Title
	switch {
	case out == "":
		out = p.Organization
	case p.Organization != "":
		out += ", " + p.Organization
	}
	if out != "" && !p.Current {
		out = "Before: " + out
	}
	return out
}

// Hash returns the hash of a text, in hexadecimal. A vector is stale when the hash of its
// text has changed.
func Hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// Row is a person's vector as stored.
type Row struct {
	ConnectionID string
	Model        string
	Dimensions   int
	ContentHash  string
	Vector       Vector
}

// Candidate is a person who may need a vector.
type Candidate struct {
	ID string
	// Person is nil when nothing changed since the vector was made or checked.
	Person *Person
	// Hash is that of the text of the person's vector; empty when there is none of the
	// model.
	Hash string
	// Dimensions is the length of that vector.
	Dimensions int
}

// Candidates is a page of people, ordered by id.
type Candidates struct {
	// Version is the data version that they were read at.
	Version int64
	People  []Candidate
}

// Vectors are a member's vectors of one model, or those that changed.
type Vectors struct {
	// Version is the tenant's data version that they reflect.
	Version int64
	// Whole means that these are all vectors; otherwise they are those that changed.
	Whole bool
	// Dimensions is the length of each.
	Dimensions int
	// IDs are the people, and Values their vectors in the same order. Current says of
	// each whether it is up to date.
	IDs     []string
	Values  Columns
	Current []bool
	// Gone are people without a vector, or archived.
	Gone []string
}
