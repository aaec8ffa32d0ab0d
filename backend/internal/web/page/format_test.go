package page

import (
	"testing"
	"time"
)

// A week ends on the day before its first weekday, which depends on the region, or on the region
// where most people write the language. The test asks for the week of each of its days.
func TestWeekEnd(t *testing.T) {
	t.Parallel()
	monday := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	for locale, want := range map[string]time.Weekday{
		"": time.Monday, "en": time.Monday, "en-GB": time.Monday, "de": time.Monday, "fr-CA": time.Sunday, "en-US": time.Sunday, "en-ZA": time.Sunday, "pt": time.Sunday,
		"pt-PT": time.Sunday, "ja": time.Sunday, "he": time.Sunday, "zh": time.Monday, "zh-Hant": time.Sunday, "zh-Hant-TW": time.Sunday, "ar": time.Saturday,
		"ar-AE": time.Monday, "ar-MA": time.Monday, "fa": time.Saturday, "dv-MV": time.Friday, "es-419": time.Monday, "no such locale": time.Monday,
	} {
		f := FormatOf(locale)
		for days := range 14 {
			day := monday.AddDate(0, 0, days)
			end := f.WeekEnd(day)
			if ahead := end.Sub(day).Hours() / 24; end.AddDate(0, 0, 1).Weekday() != want || ahead < 0 || ahead > 6 {
				t.Errorf("%q: the week of %s ends on %s", locale, day.Format("Monday 2"), end.Format("Monday 2"))
			}
		}
	}
}

func TestFormatOf(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 9, 16, 5, 0, 0, time.FixedZone("", 2*60*60))
	for locale, want := range map[string][3]string{
		"en":         {"9 March 2026", "Monday, 9 March", "1,234,567"},
		"en-GB":      {"9 March 2026", "Monday, 9 March", "1,234,567"},
		"en-US":      {"March 9, 2026", "Monday, March 9", "1,234,567"},
		"de":         {"09.03.2026", "Montag, 09.03.2026", "1.234.567"},
		"de-CH":      {"09.03.2026", "Montag, 09.03.2026", "1’234’567"},
		"pt-BR":      {"09/03/2026", "Monday, 09/03/2026", "1.234.567"},
		"pt-PT":      {"09/03/2026", "Monday, 09/03/2026", "1\u00a0234\u00a0567"},
		"fr-CA":      {"2026-03-09", "Monday, 2026-03-09", "1\u00a0234\u00a0567"},
		"nl-NL":      {"09-03-2026", "Monday, 09-03-2026", "1.234.567"},
		"ja":         {"2026/03/09", "Monday, 2026/03/09", "1,234,567"},
		"zh-Hant-TW": {"2026/03/09", "Monday, 2026/03/09", "1,234,567"},
		"sw":         {"2026-03-09", "Monday, 2026-03-09", "1,234,567"},
		"":           {"9 March 2026", "Monday, 9 March", "1,234,567"},
	} {
		f := FormatOf(locale)
		if got := [3]string{f.Day(at), f.Weekday(at), f.Number(1234567)}; got != want {
			t.Errorf("%s: %q, want %q", locale, got, want)
		}
	}
	for locale, want := range map[string]string{
		"en-GB": "9 March 2026, 16:05 UTC+02", "en-US": "March 9, 2026, 4:05 PM UTC+02", "de": "09.03.2026, 16:05 UTC+02", "pt-BR": "09/03/2026, 16:05 UTC+02",
		"ja": "2026/03/09, 16:05 UTC+02",
	} {
		if got := FormatOf(locale).Clock(at.In(time.FixedZone("+02", 2*60*60))); got != want {
			t.Errorf("%s: %q, want %q", locale, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 12345: "12,345"} {
		if got := FormatOf("en").Number(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}

// A date that a page shows is read as the same date, in every locale.
func TestPartialDaysAreReadAsTheyAreShown(t *testing.T) {
	t.Parallel()
	for _, locale := range []string{"", "en", "en-US", "de-DE", "de-CH", "fr-FR", "fr-CA", "es-MX", "pt-PT", "nb-NO", "is-IS", "nl-NL", "sv-SE", "ja-JP", "ko-KR", "hu-HU", "ar-EG", "lt-LT"} {
		format := FormatOf(locale)
		for _, date := range []string{"1975-11-26", "2026-03-04", "1975-11", "--11-26", "--03-04", "--02-29", "2024-02-29"} {
			shown := format.PartialDay(date)
			if got, ok := format.ReadPartialDay(shown); !ok || got != date {
				t.Errorf("%s: %s is shown as %s, and read as %q", locale, date, shown, got)
			}
		}
	}
	if got := FormatOf("de-DE").PartialDay("about 1950"); got != "um 1950" {
		t.Errorf("a year that is not certain is shown as %s", got)
	}
}

func TestAgo(t *testing.T) {
	t.Parallel()
	today := time.Date(2026, 11, 28, 23, 30, 0, 0, time.UTC)
	for day, want := range map[string]string{
		"2026-11-28": "today", "2026-11-27": "yesterday", "2026-11-29": "tomorrow", "2026-11-25": "3 days ago", "2026-11-15": "13 days ago", "2026-11-14": "2 weeks ago",
		"2026-10-01": "8 weeks ago", "2026-09-29": "2 months ago", "2025-11-29": "12 months ago", "2025-11-28": "1 year ago", "2020-01-01": "6 years ago", "2026-12-19": "in 3 weeks", "2027-02-28": "in 3 months",
	} {
		at, err := time.Parse(time.DateOnly, day)
		if err != nil {
			t.Fatal(err)
		}
		if got := (Format{}).Ago(today, at); got != want {
			t.Errorf("%s is %q, not %q", day, got, want)
		}
	}
}
