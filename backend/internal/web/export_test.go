package web

// Routes returns the patterns of all that is served, but for the assets.
func Routes() []string {
	var patterns []string
	for _, r := range routes() {
		patterns = append(patterns, r.pattern)
	}
	return patterns
}

// OnVerify has f told of every hash that a password is checked against. It is to
// be called before the site has visitors.
func (web *Web) OnVerify(f func(hash string)) {
	verify := web.verifyHash
	web.verifyHash = func(hash, given string) bool {
		f(hash)
		return verify(hash, given)
	}
}
