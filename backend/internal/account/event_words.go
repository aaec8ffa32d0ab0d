package account

import (
	"fmt"
	"strconv"
)

// Sentence describes the event. object is the name of the agent, token or factor that it concerns;
// it may be empty.
func (e *SecurityEvent) Sentence(object string) string {
	if words, ok := objectWords()[e.Kind]; ok {
		if object == "" {
			return words[1]
		}
		return fmt.Sprintf(words[0], "“"+object+"”")
	}
	if words, ok := countedWords()[e.Kind]; ok {
		if e.Times > 1 {
			return strconv.Itoa(e.Times) + words[1]
		}
		return words[0]
	}
	if words := plainWords()[e.Kind]; words != "" {
		return words
	}
	return string(e.Kind)
}

// objectWords are the sentence with the name of an object, and the one without.
func objectWords() map[EventKind][2]string {
	return map[EventKind][2]string{
		AgentAllowed:  {"Connected the agent %s", "Connected an agent"},
		AgentNarrowed: {"Reduced the access of the agent %s", "Reduced the access of an agent"},
		AgentPaused:   {"Paused the agent %s", "Paused an agent"},
		AgentResumed:  {"Resumed the agent %s", "Resumed an agent"},
		AgentAsks:     {"Changed which actions of %s need approval", "Changed which actions of an agent need approval"},
		TokenCreated:  {"Made the personal token %s", "Made a personal token"},
		AccessRevoked: {"Revoked the access of %s", "Revoked access"},
		FactorAdded:   {"Added the second factor %s", "Added a second factor"},
		FactorRemoved: {"Removed the second factor %s", "Removed a second factor"},
		PasskeyCloned: {"Refused the passkey %s: there may be a copy of it", "Refused a passkey: there may be a copy of it"},
		FactorUsed:    {"Confirmed with %s", "Confirmed with a second factor"},
	}
}

// countedWords are the sentence for one event, and the words after the number of several.
func countedWords() map[EventKind][2]string {
	return map[EventKind][2]string{
		SignInFailed:        {"Failed sign-in", " failed sign-ins"},
		SignInBlocked:       {"Sign-in blocked after many failures", " sign-ins blocked after many failures"},
		PasswordCheckFailed: {"Wrong password in the settings", " wrong passwords in the settings"},
		FactorFailed:        {"Wrong second factor", " wrong second factors"},
	}
}

func plainWords() map[EventKind]string {
	return map[EventKind]string{
		SignedIn:           "Signed in",
		SignedInNew:        "Signed in on a new device",
		SignedOut:          "Signed out",
		SessionEnded:       "Ended the session of another browser",
		OtherSessionsEnded: "Ended the sessions of all other browsers",
		SessionsEnded:      "Signed out everywhere",
		RecoveryCodeUsed:   "Used a recovery code",
		RecoveryCodesMade:  "Made new recovery codes",
		FactorsReset:       "Removed every second factor",
		PasswordChanged:    "Changed the password",
		PasswordReset:      "Set a new password without the old one",
		EmailChangeAsked:   "Asked for another e-mail address",
		EmailChanged:       "Changed the e-mail address",
		EmailVerified:      "Confirmed the e-mail address",
		IdentityLinked:     "Connected an identity provider",
		IdentityUnlinked:   "Disconnected the identity provider",
		AccountExported:    "Exported the account",
		PeopleExported:     "Downloaded a file with people",
		DeletedForGood:     "Deleted people for good",
		AccountDeleted:     "Deleted the account",
		ProfileShown:       "Let more people see the profile",
		SendingAllowed:     "Allowed texts to be sent for search by meaning",
		OwnerLinkUsed:      "Created the account with the owner link",
		NotMe:              "Said “this was not me”: all access ended",
		RestorationOpposed: "Objected to giving the account its previous e-mail address back",
		MemberSuspended:    "Suspended the account",
		MemberResumed:      "Resumed the account",
		AccountMoved:       "Exported the account to another installation, and suspended it here",
		AccountImported:    "Imported the account from another installation",
		PlanSet:            "Set the plan",
		LimitsSet:          "Set the limits of the account",
		SettingsSet:        "Set the time zone or the language",
	}
}
