package account

import (
	"net/netip"
	"strings"
)

// DeviceOf returns the browser and the system that a User-Agent header names, in words such as
// "Firefox on Linux". The words are from a closed set, whatever the header holds.
func DeviceOf(userAgent string) string {
	const maxHeader = 512
	userAgent = userAgent[:min(len(userAgent), maxHeader)]
	// Most browsers name others, which they are like: the first that is found counts.
	browser := firstOf(userAgent, [][2]string{
		{"Edg", "Edge"}, {"OPR/", "Opera"}, {"SamsungBrowser/", "Samsung Internet"}, {"Vivaldi/", "Vivaldi"}, {"FxiOS/", "Firefox"},
		{"Firefox/", "Firefox"}, {"CriOS/", "Chrome"}, {"Chrome/", "Chrome"}, {"Safari/", "Safari"},
	})
	system := firstOf(userAgent, [][2]string{
		{"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Android", "Android"}, {"Windows", "Windows"}, {"CrOS", "ChromeOS"},
		{"Mac OS X", "macOS"}, {"Linux", "Linux"},
	})
	switch {
	case browser == "" && system == "":
		return "an unknown browser"
	case browser == "":
		return "an unknown browser on " + system
	case system == "":
		return browser
	}
	return browser + " on " + system
}

// firstOf returns the name of the first mark that the text contains; empty if it has none.
func firstOf(text string, marks [][2]string) string {
	for _, mark := range marks {
		if strings.Contains(text, mark[0]) {
			return mark[1]
		}
	}
	return ""
}

// CoarseAddress returns the network of a client, the form in which addresses are kept for
// members to read: the /24 of an IPv4 address, the /48 of an IPv6 one. It takes an address, or a
// network as AddressBucket returns it. Anything else is empty.
func CoarseAddress(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		network, err := netip.ParsePrefix(address)
		if err != nil {
			return ""
		}
		ip = network.Addr()
	}
	const bits4, bits6 = 24, 48
	ip = ip.Unmap().WithZone("")
	bits := bits6
	if ip.Is4() {
		bits = bits4
	}
	network, err := ip.Prefix(bits)
	if err != nil {
		return ""
	}
	return network.String()
}
