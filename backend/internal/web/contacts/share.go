package contacts

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"

	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/importer/source"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// maxShare limits what is shared, in bytes: a vCard with a photo.
const maxShare = 2 << 20

// cardStart begins a vCard.
const cardStart = "BEGIN:VCARD"

// sharedContent is what the page that adds a person says about a share.
type sharedContent struct {
	// Card is set if a vCard fills in the form: the page then asks for no line.
	Card bool
	// Check are sentences about what of the vCard is not in the form, or has no field of its own there.
	Check []string
}

// memberOrShareAgain admits signed-in browsers and sends others to sign in. Nothing of what they
// shared is read or kept; the sign-in page tells them to share it again.
func memberOrShareAgain(v *page.Request) (bool, error) {
	if v.Login == nil {
		return false, v.RedirectDone(v.SignIn(page.PathAdd), "share-again")
	}
	return page.MembersOnly(v)
}

// The refusals of a share that cannot be read.
var (
	shareTooLarge = page.Refuse(http.StatusRequestEntityTooLarge, "That is too large to share",
		"A shared contact may hold 2 MB. Share it without its photo, or import the file under Settings, Imports.")
	shareUnreadable = page.Refuse(http.StatusBadRequest, "The share cannot be read", "Share it again.")
)

// share shows the form that adds a person, filled in with what another app shared: a vCard, or a
// text as the line about them. Nothing is written, because a share has no form token.
func (v *request) share() error {
	words := v.sharedText()
	if v.R.MultipartForm != nil && len(v.R.MultipartForm.File[page.ShareFile]) > 1 {
		return page.Refuse(http.StatusBadRequest, "Share one contact at a time", "To add many people at once, import a file under Settings, Imports.")
	}
	name, card, err := v.File(page.ShareFile)
	if err != nil {
		return err
	}
	if card == nil && isCard(words) {
		card, words = []byte(words), ""
	}
	shared := &sharedContent{}
	var given url.Values
	var wrong page.Mistakes
	if card != nil {
		given, shared.Check, err = readCard(card, name)
		shared.Card = err == nil
		if err := wrong.Take(lineParameter, err); err != nil {
			return err
		}
	}
	content, err := v.filledIn(words, given)
	if err != nil {
		return err
	}
	if content.LineWrong = wrong.Of(lineParameter); content.LineWrong != "" {
		return v.renderCapture(http.StatusBadRequest, content, wrong.List)
	}
	content.Shared = shared
	return v.renderCapture(http.StatusOK, content, nil)
}

// sharedText returns the texts of a share, one a line and each once.
func (v *request) sharedText() string {
	all := ""
	for _, name := range []string{page.ShareTitle, page.ShareText, page.ShareURL} {
		part := strings.TrimSpace(v.R.PostForm.Get(name))
		switch {
		case strings.Contains(all, part):
		case strings.Contains(part, all): // such as a text that begins with the title
			all = part
		default:
			all += "\n" + part
		}
	}
	return all
}

func isCard(s string) bool {
	return len(s) >= len(cardStart) && strings.EqualFold(s[:len(cardStart)], cardStart)
}

// readCard returns the fields of the form for the only person of a vCard, and sentences about
// what the form leaves out or has in the note. It fails with fault.Invalid for another file.
func readCard(data []byte, name string) (given url.Values, check []string, err error) {
	file, err := source.Open(data, source.Options{Filename: name, Format: source.VCard})
	switch {
	case fault.Is(err, fault.Invalid):
		return nil, nil, fault.New(fault.Invalid, "this file is not a contact: share a vCard (.vcf) or a text, or import the file under Settings, Imports")
	case err != nil:
		return nil, nil, err
	case file.Total() != 1:
		return nil, nil, fault.New(fault.Invalid, "this file holds %d people: import it under Settings, Imports", file.Total())
	}
	check = file.Warnings
	for record := range file.Records() {
		if record.Err != nil {
			return nil, nil, record.Err
		}
		given, check = fieldsOf(&record.Person, record.Notes), append(check, record.Warnings...)
		if record.Person.Photo != "" {
			check = append(check, "the photo: add it on the person's page")
		}
	}
	for i := range check {
		if names, ok := strings.CutPrefix(check[i], source.KeptWarning); ok {
			check[i] = "kept in the note: " + names
		}
		check[i] = page.Sentence(check[i])
	}
	return given, check, nil
}

// fieldsOf returns the fields of the form for a person of a file. What has no field of its own
// goes to the end of the note.
func fieldsOf(p *export.PersonRecord, notes []string) url.Values {
	given := url.Values{
		"name": {p.Name}, "location": {p.Location}, "met_how": {p.MetHow}, "title": {""}, "organization": {""}, "tags": {strings.Join(p.Tags, "\n")},
	}
	handles := map[string][]string{}
	var labels []string
	for _, h := range p.Handles {
		handles[h.Kind] = append(handles[h.Kind], h.Value)
		if h.Label != "" {
			labels = append(labels, h.Value+" ("+h.Label+")")
		}
	}
	given.Set("emails", strings.Join(handles[people.KindEmail], "\n"))
	given.Set("phones", strings.Join(handles[people.KindPhone], "\n"))
	given.Set("urls", strings.Join(append(handles[people.KindURL], handles[people.KindSocial]...), "\n"))
	about := append([]string{p.Bio}, notes...)
	for _, k := range p.Kept {
		_, value, _ := strings.Cut(k.Text, ":")
		about = append(about, k.Name+": "+value)
	}
	if len(labels) > 0 {
		about = append(about, "Labels: "+strings.Join(labels, ", "))
	}
	for _, a := range p.Addresses {
		about = append(about, strings.TrimSpace("Address "+a.Label)+": "+strings.ReplaceAll(a.String(), "\n", ", "))
	}
	for _, a := range p.Accounts {
		about = append(about, a.Shown()+": "+a.Handle)
	}
	for _, v := range p.Fields {
		about = append(about, v.Name+": "+v.Value)
	}
	for _, r := range p.Relationships {
		about = append(about, page.Sentence(strings.ReplaceAll(cmp.Or(r.Label, r.Type), "_", " ")+": "+cmp.Or(r.Name, r.ConnectionID)))
	}
	if p.DeceasedOn != "" {
		about = append(about, "Died: "+p.DeceasedOn)
	}
	for _, part := range p.NameParts.All() {
		if *part.Value != "" && !strings.Contains(text.Fold(p.Name), text.Fold(*part.Value)) {
			about = append(about, part.Label+": "+*part.Value)
		}
	}
	if p.Nickname != "" {
		about = append(about, "Also called: "+p.Nickname)
	}
	for i, position := range p.Positions {
		if i == 0 {
			given.Set("title", position.Title)
			given.Set("organization", position.Organization)
			continue
		}
		about = append(about, "Also: "+strings.Trim(position.Title+", "+position.Organization, ", "))
	}
	for _, date := range p.ImportantDates {
		about = append(about, page.Sentence(cmp.Or(date.Label, date.Kind)+": "+date.Date))
	}
	given.Set("bio", strings.TrimSpace(strings.Join(about, "\n")))
	return given
}
