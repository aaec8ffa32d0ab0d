package page

import (
	"hash/fnv"
	"html"
	"html/template"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/photos"
)

// Avatar is a person's picture: their photo, or initials in a colour that stays the same. The
// template function "avatar" and the template "avatar-large" show it.
type Avatar struct {
	Initials string
	// Tone is the number of the colour, of tones.
	Tone uint32
	// Photo is the address of the photo, to which the size is added; empty for none.
	Photo string
}

// tones is the number of colours that the stylesheet has.
const tones = 8

// AvatarOf returns the avatar of a person without a photo.
func AvatarOf(id, name string) Avatar {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id)) // never fails
	words := strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r) })
	a := Avatar{Tone: h.Sum32() % tones}
	if len(words) > 0 {
		a.Initials = initial(words[0])
	}
	if len(words) > 1 {
		a.Initials += initial(words[len(words)-1])
	}
	return a
}

func initial(word string) string {
	first, _ := utf8.DecodeRuneInString(word)
	return string(unicode.ToUpper(first))
}

// At returns the address of the photo in a size of package photos.
func (a Avatar) At(size int) string { return a.Photo + "&size=" + strconv.Itoa(size) }

// element returns the HTML element of an avatar in a list.
func (a Avatar) element() template.HTML {
	if a.Photo != "" {
		return template.HTML(`<img class="avatar" src="` + html.EscapeString(a.At(48)) + `" srcset="` + html.EscapeString(a.At(144)) + ` 2x" width="44" height="44" alt="" loading="lazy">`) //nolint:gosec // it is escaped
	}
	return template.HTML(`<span class="avatar tone-` + strconv.Itoa(int(a.Tone)) + `" aria-hidden="true">` + html.EscapeString(a.Initials) + "</span>") //nolint:gosec // it is escaped
}

// Avatars are the avatars of people: the addresses of the photos, by the ids of those who have one.
type Avatars map[string]string

// Of returns the avatar of a person.
func (a Avatars) Of(id, name string) Avatar {
	avatar := AvatarOf(id, name)
	avatar.Photo = a[id]
	return avatar
}

// Avatars returns the avatars of people, with one statement.
func (m *Member) Avatars(ids []string) (Avatars, error) {
	versions, err := photos.Versions(m.Ctx, m.Data(), ids)
	avatars := Avatars{}
	for id, version := range versions {
		avatars[id] = m.To(PathPeople+"/"+url.PathEscape(id)+"/photo") + "?v=" + version
	}
	return avatars, err
}
