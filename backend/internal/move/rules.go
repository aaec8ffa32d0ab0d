package move

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/account/password"
	"github.com/kith-crm/kith/backend/internal/billing"
	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/digest"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/people/cadence"
	"github.com/kith-crm/kith/backend/internal/reminders"
)

// maxNumber is the largest number in a column without a rule of its own. It is larger than any count, version or size
// that kith writes, and so far below the limit of 64 bits that adding to it cannot overflow.
const maxNumber = 1 << 53

// rule reports whether a feature of kith can have written a value, which is not null and of its column's
// type.
type rule func(value any) bool

// rules returns the rules of single columns by "table.column", or by the name that columns of
// several tables have.
func rules() map[string]rule {
	array, object := isJSON[[]any], isJSON[map[string]any]
	return map[string]rule{
		"duplicate_keys.key": of(func(int64) bool { return true }), // a hash
		"version":            atLeast(1), "data_version": atLeast(0), "cadence_days": between(0, 730), "connections.cadence_days": between(cadence.Never, 730),
		"members.password_hash": of(func(s string) bool { return s == "" || password.ValidHash(s) }),
		"members.timezone":      of(func(s string) bool { name, ok := civil.FindZone(s); return ok && name == s }),
		"members.locale":        of(func(s string) bool { return len(s) <= account.MaxLocale }),
		"profiles.skills":       array, "profiles.languages": array, "profiles.links": array, "profiles.open_to": array, "profiles.field_visibility": object,
		"profiles.visibility":   oneOf(string(account.Public), string(account.Members), string(account.Private)),
		"connections.source":    oneOf("", people.SourceManual, people.SourceAgent, people.SourceImport, people.SourceDirectory),
		"connections.met_on":    partialDate(),
		"positions.started_on":  partialDate(),
		"positions.ended_on":    partialDate(),
		"important_dates.month": between(0, 12),
		"important_dates.day":   between(0, 31),
		"important_dates.year":  between(0, 9999),
		"notes.day":             of(func(s string) bool { _, err := time.Parse(time.DateOnly, s); return s == "" || err == nil }),
		"reminders.state":       oneOf(reminders.Open, reminders.Done, reminders.Dismissed),
		"reminders.due_on":      inLayout(time.DateOnly),
		"reminders.starts_on":   inLayout(time.DateOnly),
		"digests.rhythm":        oneOf(digest.Off, digest.Daily, digest.Weekly),
		"digests.weekday":       between(0, 6),
		"digests.hour":          between(0, 23),
		"digests.lead_days":     between(0, digest.MaxLead),
		"digests.settled_day":   of(func(s string) bool { _, err := time.Parse(time.DateOnly, s); return s == "" || err == nil }),
		"changes.effects":       of(areEffects),
		"jobs.params":           isJSONOrEmpty(), "jobs.checkpoint": isJSONOrEmpty(), "jobs.result": isJSONOrEmpty(),
		"decisions.arguments":       oneOf(""),
		"decisions.preview":         isJSONOrEmpty(),
		"agent_reads.day":           inLayout(time.DateOnly),
		"credit_balances.period":    inLayout(billing.PeriodFormat),
		"credit_balances.allowance": between(0, billing.MaxAllowance),
		"credit_balances.balance":   between(0, billing.MaxAllowance),
		"credit_entries.period":     inLayout(billing.PeriodFormat),
		"credit_entries.delta":      between(-billing.MaxAllowance, billing.MaxAllowance),
		"credit_entries.reason":     oneOf(billing.ReasonAllowance, billing.ReasonPlan, billing.ReasonCalls, billing.ReasonRefund),
		"embeddings.dimensions":     between(1, 1<<16),
	}
}

// follows reports whether a value follows the rule of its column, and what every column refuses: NUL in a
// text, negative numbers, and numbers above maxNumber.
func follows(rules map[string]rule, table, column string, value any) bool {
	keep, special := rules[table+"."+column]
	if !special {
		keep, special = rules[column]
	}
	switch v := value.(type) {
	case nil:
		return true
	case string:
		if strings.ContainsRune(v, 0) {
			return false
		}
	case int64:
		if !special {
			return 0 <= v && v <= maxNumber
		}
	}
	return !special || keep(value)
}

func of[T any](keep func(T) bool) rule {
	return func(value any) bool {
		v, ok := value.(T)
		return ok && keep(v)
	}
}

