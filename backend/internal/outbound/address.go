package outbound

import (
	"net/netip"
	"slices"
)

// globalIPv6 is the part of IPv6 that is assigned to the public internet. Everything
// else is refused, so the list of exceptions below stays short: loopback, link-local,
// unique local, multicast, IPv4-compatible, IPv4-translated and NAT64 addresses are
// outside.
var globalIPv6 = netip.MustParsePrefix("2000::/3")

// notPublic are the blocks of the IANA special-purpose address registries (RFC 6890)
// within IPv4 and within globalIPv6, multicast, and the address at which machines of
// Azure reach their host.
var notPublic = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),         // this network
	netip.MustParsePrefix("10.0.0.0/8"),        // private
	netip.MustParsePrefix("100.64.0.0/10"),     // carrier-grade NAT
	netip.MustParsePrefix("127.0.0.0/8"),       // loopback
	netip.MustParsePrefix("168.63.129.16/32"),  // Azure's host
	netip.MustParsePrefix("169.254.0.0/16"),    // link-local, metadata of cloud machines
	netip.MustParsePrefix("172.16.0.0/12"),     // private
	netip.MustParsePrefix("192.0.0.0/24"),      // IETF protocol assignments
	netip.MustParsePrefix("192.0.2.0/24"),      // documentation
	netip.MustParsePrefix("192.31.196.0/24"),   // AS112
	netip.MustParsePrefix("192.52.193.0/24"),   // AMT
	netip.MustParsePrefix("192.88.99.0/24"),    // 6to4 relays
	netip.MustParsePrefix("192.168.0.0/16"),    // private
	netip.MustParsePrefix("192.175.48.0/24"),   // AS112
	netip.MustParsePrefix("198.18.0.0/15"),     // benchmarks
	netip.MustParsePrefix("198.51.100.0/24"),   // documentation
	netip.MustParsePrefix("203.0.113.0/24"),    // documentation
	netip.MustParsePrefix("224.0.0.0/4"),       // multicast
	netip.MustParsePrefix("240.0.0.0/4"),       // reserved, broadcast
	netip.MustParsePrefix("2001::/23"),         // IETF protocol assignments, Teredo
	netip.MustParsePrefix("2001:db8::/32"),     // documentation
	netip.MustParsePrefix("2002::/16"),         // 6to4, which embeds IPv4
	netip.MustParsePrefix("2620:4f:8000::/48"), // AS112
	netip.MustParsePrefix("3fff::/20"),         // documentation
}

// Public reports whether an address belongs to the public internet. An IPv4 address
// in IPv6 notation counts as the IPv4 address.
func Public(a netip.Addr) bool {
	a = a.Unmap()
	if !a.IsValid() || a.Zone() != "" || a.Is6() && !globalIPv6.Contains(a) {
		return false
	}
	return !slices.ContainsFunc(notPublic, func(p netip.Prefix) bool { return p.Contains(a) })
}
