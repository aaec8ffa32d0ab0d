package sandbox

import (
	"cmp"
	"slices"
	"time"
)

const (
	interactionCount = 600
	gatheringCount   = 64 // interactions with several people besides the introductions
)

// plannedInteraction is an interaction before it has an id; participants are ordinals.
type plannedInteraction struct {
	kind         string
	daysAgo      int
	minutes      int // after midnight UTC
	duration     int
	summary      string
	participants []int
}

// addInteractions plans the introductions, everyone's latest interaction, gatherings and
// then conversations up to interactionCount; it numbers them from the oldest on.
func (b *builder) addInteractions() {
	r := newRNG("interactions")
	planned := b.planIntroductionMails(r)
	for i, p := range b.plans {
		if p.lastSeen > 0 {
			planned = append(planned, b.conversation(r, i, p.lastSeen))
		}
	}
	for range gatheringCount {
		planned = append(planned, b.gathering(r))
	}
	candidates := b.conversationCandidates()
	for len(planned) < interactionCount {
		i := pick(r, candidates)
		p := b.plans[i]
		planned = append(planned, b.conversation(r, i, r.between(p.lastSeen+1, min(p.met, historyDays))))
	}
	slices.SortStableFunc(planned, func(x, y plannedInteraction) int {
		return cmp.Or(cmp.Compare(y.daysAgo, x.daysAgo), cmp.Compare(x.minutes, y.minutes))
	})
	b.recordInteractions(planned)
}

// recordInteractions stores the plans and updates each participant's dates.
func (b *builder) recordInteractions(all []plannedInteraction) {
	ids := newIDs("int")
	for _, planned := range all {
		interaction := Interaction{
			ID:              ids.next(),
			Kind:            planned.kind,
			OccurredAt:      b.cal.at(planned.daysAgo, planned.minutes),
			DurationMinutes: planned.duration,
			Summary:         planned.summary,
		}
		interaction.CreatedAt = interaction.OccurredAt
		for _, i := range planned.participants {
			c := &b.data.Connections[i]
			interaction.ConnectionIDs = append(interaction.ConnectionIDs, c.ID)
			c.LastInteractionAt = later(c.LastInteractionAt, interaction.OccurredAt)
			c.UpdatedAt = later(c.UpdatedAt, interaction.OccurredAt)
		}
		b.data.Interactions = append(b.data.Interactions, interaction)
	}
}

func later(x, y time.Time) time.Time {
	if y.After(x) {
		return y
	}
	return x
}

// planIntroductionMails plans one interaction for each introduction, on the day of meeting.
func (b *builder) planIntroductionMails(r rng) []plannedInteraction {
	var planned []plannedInteraction
	for _, in := range b.introductions {
		newcomer, introducer := b.plans[in.newcomer], b.plans[in.introducer]
		planned = append(planned, plannedInteraction{
			kind:         "intro",
			daysAgo:      newcomer.met,
			minutes:      workingMinute(r),
			summary:      b.fill(r, pick(r, introductionSummaries()), newcomer, introducer),
			participants: []int{in.newcomer, in.introducer},
		})
	}
	return planned
}

// conversation is an interaction with one person.
func (b *builder) conversation(r rng, i, daysAgo int) plannedInteraction {
	kind := pick(r, []string{
		"meeting", "meeting", "meeting", "call", "call", "call", "email", "email", "email", "email",
		"message", "message", "message", "other",
	})
	p := b.plans[i]
	summary := b.fill(r, pick(r, conversationSummaries(kind)), p)
	if r.chance(55) {
		summary += " " + b.fill(r, pick(r, followUps()), p)
	}
	return plannedInteraction{
		kind: kind, daysAgo: daysAgo, minutes: workingMinute(r), duration: duration(r, kind),
		summary: summary, participants: []int{i},
	}
}

// gathering is a meeting or an event with several people who were all active at the time.
func (b *builder) gathering(r rng) plannedInteraction {
	kind, size := "meeting", r.between(2, 4)
	if r.chance(45) {
		kind, size = "event", r.between(3, 9)
	}
	for {
		daysAgo := r.between(8, 900)
		var around []int
		for i, p := range b.plans {
			if p.active(daysAgo) && !p.double {
				around = append(around, i)
			}
		}
		if len(around) < size {
			continue
		}
		chosen := sample(r, around, size)
		var plans []plan
		for _, i := range chosen {
			plans = append(plans, b.plans[i])
		}
		return plannedInteraction{
			kind: kind, daysAgo: daysAgo, minutes: workingMinute(r), duration: duration(r, kind),
			summary: b.fill(r, pick(r, gatheringSummaries(kind)), plans[0], plans...), participants: chosen,
		}
	}
}

// conversationCandidates lists every person who was ever seen once, and three times if they have a
// cadence, because people talk most to those they want to stay in touch with.
func (b *builder) conversationCandidates() []int {
	var candidates []int
	for i, p := range b.plans {
		if p.lastSeen == 0 || p.lastSeen >= historyDays {
			continue
		}
		candidates = append(candidates, i)
		if p.cadence > 0 {
			candidates = append(candidates, i, i)
		}
	}
	return candidates
}

// workingMinute is a time from 7:00 to 19:55 UTC, in steps of five minutes.
func workingMinute(r rng) int { return 7*60 + 5*r.IntN(13*12) }

// duration is how long such an interaction lasts, in minutes; 0 where that has no meaning.
func duration(r rng, kind string) int {
	switch kind {
	case "meeting":
		return pick(r, []int{30, 45, 60, 60, 90})
	case "call":
		return pick(r, []int{10, 15, 20, 30, 40})
	case "event":
		return pick(r, []int{90, 120, 180, 240})
	default:
		return 0
	}
}
