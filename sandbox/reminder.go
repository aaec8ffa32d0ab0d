package sandbox

// reminderSeed is one row of the table of reminders.
type reminderSeed struct {
	dueIn      int // days from the day; negative when past
	recurrence string
	state      string
	general    bool // about no connection in particular
	text       string
}

// reminderSeeds are the 30 reminders: 5 overdue, 7 due within a week, 13 later, 5 closed.
func reminderSeeds() []reminderSeed {
	return []reminderSeed{
		{-30, "none", "open", false, "Return the borrowed projector to {given}"},
		{-15, "none", "open", false, "Send {given} the reading list on {topic}"},
		{-8, "monthly", "open", false, "Monthly call with {given}"},
		{-3, "none", "open", false, "Answer {given} about {event}"},
		{-1, "none", "open", true, "Export the network and keep a copy"},
		{0, "none", "open", false, "Introduce {given} to someone in {field}"},
		{1, "weekly", "open", true, "Look through new cards and add how we met"},
		{2, "none", "open", false, "Book a table near {org} for {given} and two more"},
		{3, "none", "open", false, "Comment on the draft by {given} on {topic}"},
		{4, "none", "open", false, "Call {given} before the pilot starts"},
		{6, "quarterly", "open", false, "Quarterly lunch with {given}"},
		{6, "none", "open", false, "Ask {given} how {event} went"},
		{9, "none", "open", false, "Propose {given} as a speaker for {event}"},
		{11, "monthly", "open", true, "Write the newsletter"},
		{14, "none", "open", false, "Write a reference for {given}"},
		{17, "none", "open", false, "Ask {given} for an opinion on {topic}"},
		{21, "none", "open", false, "Check whether {given} found a bookkeeper"},
		{25, "quarterly", "open", true, "Review who I am losing touch with"},
		{30, "none", "open", false, "Coffee with {given} when in {city}"},
		{38, "none", "open", false, "Renew the co-working desk next to {given}"},
		{45, "yearly", "open", false, "Send {given} the yearly thank-you card"},
		{60, "none", "open", false, "Ask {given} about the trip to {city}"},
		{75, "none", "open", false, "Plan the dinner for newcomers with {given}"},
		{90, "quarterly", "open", false, "Share the numbers on {topic} with {given}"},
		{120, "yearly", "open", true, "Choose the people for the summer table"},
		{-6, "none", "done", false, "Thank {given} for the introduction"},
		{-12, "weekly", "done", true, "Sort the import of last week"},
		{-20, "none", "done", false, "Send {given} the contract for {event}"},
		{-41, "none", "done", false, "Congratulate {given} on the new role at {org}"},
		{-25, "none", "dismissed", false, "Sell the spare ticket for {event} to {given}"},
	}
}

// addReminders adds the reminders, each about another person.
func (b *builder) addReminders() {
	r := newRNG("reminders")
	ids := newIDs("rem")
	seeds := reminderSeeds()
	about := sample(r, b.originals(), len(seeds))
	for n, seed := range seeds {
		p := b.plans[about[n]]
		r := Reminder{
			ID:         ids.next(),
			Text:       b.fill(r, seed.text, p),
			DueOn:      b.cal.date(-seed.dueIn),
			Recurrence: seed.recurrence,
			State:      seed.state,
		}
		if !seed.general {
			r.ConnectionID = p.id
		}
		b.data.Reminders = append(b.data.Reminders, r)
	}
}
