package index

import (
	"iter"
	"slices"
	"strings"

	"github.com/kith-crm/kith/backend/internal/people/names"
	"github.com/kith-crm/kith/backend/internal/text"
)

const (
	// minSound is the length of the shortest form of a name, an apostrophe included, that is compared across scripts.
	minSound = 2
	// minConsonants is that of consonants alone.
	minConsonants = 3
)

// otherScripts enters the people whose name in another script sounds like the token. It costs nothing in a network of
// Latin names, unless the query is in another script.
func (m *matcher) otherScripts() {
	foreign := names.OtherScript(m.token.folded)
	if !foreign && len(m.sounds.terms) == 0 {
		return
	}
	for _, word := range append([]string{m.token.folded}, m.token.joined...) {
		for _, form := range names.Sounds(word) {
			if len(form) < minSound || form[0] == '\'' && len(form) < minConsonants {
				continue
			}
			m.enterSounds(m.sounds.soundsLike(form, m.edits))
			if foreign {
				m.enterSounds(m.words.latinLike(form, m.edits))
			}
		}
	}
}

// enterSounds enters the people who have one of the terms in a name.
func (m *matcher) enterSounds(terms iter.Seq2[*term, closeness]) {
	for t, c := range terms {
		for _, l := range t.lists {
			switch l.kind {
			case kind(fieldName):
				m.table.putName(qualityOf(c, fieldName), l.docs)
			case kind(fieldNickname):
				m.table.putName(qualityOf(nickEdit, fieldNickname), l.docs)
			}
		}
	}
}

// soundsLike iterates over the terms of a vocabulary of sounds that are equal to a form, begin with it or, if edits is set, are
// misspelt. Consonants alone must be equal.
func (v *vocabulary) soundsLike(form string, edits bool) iter.Seq2[*term, closeness] {
	return func(yield func(*term, closeness) bool) {
		for t := range v.beginning(form) {
			if c, ok := soundsAs(form, t.folded, false); ok && !yield(t, c) {
				return
			}
		}
		limit := editsFor(form, len(form))
		if !edits || limit == 0 || form[0] == '\'' {
			return
		}
		for t := range v.misspelt(form, limit) {
			if t.folded[0] != '\'' && !yield(t, nearSound) {
				return
			}
		}
	}
}

// latinLike iterates over the Latin words of names that sound like a form. It reads the words that begin with the same sound.
func (v *vocabulary) latinLike(form string, edits bool) iter.Seq2[*term, closeness] {
	return func(yield func(*term, closeness) bool) {
		for _, initial := range names.Initials(form) {
			for t := range v.beginning(string(initial)) {
				if !t.isName() {
					continue
				}
				for _, sound := range names.Sounds(t.folded) {
					if c, ok := soundsAs(form, sound, edits); ok && !yield(t, c) {
						return
					}
				}
			}
		}
	}
}

// isName reports whether the term is a word of a name or nickname.
func (t *term) isName() bool {
	return slices.ContainsFunc(t.lists, func(l list) bool { return l.kind == kind(fieldName) || l.kind == kind(fieldNickname) })
}

// soundsAs compares the form of a word of the query with that of a name.
func soundsAs(form, name string, edits bool) (closeness, bool) {
	switch {
	case form == name:
		return respelt, true
	case form[0] == '\'', name == "", name[0] == '\'':
		return 0, false
	case len(form) >= minWordyPrefix && strings.HasPrefix(name, form):
		return nearSound, true
	case !edits:
		return 0, false
	}
	limit := editsFor(form, len(form))
	return nearSound, limit > 0 && text.Distance([]rune(form), name, limit) <= limit
}
