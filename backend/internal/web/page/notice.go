package page

import (
	"cmp"
	"encoding/json"
	"net/url"
	"time"

	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/people"
)

// The parameters of an address that a form redirects to: the name of a notice, and the
// change that the notice offers to undo.
const (
	noticeParameter = "done"
	changeParameter = "change"
)

// undoForm is the form of a notice that undoes what was just done.
type undoForm struct {
	// Path is where the form goes, Change the change that it undoes, and Back the page that
	// it leads back to.
	Path, Change, Back string
}

// RedirectDone redirects to a page that shows the notice with that name. The path may have
// parameters.
func (v *Request) RedirectDone(path, notice string) error {
	return v.RedirectUndoable(path, notice, "")
}

// RedirectUndoable redirects to a page that shows the notice with that name and a button that
// undoes the change. Without a change it is RedirectDone.
func (v *Request) RedirectUndoable(path, notice, changeID string) error {
	plain, parameters := withoutNotice(path)
	parameters.Set(noticeParameter, notice)
	if changeID != "" {
		parameters.Set(changeParameter, changeID)
	}
	return v.Redirect(plain + "?" + parameters.Encode())
}

// withoutNotice returns the parts of an address of this site, without a notice.
func withoutNotice(address string) (string, url.Values) {
	u, err := url.Parse(address)
	if err != nil {
		return PathStart, url.Values{}
	}
	parameters := u.Query()
	if noticeOf(parameters.Get(noticeParameter)) != "" {
		parameters.Del(noticeParameter)
		parameters.Del(changeParameter)
	}
	return u.EscapedPath(), parameters
}

// notice returns the notice that a redirect named, and the form that undoes what was done. Any
// other text in the address is not shown.
func (v *Request) notice() (string, undoForm) {
	given := v.R.URL.Query()
	text, change := noticeOf(given.Get(noticeParameter)), given.Get(changeParameter)
	if text == "" || v.Login == nil || !id.Valid(id.Change, change) {
		return text, undoForm{}
	}
	if given.Get(noticeParameter) == noticeLogged {
		text = cmp.Or(v.logged(change), text)
	}
	back, parameters := withoutNotice(v.R.URL.RequestURI())
	if len(parameters) > 0 {
		back += "?" + parameters.Encode()
	}
	return text, undoForm{Path: PathActivity + "/undo", Change: change, Back: LocalPath(back)}
}

// noticeLogged is the notice of a contact that was logged.
const noticeLogged = "logged"

// logged says what a change logged: "Logged: meeting with Heike and Kofi, 25 November 2026." It returns "" for
// another change.
func (v *Request) logged(changeID string) string {
	data := v.Store.Tenant(v.Login.MemberID, true)
	changes, err := history.ListChanges(v.R.Context(), data, history.Query{IDs: []string{changeID}, Limit: 1})
	if err != nil || len(changes) != 1 || len(changes[0].Effects) != 1 {
		return ""
	}
	var contact struct {
		Kind          string    `json:"kind"`
		OccurredAt    time.Time `json:"occurred_at"`
		OccurredLocal string    `json:"occurred_local"`
		People        []string  `json:"connection_ids"`
	}
	if json.Unmarshal(changes[0].Effects[0].After, &contact) != nil || contact.Kind == "" {
		return ""
	}
	names, err := people.ListNames(v.R.Context(), data, contact.People)
	if err != nil {
		return ""
	}
	var with []string
	for _, id := range contact.People {
		with = append(with, names[id])
	}
	zone := civil.Zone(v.Login.Timezone)
	when, err := civil.ParseLocal(civil.Local(contact.OccurredAt, contact.OccurredLocal, zone), zone)
	if err != nil {
		when = contact.OccurredAt.In(zone)
	}
	words := map[string]string{"email": "e-mail", "intro": "introduction", "other": "contact"}
	return v.Text("Logged: %s with %s, %s.", v.Text(cmp.Or(words[contact.Kind], contact.Kind)), v.Format().And(with), v.Format().Day(when))
}

// noticeOf returns the text of a notice by its name; empty if there is none.
func noticeOf(name string) string {
	return notices[name]
}

