package outbound_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/outbound"
)

func TestPublicAddresses(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"1.1.1.1", "93.184.216.34", "172.15.255.255", "172.32.0.1", "100.63.255.255", "100.128.0.1", "169.253.255.255", "192.0.1.1",
		"198.17.255.255", "198.20.0.1", "223.255.255.255", "::ffff:93.184.216.34", "2606:4700::6812:202f", "2a00:1450:4001:82a::200e", "2620:4f:8001::1",
	} {
		if !outbound.Public(netip.MustParseAddr(address)) {
			t.Errorf("%s is not public", address)
		}
	}
	for name, addresses := range map[string]string{
		"unspecified":       "0.0.0.0 0.1.2.3 :: ::ffff:0.0.0.0",
		"loopback":          "127.0.0.1 127.255.255.254 ::1 ::ffff:127.0.0.1 ::ffff:7f00:1",
		"private":           "10.0.0.1 10.255.255.255 172.16.0.1 172.31.255.255 192.168.0.1 ::ffff:10.0.0.1 ::ffff:192.168.1.1 fc00::1 fd00:ec2::254 fdff::1",
		"link-local":        "169.254.0.1 169.254.169.254 ::ffff:169.254.169.254 fe80::1 fe80::1%eth0 febf::1",
		"site-local":        "fec0::1",
		"CGNAT":             "100.64.0.1 100.100.100.200 100.127.255.255",
		"multicast":         "224.0.0.1 239.255.255.255 ff02::1 ff0e::1",
		"reserved":          "240.0.0.1 255.255.255.255 ::2 5f00::1 4000::1",
		"documentation":     "192.0.2.1 198.51.100.1 203.0.113.1 2001:db8::1 3fff::1",
		"benchmarks":        "198.18.0.1 198.19.255.255 2001:2::1",
		"protocols":         "192.0.0.192 192.88.99.1 192.31.196.1 192.52.193.1 192.175.48.1 2001:1::1 2620:4f:8000::1",
		"IPv4-compatible":   "::127.0.0.1 ::93.184.216.34",
		"IPv4-translated":   "::ffff:0:127.0.0.1",
		"NAT64":             "64:ff9b::10.0.0.1 64:ff9b::93.184.216.34 64:ff9b:1::1",
		"6to4 and Teredo":   "2002:7f00:1::1 2002:c0a8:101::1 2001::1",
		"discard":           "100::1",
		"a provider's host": "168.63.129.16",
	} {
		for address := range strings.FieldsSeq(addresses) {
			if outbound.Public(netip.MustParseAddr(address)) {
				t.Errorf("%s: %s is public", name, address)
			}
		}
	}
	if outbound.Public(netip.Addr{}) {
		t.Error("no address is public")
	}
}
