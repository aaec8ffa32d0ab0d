package clientip

import (
	"fmt"
	"net/netip"
	"strings"
)

// parsePrefix reads a CIDR or a single address.
func parsePrefix(s string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(s)
	if err != nil {
		addr, ok := parseAddr(s)
		if !ok {
			return netip.Prefix{}, fmt.Errorf("trusted proxy %q is not a CIDR, such as 10.0.0.0/8, nor an address", s)
		}
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	addr, bits := prefix.Addr(), prefix.Bits()
	if addr.Is4In6() && bits >= 96 {
		addr, bits = addr.Unmap(), bits-96
	}
	if bits == 0 {
		return netip.Prefix{}, fmt.Errorf("trusted proxy %q is everyone, and so every client could claim any address", s)
	}
	return netip.PrefixFrom(addr, bits).Masked(), nil
}

// parseAddr reads an address as peers and proxies write it: alone, in brackets,
// or with a port.
func parseAddr(s string) (netip.Addr, bool) {
	var addr netip.Addr
	var err error
	switch inner, bracket := strings.CutPrefix(s, "["); {
	case bracket && strings.HasSuffix(inner, "]"):
		addr, err = netip.ParseAddr(strings.TrimSuffix(inner, "]"))
	case bracket || strings.Count(s, ":") == 1:
		var withPort netip.AddrPort
		withPort, err = netip.ParseAddrPort(s)
		addr = withPort.Addr()
	default:
		addr, err = netip.ParseAddr(s)
	}
	return addr.Unmap().WithZone(""), err == nil
}
