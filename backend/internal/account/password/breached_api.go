package password

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	// rangeDigits is how much of a hash is sent, in hexadecimal digits: hundreds of passwords share
	// these digits.
	rangeDigits = 5
	// rangeTimeout is how long a person waits for the answer, and maxRange limits it, in bytes.
	rangeTimeout = 2 * time.Second
	maxRange     = 1 << 20
)

// breachedAPI asks a server for all hashes with the prefix of the password's hash, so that the
// server learns neither the password nor its hash (k-anonymity).
type breachedAPI struct {
	base   string
	client *http.Client
}

// newBreachedAPI returns the list of a server with the range API of Have I Been Pwned, such as
// https://api.pwnedpasswords.com/range. The address is https, or http on a loopback host.
func newBreachedAPI(base string) (*breachedAPI, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "https" && (u.Scheme != "http" || !isLoopback(u.Hostname())) {
		return nil, errors.New("the address of the API for breached passwords must be like https://api.pwnedpasswords.com/range")
	}
	return &breachedAPI{base: strings.TrimSuffix(base, "/"), client: &http.Client{
		Timeout:       rangeTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// has implements breached. Its errors contain neither the hash nor its prefix.
func (a *breachedAPI) has(ctx context.Context, hash string) (bool, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.base+"/"+hash[:rangeDigits], nil)
	if err != nil {
		return false, errors.New("make the request")
	}
	req.Header.Set("User-Agent", "kith")
	req.Header.Set("Add-Padding", "true") // so that the length of the answer does not reveal the range
	res, err := a.client.Do(req)
	if err != nil {
		return false, withoutAddress(err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return false, fmt.Errorf("the API answers %d", res.StatusCode)
	}
	lines := bufio.NewScanner(io.LimitReader(res.Body, maxRange))
	for lines.Scan() {
		rest, count, _ := strings.Cut(strings.TrimSpace(lines.Text()), ":")
		if strings.EqualFold(rest, hash[rangeDigits:]) && count != "0" { // padding has the count 0
			return true, nil
		}
	}
	return false, withoutAddress(lines.Err())
}

// withoutAddress returns the cause of an error of a request, without the request's address.
func withoutAddress(err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return failed.Err
	}
	return err
}
