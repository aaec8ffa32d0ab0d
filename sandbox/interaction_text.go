package sandbox

// introductionSummaries name the newcomer by {given} and the introducer by {others}.
func introductionSummaries() []string {
	return []string{
		"{others} introduced {given} from {org} by e-mail; the common thread is {topic}.",
		"Three-way mail: {others} thinks {given} and I should talk about {topic}.",
		"{others} brought {given} along to lunch and left us to it.",
		"Warm introduction from {others}. {given} wants {wish}.",
		"{others} put {given} and me in one thread about {topic}. Answered the same day.",
	}
}

// conversationSummaries are for interactions with one person.
func conversationSummaries(kind string) []string {
	switch kind {
	case "meeting":
		return []string{
			"Coffee with {given}; mostly about {topic}.",
			"Lunch near {org}. {given} wants {wish}.",
			"Walked along the river with {given} and talked through {topic}.",
			"{given} showed me around {org}. Impressive, and very loud.",
			"Working session on {topic} with {given}; we filled two whiteboards.",
			"Breakfast with {given} while passing through {city}.",
			"Caught up with {given} after {event}. Good mood, tired eyes.",
			"Compared notes with {given} on {topic}: what worked, what did not.",
			"Met {given} at {event} and skipped a talk to discuss {topic}.",
		}
	case "call":
		return []string{
			"Call about {topic}. {given} is further along than I thought.",
			"Quick call: {given} offers {offer}.",
			"{given} rang from the train; the line broke off at the interesting part about {topic}.",
			"Monthly call with {given}. Main subject {topic}.",
			"Called {given} to ask about {field}; got two names.",
			"Video call with {given} and a very curious cat. Agreed on a plan for {topic}.",
			"{given} needed a sounding board on {topic}; mostly listened.",
			"Call with {given}, who needs {wish}.",
		}
	case "email":
		return []string{
			"Sent {given} the notes on {topic}.",
			"{given} answered at last: yes to {event}.",
			"Long mail from {given} about {topic}; worth a second reading.",
			"Asked {given} for an opinion on {topic}.",
			"{given} forwarded a job advert from {org}.",
			"Thank-you mail after {event}.",
			"Wrote to {given}: who do they know in {field}?",
			"Congratulated {given} on the new role at {org}.",
		}
	case "message":
		return []string{
			"{given} sent a photo from {event}.",
			"Short exchange about {topic}: {given} has time next month.",
			"Wished {given} luck for {event}.",
			"{given} asked for {wish}. Said I would think about it.",
			"Voice message from {given}, seven minutes, all of it on {topic}.",
			"Sent {given} an article on {topic}.",
		}
	default:
		return []string{
			"Received a postcard from {given}, written in {city}.",
			"Left a book on {topic} at {org} for {given}.",
			"{given} quoted me in a piece on {topic}.",
			"Wrote a reference for {given}.",
		}
	}
}

// gatheringSummaries name everyone by {others}.
func gatheringSummaries(kind string) []string {
	if kind == "event" {
		return []string{
			"Long table at {event} with {others}.",
			"Dinner at mine with {others}. Two of them should work together on {topic}.",
			"Ran into {others} at {event}; the panel on {topic} went over time.",
			"Workshop on {topic} at {event}. {others} came, all stayed to the end.",
			"Hosted the newcomers' evening; {others} stayed to help with the chairs.",
		}
	}
	return []string{
		"Round table with {others} on {topic}.",
		"Planning for {event} with {others}. Budget still open.",
		"Put {others} in one room: shared interest in {topic}.",
		"Working lunch with {others}; next step is a one-page plan about {topic}.",
		"Retrospective of {event} with {others}.",
	}
}

// followUps end a summary.
func followUps() []string {
	return []string{
		"To do: {next}.", "Promised to be in touch within the month.", "Is looking for {wish}.", "Offers {offer}.",
		"No action needed.", "They sounded worried about money.", "Great energy, keep close.", "Next time in {city}.",
		"Mentioned a possible opening at {org}.", "Asked me to keep this between us.", "{detail}.",
		"Wants an answer before the end of the quarter.", "Follow up after {event}.", "We laughed a lot.",
	}
}