// notices are the texts of the notices by their names: about signing in and what protects the account,
// about what agents ask first, and about everything else.
var notices = map[string]string{
	"signed-out":            "You are signed out.",
	"signed-out-everywhere": "You are signed out of every browser.",
	"session-ended":         "That browser is signed out. Its next request is refused.",
	"sessions-ended":        "Every other browser is signed out.",
	"not-me":                "Everything is ended: no browser, agent or token has access any more. If the address is yours, an email with a link to choose a new password is on its way.",
	"not-me-unsent":         "Everything is ended: no browser, agent or token has access any more. The email could not be sent: ask for a link to choose a new password here.",
	"welcome":               "Welcome to Kith. This is your page: nobody sees any of it until you say so.",
	"owner":                 "Welcome to Kith. You are signed in.",
	"reset":                 "Your password is changed, and every browser is signed out. No agent or personal token works any more: connect again those that you trust.",
	"verified":              "Your e-mail address is confirmed.",
	"verify-sent":           "We have sent you a link to confirm your address. It works for 30 minutes.",
	"email-asked":           "We have sent a link to the new address. It works once, for 30 minutes. Until you open it, your address stays as it is.",
	"email-changed":         "Your e-mail address is changed, and every other browser is signed out.",
	"provider-linked":       "Your accounts are connected: from now on you can sign in without your password.",
	"provider-unlinked":     "Your identity provider is disconnected. Sign in with your password.",
	"password-changed":      "Your password is changed, and every other browser is signed out.",

	"agent-asks":    "Saved. It applies from the next call on.",
	"approved":      "Approved. The result is below.",
	"refused":       "Refused. Nothing is done, and the agent is told.",
	"card-refused":  "Refused. Kith keeps what it has.",
	"decide-late":   "Nothing was changed: it was decided already, or has expired.",
	"decide-paused": "Nothing was changed: the agent is paused. Resume it first.",

	"calendar-read":    "The calendar can be read. Nothing is logged until you start it.",
	"calendar-started": "Started. The meetings are being logged.",
	"calendar-due":     "The calendar is being read.",
	"calendar-changed": "Saved.",
	"calendar-paused":  "Paused. It is not read until you go on.",
	"calendar-removed": "The calendar is removed.",
	"book-read":        "The address book can be read. Nobody is added until you start it.",
	"book-started":     "Started. The people are being added.",
	"book-due":         "The address book is being read.",
	"book-removed":     "The address book is removed.",
	"people-dismissed": "They are not offered again.",
	"people-added":     "The people are added. Their meetings are being logged.",
	"nobody-chosen":    "Nothing was changed: nobody was chosen.",

	"share-again":        "Sign in first, then share it once more. What you shared was not kept.",
	"steps-hidden":       "The first steps are hidden.",
	"import-reread":      "The file was read again. Check the result.",
	"import-cancelled":   "The import stops. What it did so far stays until you undo it.",
	"import-undone":      "The import is being undone.",
	"saved":              "Your profile is saved.",
	"digest-saved":       "Your choice is saved.",
	"digest-sent":        "Sent. Look into your mailbox.",
	"time-saved":         "Your time zone and your language are saved.",
	"confirmed":          "Thank you. Go on where you were: for 10 minutes you are not asked again.",
	"app-added":          "The app is set up: from now on, signing in takes a code of it.",
	"app-removed":        "The app is turned off. Its codes don’t work any more.",
	"passkey-added":      "The passkey is added: you can sign in with it alone, without your password.",
	"passkey-removed":    "The passkey is removed here. Delete it on your device as well.",
	"codes-made":         "The old recovery codes don’t work any more.",
	"device-allowed":     "The device is added. Go back to the program: it continues by itself.",
	"device-refused":     "The device is refused. It gets nothing.",
	"device-removed":     "The device is removed. It stopped synchronising at once.",
	"feed-removed":       "The calendar feed is removed. Its address stopped working at once.",
	"token-revoked":      "The token is revoked. It stopped working at once.",
	"sending-allowed":    "Texts may be sent now, when an agent prepares the similarity search.",
	"sending-stopped":    "Nothing is sent any more.",
	"agent-revoked":      "The agent is disconnected. Its access ended at once.",
	"agent-widened":      "The agent may do more now. That applies from its next call on.",
	"agent-narrowed":     "The agent may do less now. That applies from its next call on.",
	"agent-paused":       "The agent is paused: its calls are refused until you resume it.",
	"agent-resumed":      "The agent may work again, as before.",
	"undone":             "The change is undone. If you did not mean it, you can undo that too.",
	"undone-several":     "The changes are undone. Each undo is in the list, and you can undo it too.",
	"group-made":         "The group is made.",
	"group-saved":        "The group is saved.",
	"field-saved":        "The field is saved.",
	"field-removed":      "The field is removed, with its values.",
	"organization-saved": "The organisation is saved.",
	"group-merged":       "The two groups are one now.",
	"group-deleted":      "The group is deleted. Its people stay.",
	"tag-renamed":        "The tag is renamed, for everybody who has it.",
	"tag-removed":        "The tag is removed from everybody who had it.",
	"restored":           "The person is restored, with everything that was deleted with them.",
	"bin-deleted":        "The person is deleted for good.",
	"bin-emptied":        "The bin is emptied. Those people are deleted for good.",
	"bin-nothing":        "Nothing was deleted: the person was not in the bin any more.",
	"reminder-done":      "Done. A repeating reminder moved to its next day.",
	"snoozed":            "Snoozed.",
	noticeLogged:         "Logged.",
	"changed-meanwhile":  "Nothing was done: it changed in the meantime. This is how it is now.",
	"undone-already":     "That was undone already. Nothing more was changed.",
	"people-none":        "Choose at least one person first.",
	"people-unchanged":   "Nothing was changed: it was like that already.",
	"people-tagged":      "The tags are changed.",
	"people-grouped":     "The groups are changed.",
	"people-cadence":     "The keep-in-touch interval is changed.",
	"people-archived":    "Archived. They are kept: use the filter for archived people to find and restore them.",
	"people-restored":    "Restored: they are on your lists again.",
	"people-merged":      "Merged into one person.",
	"people-distinct":    "Kept: they are not the same person. The pair is no longer shown.",
	"people-deleted":     "Moved to the bin. You can restore them for 30 days.",
	"view-saved":         "The view is saved.",
	"view-deleted":       "The view is deleted. Nobody in it was changed.",
	"person-added":       "The person is added.",
	"person-completed":   "What was new is added to the person.",
	"person-saved":       "Your changes are saved.",
	"noted":              "The note is added.",
	"reminded":           "The reminder is set.",
	"entry-saved":        "The entry is changed.",
	"entry-deleted":      "The entry is deleted.",
	"reminder-saved":     "The reminder is changed.",
	"reminder-dismissed": "The reminder is deleted.",
	"reminder-moved":     "The reminder is moved.",
	"starred":            "The person is starred.",
	"unstarred":          "The person is no longer starred.",
	"archived":           "The person is archived and kept. Lists, searches and reminders leave them out.",
	"unarchived":         "The person is back in your lists.",
	"deleted":            "The person is in the bin, for 30 days.",
	"photo-saved":        "The photo is saved.",
	"photo-removed":      "The photo is removed.",
	"linked":             "The relation is added.",
	"unlinked":           "The relation is removed.",
	"merged":             "The two are merged.",
}
