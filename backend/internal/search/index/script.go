package index

import (
	"iter"
	"slices"

	"github.com/kith-crm/kith/backend/internal/people/names"
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
				m.enterSounds(m.latin().soundsLike(form, m.edits))
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
		consonants := form[0] == '\''
		for t := range v.beginning(form) {
			switch {
			case t.folded == form:
				if !yield(t, respelt) {
					return
				}
			case !consonants && len(form) >= minWordyPrefix:
				if !yield(t, nearSound) {
					return
				}
			}
		}
		limit := editsFor(form, len(form))
		if !edits || limit == 0 || consonants {
			return
		}
		for t := range v.misspelt(form, limit) {
			if t.folded[0] != '\'' && !yield(t, nearSound) {
				return
			}
		}
	}
}

// latinSounds returns the sounds of the Latin words of names. They are computed when a query in another script first needs them.
func (v *vocabulary) latinSounds() *vocabulary {
	var terms []term
	for i := range v.terms {
		t := &v.terms[i]
		if !t.isName() || names.OtherScript(t.folded) {
			continue
		}
		for _, form := range names.Sounds(t.folded) {
			if len(form) >= minSound {
				terms = append(terms, term{folded: form, typed: t.typed, lists: t.lists})
			}
		}
	}
	return new(newVocabulary(terms))
}

// isName reports whether the term is a word of a name or nickname.
func (t *term) isName() bool {
	return slices.ContainsFunc(t.lists, func(l list) bool { return l.kind == kind(fieldName) || l.kind == kind(fieldNickname) })
}
