package openapi

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// checkKeys repeats requests with a key: while the first is running, after its answer, and
// with another body. An operation that documents a key must document all three answers.
func (c *contract) checkKeys(t *testing.T) {
	s := harness.NewService(t, harness.SQLite)
	s.LimitAll("100000/3600")
	s.Start()
	contract := readContract(t, s)
	for id, op := range contract.operations {
		// A form can get such a status for other reasons; a refresh is never refused for its key, see checkTokens.
		if op.page() || id == "getTokens" {
			continue
		}
		documented := op.Parameters.GetByInAndName("header", "Idempotency-Key") != nil
		conflict := op.Responses.Status(http.StatusConflict) != nil && id != "startJob" // which has one of its own
		if conflict != documented || (op.Responses.Status(http.StatusUnprocessableEntity) != nil) != documented {
			t.Errorf("%s: only some of the key, the 409 and the 422 are documented", id)
		}
		if documented {
			contract.checkKey(t, op)
		}
	}
	c.learn(contract)
}

func (c *contract) checkKey(t *testing.T, op *operation) {
	t.Helper()
	k := c.asDocumented(t, op, effective(op))
	d := harness.IdempotentEndpoint{Service: c.service, Path: op.path, MakeBody: func(string) string { return k.body }}
	if strings.Contains(strings.Join(k.headers, "\n"), "Authorization") {
		d.Bearer = c.ada.Bearer
	}
	key := harness.KeyLine(harness.NewWord())
	release := c.service.HoldKeys(t)
	f := d.SendAtOnce(t, k.body, key)
	release()
	first := <-f.Answer
	again, reused := d.Send(t, k.body, key), d.Send(t, k.body+" ", key)
	for what, got := range map[string]struct {
		harness.Response
		want     int
		replayed string
	}{
		"early":       {f.Refused[0], http.StatusConflict, ""},
		"the first":   {first, first.Status, ""},
		"again":       {again, first.Status, "true"},
		"another one": {reused, http.StatusUnprocessableEntity, ""},
	} {
		c.check(t, op, got.Response)
		if got.Status != got.want || got.Header.Get("Idempotency-Replayed") != got.replayed {
			t.Errorf("%s, %s: got %d %v %s", op.OperationID, what, got.Status, got.Header, got.Body)
		}
	}
}

// effective returns the name of the example whose body has an effect.
func effective(op *operation) string {
	for _, media := range op.RequestBody.Value.Content {
		for _, name := range []string{"account", "search"} { // an MCP server's
			if media.Examples[name] != nil {
				return name
			}
		}
	}
	return ""
}
