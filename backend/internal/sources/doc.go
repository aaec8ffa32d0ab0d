// Package sources brings in what other programs know, again and again: at present the meetings of calendars.
//
// A source is a row with an encrypted address. A job of the member reads the sources that are due. It fetches and reads a calendar outside
// of transactions, compares it with the meetings that are stored for the source, and writes what differs in steps, each in one
// transaction: what is logged, changed and removed on the timeline (timeline.SyncInteractions, one change a step, undone together as an
// import), and the rows of source_meetings by which the next run knows them. A run that is killed goes on where its last step ended.
//
// A meeting is logged when it is over, with the people who are recognised by an e-mail address that only one of them has. A meeting ahead
// is only stored; Today shows it. A meeting that a calendar no longer has stays logged, because many calendars publish the last weeks
// only; one that it says is cancelled goes, unless the member has changed it since.
package sources
