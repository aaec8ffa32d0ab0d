package backendtest

// NoLimits switches rate policies off, for tests that are about something else.
func NoLimits(policies []string) map[string]string {
	off := make(map[string]string, len(policies))
	for _, name := range policies {
		off[name] = "off"
	}
	return off
}
