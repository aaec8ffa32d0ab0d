package page

import (
	"embed"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"strings"
	"sync"
	"time"

	"golang.org/x/text/language"
)

// languageFiles hold the catalogues: for each language one file, from the English text to its translation. Texts of
// templates stand in it as translateTemplate describes, and texts of code as their argument of Format.Text.
//
//go:embed languages
var languageFiles embed.FS

// words are the texts of the pages in one language; nil means English.
type words struct {
	tag   language.Tag
	texts map[string]string
	// calendar replaces the English names of months and days of the week, and english the translated ones.
	calendar, english *strings.Replacer
}

// catalogues returns the languages other than English. New fails on its error, so later calls have none.
var catalogues = sync.OnceValues(func() ([]*words, error) {
	files, err := languageFiles.ReadDir("languages")
	if err != nil {
		return nil, fmt.Errorf("web: list languages: %w", err)
	}
	var out []*words
	for _, file := range files {
		w := &words{tag: language.Make(strings.TrimSuffix(file.Name(), ".json"))}
		source, err := languageFiles.ReadFile(path.Join("languages", file.Name()))
		if err == nil {
			err = json.Unmarshal(source, &w.texts)
		}
		if err != nil {
			return nil, fmt.Errorf("web: read language %s: %w", file.Name(), err)
		}
		var names, back []string
		for month := time.January; month <= time.December; month++ {
			names = append(names, month.String(), w.text(month.String()))
		}
		for day := time.Sunday; day <= time.Saturday; day++ {
			names = append(names, day.String(), w.text(day.String()))
		}
		for i := 0; i < len(names); i += 2 {
			back = append(back, names[i+1], names[i])
		}
		w.calendar, w.english = strings.NewReplacer(names...), strings.NewReplacer(back...)
		out = append(out, w)
	}
	return out, nil
})

// wordsOf returns the words for a locale, a BCP 47 tag.
func wordsOf(locale string) *words {
	name, _, _ := strings.Cut(locale, "-")
	languages, _ := catalogues()
	for _, w := range languages {
		if w.tag.String() == name {
			return w
		}
	}
	return nil
}

// preferred returns the locale of the pages that a browser asks for by its Accept-Language header: the first of its
// tags whose language has a catalogue, before any English one. It is empty for English.
func preferred(header string) string {
	tags, _, err := language.ParseAcceptLanguage(header)
	if err != nil {
		return ""
	}
	for _, tag := range tags {
		base, _ := tag.Base()
		if base.String() == "en" {
			return ""
		}
		if wordsOf(base.String()) != nil {
			return tag.String()
		}
	}
	return ""
}

// variable matches what differs between texts of one shape: numbers, and what stands in quotation marks.
var variable = regexp.MustCompile(`\d+(?:,\d{3})*|“[^”]*”|"[^"]*"`)

// text returns a text in the language. A text that the catalogue lacks is looked up once more with %v in place of each
// number and of each quotation, and then without the label of a field before it; what is still not found stays English.
func (w *words) text(english string) string {
	if w == nil || english == "" {
		return english
	}
	if text, ok := w.texts[english]; ok {
		return text
	}
	values := variable.FindAllString(english, -1)
	if text, ok := w.texts[variable.ReplaceAllString(english, "%v")]; ok {
		for _, value := range values {
			text = strings.Replace(text, "%v", value, 1)
		}
		return text
	}
	// What is wrong with a field: "Birthday: couldn’t read “2.4.” as a date."
	if label, rest, ok := strings.Cut(english, ": "); ok && w.texts[label] != "" {
		return w.texts[label] + ": " + w.text(rest)
	}
	return english
}

// Text returns a text of the pages in the language of the format: the translation of an English text, which may be a
// format of package fmt for the values. A catalogue may put the values in another order: %[2]s.
func (f Format) Text(english string, values ...any) string {
	text := f.words.text(english)
	if len(values) == 0 {
		return text
	}
	return fmt.Sprintf(text, values...)
}

// Language returns the language in which pages are written, as a BCP 47 tag: "en" where there is no translation.
func (f Format) Language() string {
	if f.words == nil {
		return "en"
	}
	return f.words.tag.String()
}

// date formats a time as time.Time does, with months and days of the week in the language.
func (f Format) date(t time.Time, layout string) string {
	text := t.Format(layout)
	if f.words == nil {
		return text
	}
	return f.words.calendar.Replace(text)
}
