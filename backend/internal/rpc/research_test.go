package rpc_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
)

const (
	researchSearch = "/kith.research.v1.ResearchService/Search"
	researchFetch  = "/kith.research.v1.ResearchService/Fetch"
	logPath        = "/kith.timeline.v1.TimelineService/LogInteraction"
)

// withAccess makes a token with scopes, limited to tools unless they are "".
func (b *bundle) withAccess(t *testing.T, scopes, tools string) (bearer string) {
	t.Helper()
	bearer, err := account.GenerateToken()
	if err != nil {
		t.Fatal(err)
	}
	row := &account.PersonalToken{MemberID: b.member, Name: "some", Hash: account.HashSecret(bearer), Scopes: scopes, Tools: tools}
	if err := account.CreatePersonalToken(t.Context(), b.store, row); err != nil {
		t.Fatal(err)
	}
	return bearer
}

// Search finds documents of every kind, and fetch reads each of them in full. What the credential may not
// read by its own tool is neither found nor read.
func TestResearch(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		b.show(t, dbtest.Member(t, b.store, "cleo"), account.Profile{
			Name: "Cleo Kelp", Visibility: account.Public, Listed: true, FieldVisibility: map[string]account.Visibility{account.FieldName: account.Public},
		})
		ada, _ := b.added(t, `{"name":"Ada Kelp","organization":"Kelp & Söhne","title":"Diver"}`)
		long := strings.Repeat("wet ", 1000) + "kelp end"
		note, _ := b.call(t, addNote, fmt.Sprintf(`{"connection_ids":[%q],"body":%q}`, ada, long)).at("note", "id").(string)
		logged, _ := b.call(t, logPath, fmt.Sprintf(`{"connection_ids":[%q],"kind":"call","occurred_at":"2026-01-05","summary":"about kelp"}`, ada)).at("interaction", "id").(string)

		search := func(query string) (ids []string, urls map[string]string) {
			t.Helper()
			got, urls := b.call(t, researchSearch, fmt.Sprintf(`{"query":%q}`, query)), map[string]string{}
			results, ok := got.at("results").([]any)
			if !ok {
				t.Fatalf("search %v", got.body)
			}
			for i := range results {
				id, _ := got.at("results", i, "id").(string)
				ids, urls[id] = append(ids, id), got.at("results", i, "url").(string)
				if title, _ := got.at("results", i, "title").(string); title == "" {
					t.Errorf("%s has no title", id)
				}
			}
			slices.Sort(ids)
			return ids, urls
		}
		ids, urls := search("kelp")
		all := []string{ada, note, logged, "organization:Kelp & Söhne", "member:cleo"}
		slices.Sort(all)
		if !slices.Equal(ids, all) {
			t.Fatalf("found %q, want %q", ids, all)
		}
		for id, page := range map[string]string{
			ada: "/people/" + ada, note: "/people/" + ada, logged: "/people/" + ada, "member:cleo": "/@cleo",
			"organization:Kelp & Söhne": "/people/organization?name=Kelp+%26+S%C3%B6hne",
		} {
			if !strings.HasSuffix(urls[id], page) {
				t.Errorf("%s leads to %s", id, urls[id])
			}
			got := b.call(t, researchFetch, fmt.Sprintf(`{"id":%q}`, id))
			if got.at("id") != id || got.at("url") != urls[id] || got.at("metadata", "kind") == nil || got.at("title") == nil {
				t.Errorf("%s: %v", id, got.body)
			}
		}
		for id, part := range map[string]string{ada: "Diver", note: "kelp end", logged: "2026-01-05", "organization:Kelp & Söhne": ada, "member:cleo": "Cleo Kelp"} {
			if text, _ := b.call(t, researchFetch, fmt.Sprintf(`{"id":%q}`, id)).at("text").(string); !strings.Contains(text, part) {
				t.Errorf("%s has the text %s", id, text)
			}
		}
		if ids, _ = search("nothing at all"); len(ids) != 0 {
			t.Errorf("found %q", ids)
		}
		for _, id := range []string{"x", "con_", "int_1", "organization:Nowhere", "member:nobody", "not_" + strings.TrimPrefix(ada, "con_")} {
			if got := b.call(t, researchFetch, fmt.Sprintf(`{"id":%q}`, id)); got.code() != "invalid_argument" && got.code() != "not_found" {
				t.Errorf("%s: %v", id, got.body)
			}
		}

		for _, c := range []struct {
			scopes, tools string
			readable      []string
		}{
			{"connections", "", []string{ada}},
			{"timeline", "", []string{note, logged}},
			{"insights", "", []string{"organization:Kelp & Söhne"}},
			{"directory", "", []string{"member:cleo"}},
			{"connections timeline directory", "search_connections get_connection", []string{ada}},
		} {
			b.bearer = b.withAccess(t, c.scopes, c.tools)
			slices.Sort(c.readable)
			if ids, _ := search("kelp"); !slices.Equal(ids, c.readable) {
				t.Errorf("%s %s finds %q", c.scopes, c.tools, ids)
			}
			for _, id := range all {
				got := b.call(t, researchFetch, fmt.Sprintf(`{"id":%q}`, id))
				if read := got.at("text") != nil; read != slices.Contains(c.readable, id) {
					t.Errorf("%s %s reads %s: %v", c.scopes, c.tools, id, got.body)
				}
			}
		}
		b.bearer = b.withAccess(t, "imports", "")
		if got := b.call(t, researchSearch, `{"query":"kelp"}`); got.code() != "not_found" {
			t.Errorf("without a readable kind: %v", got.body)
		}
	})
}
