package rpc_test

import (
	"fmt"
	"strings"
	"testing"
)

// A tag is renamed for everyone who has it, archived people too. If it is merged into another tag,
// an undo restores both.
func TestRenameTag(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		b.made(t, `{"name":"Ana","tags":["Investor","rowing"]}`)
		b.made(t, `{"name":"Ben","tags":["investor","angel"]}`)
		b.made(t, `{"name":"Cleo","tags":["angel"]}`)
		old := b.made(t, `{"name":"Dora","tags":["investor"]}`)
		b.call(t, archivePath, `{"ids":["`+old+`"]}`)
		rename := func(body string) answer { return b.call(t, "/kith.organize.v1.OrganizeService/RenameTag", body) }
		count := func(tag string) any { return b.call(t, searchPath, `{"tag":["`+tag+`"]}`).at("count") }

		dry := rename(`{"from":"investor","to":"angel","dry_run":true}`)
		if dry.at("changed") != 3.0 || dry.at("change_id") != nil || count("investor") != 2.0 {
			t.Errorf("dry run: %v", dry.body)
		}
		merged := rename(`{"from":"INVESTOR","to":"angel"}`)
		if merged.at("changed") != 3.0 || count("angel") != 3.0 || b.call(t, searchPath, `{"tag":["angel"],"archived":true}`).at("count") != 1.0 {
			t.Errorf("merged: %v", merged.body)
		}
		if again := rename(`{"from":"investor","to":"angel"}`); again.code() != "invalid_argument" || !strings.Contains(again.message(), `from: nobody has the tag "investor"`) {
			t.Errorf("again: %v", again.body)
		}
		undone := b.call(t, undoChange, fmt.Sprintf(`{"change_id":%q,"dry_run":false}`, merged.at("change_id")))
		if undone.code() != "" || count("angel") != 2.0 || count("investor") != 2.0 {
			t.Errorf("undone: %v", undone.body)
		}
		for body, says := range map[string]string{
			`{"from":"invstor","to":"angel"}`:     `nearest: "Investor"`,
			`{"from":"investor","to":"INVESTOR"}`: "to: is the same tag",
			`{"from":"investor","to":" \u200b"}`:  "to",
			`{"from":"investor"}`:                 "to",
		} {
			if got := rename(body); got.code() != "invalid_argument" || !strings.Contains(got.message(), says) {
				t.Errorf("%s: %v", body, got.body)
			}
		}
	})
}
