package web

import (
	"net/http"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// timeContent is the content of the page of the time zone and the locale.
type timeContent struct {
	Timezone, Locale page.Field
	// Zones are the names of time zones to choose from.
	Zones []string
	// Stored is the member's time zone, Now the present time in it.
	Stored string
	Now    time.Time
}

// timeTool is the name under which the page's changes are recorded.
const timeTool = "settings/time"

func (v *request) showTime() error {
	stored, err := account.GetSettings(v.R.Context(), v.data())
	if err != nil {
		return err
	}
	return v.renderTime(http.StatusOK, stored, &page.Mistakes{})
}

// renderTime shows the page with the settings that are stored, or as they were sent.
func (v *request) renderTime(status int, shown account.Settings, wrong *page.Mistakes) error {
	const zones = "zones"
	content := timeContent{
		Timezone: page.Field{
			Name: account.FieldTimezone, Label: "Time zone", Value: shown.Timezone, Required: true, Plain: true, Autocomplete: "off", List: zones,
			Hint: "Used for reminders and dates. For example Europe/Berlin.", Error: wrong.Of(account.FieldTimezone),
		},
		Locale: page.Field{
			Name: account.FieldLocale, Label: "Language and country", Value: shown.Locale, Required: true, Plain: true, Autocomplete: "off",
			Hint: "Your agents can see it. For example de-DE.", Error: wrong.Of(account.FieldLocale),
		},
		Zones: civil.ZoneNames(), Stored: v.Login.Timezone, Now: v.Now().In(civil.Zone(v.Login.Timezone)),
	}
	return v.Render(status, "time", page.Page{Title: "Time zone and language", Section: page.PathTime, Errors: wrong.List, Script: page.ScriptZone, Content: content})
}

func (v *request) saveTime() error {
	typed := account.Settings{Timezone: v.Line(account.FieldTimezone), Locale: v.Line(account.FieldLocale)}
	_, err := account.SaveSettings(v.R.Context(), v.data(), db.Actor{Tool: timeTool}, account.SettingsPatch{
		Timezone: &typed.Timezone, Locale: &typed.Locale,
	})
	wrong := &page.Mistakes{}
	if err := wrong.TakeAll(err); err != nil {
		return err
	}
	if len(wrong.List) > 0 {
		return v.renderTime(http.StatusUnprocessableEntity, typed, wrong)
	}
	return v.RedirectDone(page.PathTime, "time-saved")
}
