package status

// CheckedAlerts returns the alerts whose limits the page checks.
func CheckedAlerts() (names []string) {
	for _, c := range checks() {
		names = append(names, c.alert)
	}
	return names
}
