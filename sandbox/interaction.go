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
	s := newStream("interactions")
	planned := b.planIntroductionMails(s)
	for i, p := range b.people {
		if p.lastSeen > 0 {
			planned = append(planned, b.conversation(s, i, p.lastSeen))
		}
	}
	for range gatheringCount {
		planned = append(planned, b.gathering(s))
	}
	candidates := b.conversationCandidates()
	for len(planned) < interactionCount {
		i := pick(s, candidates)
		p := b.people[i]
		planned = append(planned, b.conversation(s, i, s.between(p.lastSeen+1, min(p.met, historyDays))))
	}
	slices.SortStableFunc(planned, func(x, y plannedInteraction) int {
		return cmp.Or(cmp.Compare(y.daysAgo, x.daysAgo), cmp.Compare(x.minutes, y.minutes))
	})
	b.recordInteractions(planned)
}

// recordInteractions stores the plans and moves each participant's dates along.
func (b *builder) recordInteractions(planned []plannedInteraction) {
	ids := newIDs("int")
	for _, plan := range planned {
		interaction := Interaction{
			ID:              ids.next(),
			Kind:            plan.kind,
			OccurredAt:      b.cal.at(plan.daysAgo, plan.minutes),
			DurationMinutes: plan.duration,
			Summary:         plan.summary,
		}
		for _, i := range plan.participants {
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

// planIntroductionMails has one interaction for each introduction, on the day of meeting.
func (b *builder) planIntroductionMails(s stream) []plannedInteraction {
	var planned []plannedInteraction
	for _, in := range b.introductions {
		newcomer, introducer := b.people[in.newcomer], b.people[in.introducer]
		planned = append(planned, plannedInteraction{
			kind:         "intro",
			daysAgo:      newcomer.met,
			minutes:      workingMinute(s),
			summary:      b.fill(s, pick(s, introductionSummaries()), newcomer, introducer),
			participants: []int{in.newcomer, in.introducer},
		})
	}
	return planned
}

// conversation is an interaction with one person.
func (b *builder) conversation(s stream, i, daysAgo int) plannedInteraction {
	kind := pick(s, []string{
		"meeting", "meeting", "meeting", "call", "call", "call", "email", "email", "email", "email",
		"message", "message", "message", "other",
	})
	p := b.people[i]
	summary := b.fill(s, pick(s, conversationSummaries(kind)), p)
	if s.chance(55) {
		summary += " " + b.fill(s, pick(s, followUps()), p)
	}
	return plannedInteraction{
		kind: kind, daysAgo: daysAgo, minutes: workingMinute(s), duration: duration(s, kind),
		summary: summary, participants: []int{i},
	}
}

// gathering is a meeting or an event with several people who were all around at the time.
func (b *builder) gathering(s stream) plannedInteraction {
	kind, size := "meeting", s.between(2, 4)
	if s.chance(45) {
		kind, size = "event", s.between(3, 9)
	}
	for {
		daysAgo := s.between(8, 900)
		var around []int
		for i, p := range b.people {
			if p.active(daysAgo) && !p.double {
				around = append(around, i)
			}
		}
		if len(around) < size {
			continue
		}
		chosen := sample(s, around, size)
		var people []person
		for _, i := range chosen {
			people = append(people, b.people[i])
		}
		return plannedInteraction{
			kind: kind, daysAgo: daysAgo, minutes: workingMinute(s), duration: duration(s, kind),
			summary: b.fill(s, pick(s, gatheringSummaries(kind)), people[0], people...), participants: chosen,
		}
	}
}

// conversationCandidates lists everyone once who was ever seen, and those with a cadence
// twice more: one talks most to those one wants to keep.
func (b *builder) conversationCandidates() []int {
	var candidates []int
	for i, p := range b.people {
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
func workingMinute(s stream) int { return 7*60 + 5*s.IntN(13*12) }

// duration is how long such an interaction lasts, in minutes; 0 where that has no meaning.
func duration(s stream, kind string) int {
	switch kind {
	case "meeting":
		return pick(s, []int{30, 45, 60, 60, 90})
	case "call":
		return pick(s, []int{10, 15, 20, 30, 40})
	case "event":
		return pick(s, []int{90, 120, 180, 240})
	default:
		return 0
	}
}
