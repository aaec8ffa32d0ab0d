package sandbox

// eventNames are invented gatherings.
func eventNames() []string {
	return []string{
		"Tideline Days", "the Slow Software gathering", "Harbour Talks", "the Second Careers fair",
		"the Open Ledger meetup", "Kilnworks Open House", "the Night Market of Ideas", "the Grain & Grid forum",
		"the Friday founders' breakfast", "Letterpress Weekend", "the Rivers assembly", "the Quayside Unconference",
	}
}

// fields are lines of work as one asks for them.
func fields() []string {
	return []string{
		"public procurement", "grid regulation", "community radio", "cold-chain logistics", "type licensing",
		"clinical trials", "co-operative banking", "museum education", "industrial bakeries", "applied linguistics",
		"machine vision", "refugee law", "school kitchens", "port authorities", "family offices",
	}
}

// details are personal facts without a subject and without the full stop.
func details() []string {
	return []string{
		"Has two greyhounds named after rivers",
		"Vegetarian, and allergic to walnuts",
		"Plays the viola in an amateur quartet",
		"Prefers voice messages to e-mail",
		"Never free before ten in the morning",
		"Is learning sign language with a daughter",
		"Collects timetables of closed railways",
		"Swims in the sea all year",
		"Reads everything on paper",
		"Grew up above a bakery",
		"Coaches an under-twelve handball team",
		"Keeps bees on the office roof",
		"Takes every August off, no exceptions",
		"Drinks tea only; coffee means trouble",
		"Is restoring a wooden boat, slowly",
		"Speaks four languages and apologises in all of them",
		"Walks to every meeting under five kilometres",
		"Has twins who started school",
		"Sings bass in a choir that always needs tenors",
		"Bakes for the whole floor on Mondays",
		"Does not drink; suggest lunch and not the bar",
		"Writes postcards and likes to get them",
		"Is afraid of flying and knows all the night trains",
		"Hosts a dinner for newcomers every month",
		"Used to be a stage electrician",
	}
}

// wishes complete "wants …" and "is looking for …".
func wishes() []string {
	return []string{
		"an introduction to someone in {field}", "a second pair of eyes on a pitch", "a speaker for {event}",
		"two beta testers who are not friends", "a bookkeeper who answers the phone", "a quiet office two days a week",
		"advice on {topic}", "a mentor outside the company", "a co-author for a piece on {topic}",
		"a landlord who allows workshops", "a board member who knows {field}", "an intern for the summer",
		"people to interview about {topic}", "a fair price for an old van", "a translator who likes footnotes",
	}
}

// offers complete "offers …" and "can help with …".
func offers() []string {
	return []string{
		"to read contracts before signature", "a desk whenever I am in {city}", "a tour of {org}",
		"contacts in {field}", "to rehearse talks by video", "a list of patient printers",
		"free seats at {event}", "an honest reference for freelancers", "to host the next dinner",
		"feedback on {topic}", "to test early versions", "a spare projector and a long cable",
	}
}

// nextSteps are promises, in the imperative.
func nextSteps() []string {
	return []string{
		"Send the slides about {topic}", "Introduce {given} to someone in {field}", "Book a table for four near {org}",
		"Ask how the move went", "Return the book on {topic}", "Share the budget template",
		"Find out who runs {event}", "Check in once the pilot has numbers", "Forward the call for speakers",
		"Read the draft and answer within a week", "Invite {given} to {event}", "Bring a jar of the good honey",
		"Put both teams into one call", "Write the recommendation", "Look up the grant that closes soon",
		"Ask {given} for the name of that illustrator",
	}
}
