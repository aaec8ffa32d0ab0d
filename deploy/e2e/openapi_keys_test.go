package e2e

import (
	"net/http"
	"strings"
	"testing"
)

// checkKeys sends keyed requests again: while the first is being worked on, when it
// is answered, and with another body. Where a key is documented, all three are.
func (c *contract) checkKeys(t *testing.T) {
	s := newService(t, onSQLite)
	s.limitAll("100000/3600")
	s.start()
	keyed := s.contract(t)
	for id, op := range keyed.operations {
		if op.page() { // a form may be answered with such a status for other reasons
			continue
		}
		documented := op.Parameters.GetByInAndName("header", "Idempotency-Key") != nil
		conflict := op.Responses.Status(http.StatusConflict) != nil && id != "startJob" // which has one of its own
		if conflict != documented || (op.Responses.Status(http.StatusUnprocessableEntity) != nil) != documented {
			t.Errorf("%s: of the key, the 409 and the 422 only some are documented", id)
		}
		if documented {
			keyed.checkKey(t, op)
		}
	}
	c.learn(keyed)
}

func (c *contract) checkKey(t *testing.T, op *operation) {
	t.Helper()
	k := c.asDocumented(t, op, effective(op))
	d := door{service: c.service, path: op.path, does: func(string) string { return k.body }}
	if strings.Contains(strings.Join(k.headers, "\n"), "Authorization") {
		d.bearer = c.ada.bearer
	}
	key := keyLine(newWord())
	release := c.service.hold(t)
	f := d.takeOff(t, k.body, key)
	release()
	first := <-f.answer
	again, reused := d.send(t, k.body, key), d.send(t, k.body+" ", key)
	for what, got := range map[string]struct {
		answer
		want     int
		replayed string
	}{
		"early":       {f.early[0], http.StatusConflict, ""},
		"the first":   {first, first.status, ""},
		"again":       {again, first.status, "true"},
		"another one": {reused, http.StatusUnprocessableEntity, ""},
	} {
		c.check(t, op, got.answer)
		if got.status != got.want || got.header.Get("Idempotency-Replayed") != got.replayed {
			t.Errorf("%s, %s: got %d %v %s", op.OperationID, what, got.status, got.header, got.body)
		}
	}
}

// effective is the name of the example with a body that does something.
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
