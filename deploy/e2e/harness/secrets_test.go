package harness

import "testing"

func TestLeaksAreFound(t *testing.T) {
	t.Parallel()
	list := newSecretList()
	note := list.Text("note")
	if kind, line := list.leak("one\ntwo " + note + "!\nthree\n"); kind != "note" || line != "two "+note+"!" {
		t.Errorf("got %q %q", kind, line)
	}
	if kind, _ := list.leak("one\ntwo\n"); kind != "" {
		t.Errorf("got %q", kind)
	}
	list.keepBody(`{"params":{"arguments":{"name":"ordinary","emails":["ada@friend.example"],"body":"a \"quoted\" secret"}}}`)
	list.keepBody("login=somebody-else&password=correct+horse")
	for text, want := range map[string]string{
		"mail to ada@friend.example failed": "emails", `{"error":"a \"quoted\" secret"}`: "body", "correct horse": "password",
		"ordinary": "", "somebody-else": "",
	} {
		if kind, _ := list.leak(text); kind != want {
			t.Errorf("%s: got %q, want %q", text, kind, want)
		}
	}
}
