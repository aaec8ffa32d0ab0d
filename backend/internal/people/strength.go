// Package people also computes how close a member is to a person: a figure between 0 and
// 100 from the stored interactions, and the counts behind it.
//
//	score = round(100·(1−e^(−S/4))),  S = Σ weight·2^(−age/180 days)
//
// The store computes S in the database, with the same weights and half-life; this file is
// the definition.
package people

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/schema"
)

// HalfLife is the age at which a contact counts half.
const HalfLife = 180 * 24 * time.Hour

// scale is the sum at which the score is 1−1/e of its maximum.
const scale = 4

// Strength is how close the member is to a person, and the evidence for it.
type Strength struct {
	// Score is between 0 and 100.
	Score int
	// Meetings, Calls and Messages (e-mails among them) that are stored.
	Meetings, Calls, Messages int
	// LastInteractionAt is the last contact of any kind; zero when none is stored.
	LastInteractionAt time.Time
}

// Contact is an interaction with the person.
type Contact struct {
	Kind       string
	OccurredAt time.Time
}

// Weights returns how much a new contact of a kind counts; other kinds count nothing.
func Weights() map[string]float64 {
	return map[string]float64{"meeting": 3, "call": 2, "email": 1, "message": 1}
}

// Score converts the sum S to the score.
func Score(sum float64) int { return int(math.Round(100 * (1 - math.Exp(-sum/scale)))) }

// Sum returns the S that gives a score.
func Sum(score int) float64 { return -scale * math.Log(1-float64(score)/100) }

// Decay returns the fraction of a contact's weight that is left at an age. It is 1 for a contact
// in the future.
func Decay(age time.Duration) float64 { return math.Exp2(-float64(max(age, 0)) / float64(HalfLife)) }

// TiesEpoch is the moment to which stored sums of contacts are decayed. All contacts decay
// alike, so the order of these sums is the order of the strengths at any time.
var TiesEpoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Tie returns what a contact adds to a sum at TiesEpoch.
func Tie(kind string, at time.Time) float64 {
	return Weights()[kind] * math.Exp2(float64(at.Sub(TiesEpoch))/float64(HalfLife))
}

// PeakTie returns what a contact adds to the sum S at the time of the last contact.
func PeakTie(kind string, at, last time.Time) float64 {
	return Weights()[kind] * Decay(last.Sub(at))
}

// ScoreOf returns the score, at a time, of a sum of Ties.
func ScoreOf(ties float64, now time.Time) int {
	return Score(ties * math.Exp2(-float64(now.Sub(TiesEpoch))/float64(HalfLife)))
}

// Of returns the strength, at a time, that contacts give.
func Of(contacts []Contact, now time.Time) Strength {
	var s Strength
	sum := 0.0
	weights := Weights()
	for _, c := range contacts {
		switch c.Kind {
		case "meeting":
			s.Meetings++
		case "call":
			s.Calls++
		case "email", "message":
			s.Messages++
		}
		sum += weights[c.Kind] * Decay(now.Sub(c.OccurredAt))
		if c.OccurredAt.After(s.LastInteractionAt) {
			s.LastInteractionAt = c.OccurredAt
		}
	}
	s.Score = Score(sum)
	return s
}

// tie is a row of Closeness.
type tie struct {
	ConnectionID              string
	Meetings, Calls, Messages int
	Total                     float64
	LastInteractionAt         time.Time
}

func (t tie) strength() Strength {
	return Strength{
		Score: Score(t.Total), Meetings: t.Meetings, Calls: t.Calls, Messages: t.Messages, LastInteractionAt: t.LastInteractionAt,
	}
}

// Closeness selects the counts and the sum from which Strength is computed, for each
// connection of interaction_connections l joined with interactions i.
func Closeness(q db.Reader, now time.Time) schema.QueryAppender {
	weights := Weights()
	var cases strings.Builder
	for _, kind := range slices.Sorted(maps.Keys(weights)) {
		fmt.Fprintf(&cases, " WHEN '%s' THEN %g", kind, weights[kind])
	}
	return bun.SafeQuery(`l.connection_id,
sum(CASE WHEN i.kind = 'meeting' THEN 1 ELSE 0 END) AS meetings, sum(CASE WHEN i.kind = 'call' THEN 1 ELSE 0 END) AS calls,
sum(CASE WHEN i.kind IN ('email', 'message') THEN 1 ELSE 0 END) AS messages,
sum((CASE i.kind`+cases.String()+` ELSE 0 END) * ?) AS total, max(i.occurred_at) AS last_interaction_at`, db.Halving(q, "i.occurred_at", now, HalfLife))
}

// Strengths returns how close the member is to people, with one statement. People
// without an interaction are missing.
func Strengths(ctx context.Context, q db.Reader, ids []string, now time.Time) (map[string]Strength, error) {
	var rows []tie
	err := q.NewRaw(`SELECT ? FROM interaction_connections l
JOIN interactions i ON i.tenant_id = l.tenant_id AND i.id = l.interaction_id
WHERE l.tenant_id = ? AND l.connection_id IN (?) GROUP BY l.connection_id`, Closeness(q, now), q.TenantID(), bun.List(ids)).Scan(ctx, &rows)
	out := make(map[string]Strength, len(rows))
	for _, row := range rows {
		out[row.ConnectionID] = row.strength()
	}
	return out, err
}
