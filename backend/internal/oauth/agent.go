package oauth

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/proto/catalog"
)

// ErrPaused is the error of a refresh while the member has paused the agent.
var ErrPaused = errors.New("the agent is paused")

// step is a statement with its arguments.
type step struct {
	statement string
	args      []any
}

// endPending returns the steps that end the requests and the unused codes of an agent. Run them
// first: each waits until concurrent answers and exchanges have committed, so that the next
// statement finds what they created.
func endPending(owner tenant.ID, clientID string) []step {
	return []step{
		{`DELETE FROM authorization_requests WHERE client_id = ?
AND session_hash IN (SELECT hash FROM login_sessions WHERE member_id = ?)`, []any{clientID, owner}},
		{"DELETE FROM authorization_codes WHERE client_id = ? AND member_id = ? AND used_at IS NULL", []any{clientID, owner}},
	}
}

// takeSteps runs steps in one transaction, which first locks the member. It fails with fault.NotFound if they changed
// nothing.
func takeSteps(ctx context.Context, s *db.DB, owner tenant.ID, steps []step) error {
	changed := int64(0)
	err := s.Write(ctx, func(ctx context.Context, tx db.Querier) error {
		changed = 0
		if err := account.LockForChange(ctx, tx, owner); err != nil {
			return err
		}
		for _, step := range steps {
			result, err := tx.NewRaw(step.statement, step.args...).Exec(ctx)
			if err != nil {
				return err
			}
			n, err := result.RowsAffected()
			if err != nil {
				return err
			}
			changed += n
		}
		return nil
	})
	if err == nil && changed == 0 {
		return noSuchAgent()
	}
	return err
}

func noSuchAgent() error { return fault.New(fault.NotFound, "there is no such connected agent") }

// RevokeAgent ends all access of a client to the member's account: every grant with its
// tokens, every unused code, and every request that waits for consent. It fails with
// fault.NotFound if there is none of these.
func RevokeAgent(ctx context.Context, s *db.DB, owner tenant.ID, clientID string) error {
	return takeSteps(ctx, s, owner, append(endPending(owner, clientID), step{
		"UPDATE grants SET revoked_at = ? WHERE client_id = ? AND member_id = ? AND revoked_at IS NULL", []any{s.Now(), clientID, owner},
	}))
}

// PauseAgent pauses all grants of a client: every call and refresh fails until ResumeAgent. It
// also ends the client's unused codes and its requests that wait for consent. Calls that are
// already running continue. It fails with fault.NotFound if there is nothing to pause.
func PauseAgent(ctx context.Context, s *db.DB, owner tenant.ID, clientID string) error {
	return takeSteps(ctx, s, owner, append(endPending(owner, clientID), step{
		"UPDATE grants SET paused_at = ? WHERE client_id = ? AND member_id = ? AND revoked_at IS NULL AND paused_at IS NULL",
		[]any{s.Now(), clientID, owner},
	}))
}

// ResumeAgent ends the pause of a client's grants; their tokens work as before. It fails
// with fault.NotFound if none is paused.
func ResumeAgent(ctx context.Context, s *db.DB, owner tenant.ID, clientID string) error {
	return takeSteps(ctx, s, owner, []step{{
		"UPDATE grants SET paused_at = NULL WHERE client_id = ? AND member_id = ? AND revoked_at IS NULL AND paused_at IS NOT NULL",
		[]any{clientID, owner},
	}})
}

// SetAsks sets, for all grants of a client, which acts need the member's approval. It fails with
// fault.NotFound if the client has no grant.
func SetAsks(ctx context.Context, s *db.DB, owner tenant.ID, clientID string, asks tenant.ApprovalPolicy) error {
	return takeSteps(ctx, s, owner, []step{{
		"UPDATE grants SET asks = ? WHERE client_id = ? AND member_id = ? AND revoked_at IS NULL", []any{asks.String(), clientID, owner},
	}})
}

// asksFirst reports whether the consent page suggests that a client needs the member's approval for some acts: if one of its
// live grants does, or if it has none yet.
func asksFirst(ctx context.Context, s *db.DB, owner tenant.ID, clientID string) (bool, error) {
	var live, asking int
	err := s.NewRaw("SELECT count(*), coalesce(sum(CASE WHEN asks <> '' THEN 1 ELSE 0 END), 0) FROM grants WHERE client_id = ? AND member_id = ? AND revoked_at IS NULL",
		clientID, owner).Scan(ctx, &live, &asking)
	return live == 0 || asking > 0, err
}

