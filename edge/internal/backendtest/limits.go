package backendtest

// NoLimits disables the rate policies, for tests of other features.
func NoLimits(policies []string) map[string]string {
	off := make(map[string]string, len(policies))
	for _, name := range policies {
		off[name] = "off"
	}
	return off
}