func oneOf(allowed ...string) rule {
	return of(func(s string) bool { return slices.Contains(allowed, s) })
}

func between(least, most int64) rule {
	return of(func(n int64) bool { return least <= n && n <= most })
}

func atLeast(least int64) rule { return between(least, maxNumber) }

// inLayout is the rule for a text in a layout of package time.
func inLayout(layout string) rule {
	return of(func(s string) bool { _, err := time.Parse(layout, s); return err == nil })
}

func partialDate() rule {
	return of(func(s string) bool { return people.CheckPartialDate("", s) == nil })
}

func isJSON[T any](value any) bool {
	text, ok := value.(string)
	var parsed T
	return ok && json.Unmarshal([]byte(text), &parsed) == nil
}

func isJSONOrEmpty() rule {
	return of(func(s string) bool { return s == "" || json.Valid([]byte(s)) })
}

// areEffects reports whether an undo can read the effects of a change.
func areEffects(text string) bool {
	var effects []history.Effect
	if json.Unmarshal([]byte(text), &effects) != nil {
		return false
	}
	return !slices.ContainsFunc(effects, func(e history.Effect) bool {
		return e.Kind == "" || e.ID == "" || e.Version < 1 || e.Version > history.StateVersion
	})
}

// isVector reports whether data are the finite numbers of a vector of a length.
func isVector(data []byte, dimensions int64) bool {
	if int64(len(data)) != 4*dimensions {
		return false
	}
	for ; len(data) > 0; data = data[4:] {
		if f := float64(math.Float32frombits(binary.LittleEndian.Uint32(data))); math.IsNaN(f) || math.IsInf(f, 0) {
			return false
		}
	}
	return true
}

// isPicture reports whether data begin like a picture of a media type.
func isPicture(data []byte, media string) bool {
	return (media == "image/jpeg" || media == "image/png") && http.DetectContentType(data) == media
}

// sums are what the rows of a file add up to, and the marks that they must not exceed.
type sums struct {
	balances, deltas           map[string]int64
	dataVersion, job           int64
	lastDataVersion, lastJob   int64
	removedVersion, embeddings int64
}

func newSums() sums { return sums{balances: map[string]int64{}, deltas: map[string]int64{}} }

// add counts a row.
func (s *sums) add(table string, row func(column string) any) {
	number := func(column string) int64 { n, _ := row(column).(int64); return n }
	period, _ := row("period").(string)
	s.dataVersion = max(s.dataVersion, number("text_version"))
	switch table {
	case "credit_balances":
		s.balances[period] = number("balance")
	case "credit_entries":
		s.deltas[period] += number("delta")
	case "jobs":
		s.job = max(s.job, number("number"))
	case statesTable:
		s.lastDataVersion, s.lastJob = number("data_version"), number("jobs")
		s.removedVersion, s.embeddings = number("removed_version"), number("embedded_version")
		return
	}
	s.dataVersion = max(s.dataVersion, number("data_version"))
}

// check refuses a ledger that does not add up, and rows from after the member's last write.
func (s *sums) check() error {
	for period, balance := range s.balances {
		if s.deltas[period] != balance {
			return invalid("the credits of %s are %d, and their entries add up to %d", period, balance, s.deltas[period])
		}
	}
	if max(s.dataVersion, s.removedVersion, s.embeddings) > s.lastDataVersion {
		return invalid("a row is newer than the account")
	}
	if s.job > s.lastJob {
		return invalid("a job is newer than the account")
	}
	return nil
}

// checkParts refuses a row whose columns do not fit together.
func checkParts(table string, row func(column string) any) error {
	switch table {
	case "embeddings":
		data, _ := row("vector").([]byte)
		if n, _ := row("dimensions").(int64); !isVector(data, n) {
			return invalid("a vector of embeddings is damaged")
		}
	case "photos":
		data, _ := row("data").([]byte)
		if media, _ := row("media").(string); !isPicture(data, media) {
			return invalid("a photo is not of the type %.30q", media)
		}
	case "credit_balances":
		allowance, _ := row("allowance").(int64)
		if balance, _ := row("balance").(int64); balance > allowance {
			return invalid("the credits of %s are more than the month's", fmt.Sprint(row("period")))
		}
	}
	return nil
}
