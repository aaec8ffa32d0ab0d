// Package calendar reads calendars (iCalendar, RFC 5545) that other programs publish: which meetings took place in a span of
// time, and who was there. It also writes calendars to which other programs subscribe.
//
// Feeds are read as they are, not as they should be. An event that can't be read is left out with a warning, never the whole feed.
// Reading is bounded: the bytes of a feed, the occurrences of an event, and those of a feed.
package calendar
