package admin

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// checkHost refuses requests whose Host is not the listener's. By DNS rebinding, a web
// page can give its own name the listener's address and then read the responses; but it
// cannot choose the Host that the browser sends.
func (o Options) checkHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !o.allowedHost(hostOf(r.Host)) {
			writeText(w, http.StatusMisdirectedRequest,
				"This listener does not serve that host. Use its IP address, or add the name to KITH_ADMIN_HOSTS.\n")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// allowedHost reports whether the listener serves requests for a host. HTTP/1.0 requests,
// which health checks still use and no browser sends, may have no Host.
func (o Options) allowedHost(host string) bool {
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

// bound returns the IP address of the listener; a loopback address if it is unknown.
func (o Options) bound() netip.Addr {
	if tcp, ok := o.Addr.(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap().WithZone("")
	}
	return netip.IPv6Loopback()
}

// hostOf returns a Host header without its port, in lower case.
func hostOf(header string) string {
	host := header
	if h, _, err := net.SplitHostPort(header); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.TrimSuffix(strings.ToLower(host), ".")
}
