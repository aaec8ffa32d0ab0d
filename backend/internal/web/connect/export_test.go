package connect

// IsPrivate is isPrivate for tests.
var IsPrivate = isPrivate
