package route

import (
	"fmt"
	"strings"
)

// matcher finds the row of a path. It is immutable.
type matcher struct {
	exact    map[string]int
	patterns []pattern
}

// pattern is a path with a parameter in it.
type pattern struct {
	prefix, suffix string // the suffix belongs to the parameter's segment or follows it
	row            int
}

// newMatcher compiles the rows' patterns. It refuses a pattern that is no plain
// path, that has more than one parameter, or that another row has already.
func newMatcher(rows []Route) (*matcher, error) {
	m := &matcher{exact: make(map[string]int, len(rows))}
	for i, r := range rows {
		if err := m.add(r.Pattern, i); err != nil {
			return nil, fmt.Errorf("compile route %q: %w", r.Name, err)
		}
	}
	return m, nil
}

func (m *matcher) add(text string, row int) error {
	prefix, rest, parametric := strings.Cut(text, "{")
	name, suffix, closed := strings.Cut(rest, "}")
	if parametric && (!closed || name == "" || strings.ContainsAny(suffix, "{}")) {
		return fmt.Errorf("pattern %q: must have at most one {parameter}", text)
	}
	sample := prefix + name + suffix
	if judgePath(sample) != plain {
		return fmt.Errorf("pattern %q: is no plain path", text)
	}
	if !parametric {
		if _, taken := m.exact[text]; taken {
			return fmt.Errorf("pattern %q: is there twice", text)
		}
		m.exact[text] = row
		return nil
	}
	for _, p := range m.patterns {
		if p.prefix == prefix && p.suffix == suffix {
			return fmt.Errorf("pattern %q: is there twice", text)
		}
	}
	m.patterns = append(m.patterns, pattern{prefix: prefix, suffix: suffix, row: row})
	return nil
}

// match returns the row of a plain path and the value of its parameter, "" if it
// has none.
func (m *matcher) match(path string) (row int, argument string, ok bool) {
	if row, ok := m.exact[path]; ok {
		return row, "", true
	}
	for _, p := range m.patterns {
		if argument, ok := p.match(path); ok {
			return p.row, argument, true
		}
	}
	return 0, "", false
}

func (p pattern) match(path string) (string, bool) {
	if len(path) <= len(p.prefix)+len(p.suffix) ||
		!strings.HasPrefix(path, p.prefix) || !strings.HasSuffix(path, p.suffix) {
		return "", false
	}
	argument := path[len(p.prefix) : len(path)-len(p.suffix)]
	for i := range len(argument) {
		if !parameterByte(argument[i]) {
			return "", false
		}
	}
	return argument, true
}
