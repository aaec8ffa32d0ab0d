package static

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/kith-crm/kith/edge/internal/problem"
)

// Choice is a document in several representations. It is immutable.
type Choice struct {
	offers   []*Document
	problems *problem.Writer
}

// NewChoice returns the choice among documents of which the first is the one for
// callers without a preference. Each should have been made with a Vary on Accept.
func NewChoice(problems *problem.Writer, offers ...*Document) *Choice {
	return &Choice{offers: offers, problems: problems}
}

// Serve is a route.Handler. It answers with the representation that Accept
// prefers, and 406 only to a caller that excludes all of them explicitly.
func (c *Choice) Serve(w http.ResponseWriter, r *http.Request, argument string) {
	d := c.pick(r.Header["Accept"])
	if d == nil {
		w.Header().Set("Vary", "Accept")
		c.problems.Write(w, r, problem.NotAcceptable, "This address has "+c.types()+" only.")
		return
	}
	d.Serve(w, r, argument)
}

func (c *Choice) types() string {
	var types []string
	for _, d := range c.offers {
		types = append(types, d.mediaType())
	}
	return strings.Join(types, " and ")
}

// mediaType returns the document's type without parameters.
func (d *Document) mediaType() string {
	name, _, _ := strings.Cut(d.media, ";")
	return name
}

// unnamed is the weight of a type that Accept does not cover: below whatever it
// names, above what it excludes.
const unnamed = 0.0001

func (c *Choice) pick(accept []string) *Document {
	if len(accept) == 0 {
		return c.offers[0]
	}
	var chosen *Document
	best := 0.0
	for _, d := range c.offers {
		if weight := weightOf(accept, d.mediaType()); weight > best {
			chosen, best = d, weight
		}
	}
	return chosen
}

// weightOf returns the weight of the most specific range that covers the type
// (RFC 9110, section 12.5.1).
func weightOf(lines []string, mediaType string) float64 {
	weight, specificity := unnamed, -1
	for _, line := range lines {
		for element := range strings.SplitSeq(line, ",") {
			name, parameters, _ := strings.Cut(element, ";")
			s := covers(strings.ToLower(strings.TrimSpace(name)), mediaType)
			if s > specificity {
				weight, specificity = quality(parameters), s
			}
		}
	}
	return weight
}

// covers ranks a media range that covers the type; -1 if it does not.
func covers(mediaRange, mediaType string) int {
	mainType, _, _ := strings.Cut(mediaType, "/")
	switch mediaRange {
	case mediaType:
		return 2
	case mainType + "/*":
		return 1
	case "*/*":
		return 0
	default:
		return -1
	}
}

// quality returns the weight among the parameters of a range; 1 without one, and
// for one that is no number.
func quality(parameters string) float64 {
	for parameter := range strings.SplitSeq(parameters, ";") {
		name, value, _ := strings.Cut(parameter, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "q") {
			continue
		}
		if q, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil && q >= 0 && q <= 1 {
			return q
		}
	}
	return 1
}
