package route

// Finder finds rows by path, for requests that come inside another one. It is
// immutable.
type Finder struct {
	rows    []Route
	matcher *matcher
}

// NewFinder returns a Finder of the rows. It fails as New does for a bad pattern.
func NewFinder(rows []Route) (*Finder, error) {
	m, err := newMatcher(rows)
	return &Finder{rows: rows, matcher: m}, err
}

// Find returns the row of a path and the value of its parameter. The path is
// taken byte for byte, under the grammar of the router: one that would need
// decoding or cleaning, or that has a query, is found nowhere.
func (f *Finder) Find(path string) (row Route, argument string, ok bool) {
	if judgePath(path) != plain {
		return Route{}, "", false
	}
	i, argument, ok := f.matcher.match(path)
	if !ok {
		return Route{}, "", false
	}
	return f.rows[i], argument, true
}