// NarrowAgent limits every grant of a client to the scopes and, if tools has any, to the tools. It
// never adds to a grant, and revokes one that permits nothing any more. The new limits apply from
// the next call on, also to access tokens that were issued before. It also ends the unused codes
// and the waiting requests of the client. It fails with fault.NotFound if the client has no grant,
// and with fault.Invalid, and changes nothing, if no grant would be left.
func NarrowAgent(ctx context.Context, s *db.DB, owner tenant.ID, clientID string, scopes, tools []string) error {
	return s.Write(ctx, func(ctx context.Context, tx db.Querier) error {
		grants, err := lockGrants(ctx, s, tx, owner, clientID)
		if err != nil {
			return err
		}
		for _, step := range endPending(owner, clientID) {
			if _, err := tx.NewRaw(step.statement, step.args...).Exec(ctx); err != nil {
				return err
			}
		}
		left := 0
		for _, g := range grants {
			kept := both(strings.Fields(g.Scopes), scopes)
			limit, noTool := strings.Fields(g.Tools), false
			if len(limit) == 0 {
				limit = tools
			} else if len(tools) > 0 {
				limit = both(limit, tools)
				noTool = len(limit) == 0 // an empty list means no limit
			}
			if noTool || permitsNothing(kept) {
				_, err = tx.NewRaw("UPDATE grants SET revoked_at = ? WHERE id = ?", s.Now(), g.ID).Exec(ctx)
			} else {
				left++
				_, err = tx.NewRaw("UPDATE grants SET scopes = ?, tools = ? WHERE id = ?", strings.Join(kept, " "), strings.Join(limit, " "), g.ID).Exec(ctx)
			}
			if err != nil {
				return err
			}
		}
		if left == 0 {
			return fault.InvalidField("scope", "choose at least one of those that it has")
		}
		return nil
	})
}

// WidenAgent adds scopes to every grant of a client, and never removes any. If they include write, it also adds the tools to
// those that a grant is limited to; a grant that could write without such a limit gets none, and an empty list of tools ends the
// limit. Access tokens with all scopes of their grant get the new scopes too. It fails with fault.NotFound if the client
// has no grant.
func WidenAgent(ctx context.Context, s *db.DB, owner tenant.ID, clientID string, scopes, tools []string) error {
	return s.Write(ctx, func(ctx context.Context, tx db.Querier) error {
		grants, err := lockGrants(ctx, s, tx, owner, clientID)
		if err != nil {
			return err
		}
		for _, g := range grants {
			had := strings.Fields(g.Scopes)
			has := append(had, slices.DeleteFunc(slices.Clone(scopes), func(scope string) bool { return slices.Contains(had, scope) })...)
			limit := strings.Fields(g.Tools)
			switch writes := slices.Contains(had, catalog.ScopeWrite); {
			case !slices.Contains(scopes, catalog.ScopeWrite): // tools stay as they are
			case len(tools) == 0 || writes && len(limit) == 0:
				limit = nil
			default:
				limit = slices.Compact(slices.Sorted(slices.Values(append(limit, tools...))))
			}
			wide := strings.Join(has, " ")
			for _, step := range []step{
				{"UPDATE access_tokens SET scopes = ? WHERE grant_id = ? AND scopes = ?", []any{wide, g.ID, g.Scopes}},
				{"UPDATE grants SET scopes = ?, tools = ? WHERE id = ?", []any{wide, strings.Join(limit, " "), g.ID}},
			} {
				if _, err := tx.NewRaw(step.statement, step.args...).Exec(ctx); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// lockGrants locks and returns the live grants of a client. It fails with fault.NotFound if there is none.
func lockGrants(ctx context.Context, s *db.DB, tx db.Querier, owner tenant.ID, clientID string) (grants []Grant, err error) {
	if err := account.LockForChange(ctx, tx, owner); err != nil {
		return nil, err
	}
	// The update changes nothing, but it locks the grants.
	err = tx.NewRaw("UPDATE grants SET client_id = client_id WHERE client_id = ? AND member_id = ? AND revoked_at IS NULL RETURNING ?",
		clientID, owner, db.Columns[Grant](s)).Scan(ctx, &grants)
	if err == nil && len(grants) == 0 {
		err = noSuchAgent()
	}
	return grants, err
}

// permitsNothing reports whether scopes name no area.
func permitsNothing(scopes []string) bool {
	return len(scopes) == 0 || len(scopes) == 1 && scopes[0] == catalog.ScopeWrite
}
