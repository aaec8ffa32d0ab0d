package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"
)

// chains is the number of agents that refresh at the same time.
const chains = 64

// The public client of the grants.
const (
	benchClient   = "cli_01J00000000000000000000000"
	benchRedirect = "https://bench.example/callback"
)

// refreshToken is the first refresh token of an agent.
func refreshToken(i int) string {
	return fmt.Sprintf("kith_rt_bench_%06d_0123456789abcdef0123456789abcdef", i)
}

// grants creates a client with grants of a member, each with its first refresh token.
func (d *database) grants(ctx context.Context, owner string) error {
	const timestamp = "2006-01-02 15:04:05.999999-07:00"
	now, expires := time.Now().UTC().Format(timestamp), time.Now().UTC().Add(24*time.Hour).Format(timestamp)
	var grants, access, refresh []string
	for i := range chains {
		sum := sha256.Sum256([]byte(refreshToken(i)))
		grants = append(grants, fmt.Sprintf("('gra_bench%d', '%s', '%s', '%s', '', '', '%s')", i, owner, benchClient, scopes, now))
		access = append(access, fmt.Sprintf("('gra_bench%d', 'bench%d', '%s', '%s', '%s')", i, i, scopes, now, expires))
		refresh = append(refresh, fmt.Sprintf("('%s', 'gra_bench%d', '%s', '%s')", hex.EncodeToString(sum[:]), i, now, expires))
	}
	return errors.Join(
		d.insert(ctx, "clients (id, name, redirect_uris, created_at)", []string{fmt.Sprintf(`('%s', 'bench', '["%s"]', '%s')`, benchClient, benchRedirect, now)}),
		d.insert(ctx, "grants (id, member_id, client_id, scopes, tools, resource, created_at)", grants),
		d.insert(ctx, "access_tokens (grant_id, hash, scopes, created_at, expires_at)", access),
		d.insert(ctx, "refresh_tokens (hash, grant_id, created_at, expires_at)", refresh))
}
