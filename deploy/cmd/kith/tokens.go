package main

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/server"
)

type tokenCommand struct {
	Create tokenCreate `cmd:"" help:"Create a personal token. It is the last line of the output and is not shown again."`
	List   tokenList   `cmd:"" help:"List a member's personal tokens."`
	Revoke tokenRevoke `cmd:"" help:"Revoke a personal token."`
}

type tokenCreate struct {
	Username string   `arg:""`
	Name     string   `required:"" help:"What the token is for."`
	Scope    []string `sep:"none" help:"A scope of the token; repeat the flag for more. Default: those that its tools need, or all."`
	Tool     []string `sep:"none" help:"A tool that the token is limited to; repeat the flag for more. Default: no limit."`
	Expires  string   `default:"never" placeholder:"30d|2027-01-31|never" help:"When the token expires: after a time (30d, 720h), at the beginning of a day (UTC), or never."`
}

func (c tokenCreate) Run(p *program) error {
	ends, err := expiry(c.Expires, time.Now())
	if err != nil {
		return err
	}
	return p.withQuietAdmin(func(a *server.Admin) error {
		made, bearer, err := a.CreateToken(p.ctx, server.NewToken{Username: c.Username, Name: c.Name, Scopes: c.Scope, Tools: c.Tool, ExpiresAt: ends})
		if err == nil {
			_, err = fmt.Fprintf(p.out, "%s%s\n", describeToken(c.Username, made), bearer)
		}
		return err
	})
}

// expiry parses --expires; the zero time means never.
func expiry(given string, now time.Time) (time.Time, error) {
	if given == "never" {
		return time.Time{}, nil
	}
	if day, err := time.Parse(time.DateOnly, given); err == nil {
		return day, nil
	}
	length, err := time.ParseDuration(given)
	if days, found := strings.CutSuffix(given, "d"); found {
		var n uint64
		n, err = strconv.ParseUint(days, 10, 16)
		length = time.Duration(n) * 24 * time.Hour
	}
	if err != nil || length <= 0 {
		return time.Time{}, fmt.Errorf("--expires %q is not valid: use a duration such as 30d or 720h, a day such as 2027-01-31, or never", given)
	}
	return now.Add(length), nil
}

// describeToken describes what a token may do and when it expires, in lines.
func describeToken(username string, t server.TokenInfo) string {
	limit := "It may call every tool of these scopes."
	if len(t.Tools) > 0 {
		limit = "It may call only " + strings.Join(t.Tools, ", ") + "."
	}
	ends := "It does not expire."
	if !t.ExpiresAt.IsZero() {
		ends = "It expires at " + date(t.ExpiresAt) + "."
	}
	return fmt.Sprintf("Token %s (%s) of %s holds the scopes %s.\n%s\n%s\nKeep the token below: it is not shown again.\n",
		t.Name, t.ID, username, strings.Join(t.Scopes, ", "), limit, ends)
}

type tokenList struct {
	Username string `arg:""`
}

func (c tokenList) Run(p *program) error {
	return p.withQuietAdmin(func(a *server.Admin) error {
		tokens, err := a.ListTokens(p.ctx, c.Username)
		if err != nil {
			return err
		}
		rows := [][]string{{"ID", "NAME", "SCOPES", "TOOLS", "CREATED", "EXPIRES", "LAST USED", "REVOKED"}}
		for _, t := range tokens {
			rows = append(rows, []string{t.ID, t.Name, strings.Join(t.Scopes, " "), cmp.Or(strings.Join(t.Tools, " "), "-"), date(t.CreatedAt), date(t.ExpiresAt), date(t.LastUsedAt), date(t.RevokedAt)})
		}
		return table(p.out, rows)
	})
}

type tokenRevoke struct {
	Username string `arg:""`
	ID       string `arg:"" help:"The token's id, from kith token list."`
}

func (c tokenRevoke) Run(p *program) error {
	return p.withQuietAdmin(func(a *server.Admin) error {
		if err := a.RevokeToken(p.ctx, c.Username, c.ID); err != nil {
			return err
		}
		return p.print("Token %s is revoked.", c.ID)
	})
}
