package admin

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// checkHost refuses requests whose Host is a name that is not the listener's. By DNS
// rebinding a web page gives its own name the listener's address, and could then
// read what is served here; it cannot choose the Host that a browser sends.
func (o Options) checkHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !o.isOurs(hostOf(r.Host)) {
			writeText(w, http.StatusMisdirectedRequest,
				"This listener does not answer for that host. Use its IP address, or add the name to KITH_ADMIN_HOSTS.\n")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isOurs tells whether the listener answers for a host. Requests of HTTP/1.0, which
// health checks still use and no browser sends, may have none.
func (o Options) isOurs(host string) bool {
	if host == "" || host == "localhost" || slices.ContainsFunc(o.Hosts, func(h string) bool { return strings.EqualFold(h, host) }) {
		return true
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	ip, bound := ip.Unmap().WithZone(""), o.bound()
	return ip.IsLoopback() || bound.IsUnspecified() || ip == bound
}

// bound is the IP address that the listener is bound to; loopback when it is unknown.
func (o Options) bound() netip.Addr {
	if tcp, ok := o.Addr.(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap().WithZone("")
	}
	return netip.IPv6Loopback()
}

// hostOf is a Host header without its port and in lower case.
func hostOf(header string) string {
	host := header
	if h, _, err := net.SplitHostPort(header); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.TrimSuffix(strings.ToLower(host), ".")
}
