package account

import (
	"net/netip"
	"strings"
)

// DeviceOf returns the browser and the system of a User-Agent header, such as "Firefox on Linux".
// The words are from a closed set, whatever the header contains.
func DeviceOf(userAgent string) string {
	const maxHeader = 512
	userAgent = userAgent[:min(len(userAgent), maxHeader)]
	// Most browsers also name others that they are compatible with, so the first match counts.
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

// firstOf returns the name of the first mark that the text contains; empty if it contains none.
func firstOf(text string, marks [][2]string) string {
	for _, mark := range marks {
		if strings.Contains(text, mark[0]) {
			return mark[1]
		}
	}
	return ""
}

// CoarseAddress returns the network of a client: the /24 of an IPv4 address, the /48 of an IPv6
// one. Addresses that members can read are stored in this form. It takes an address, or a network
// from AddressBucket; for anything else it returns "".
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
