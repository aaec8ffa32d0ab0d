package rpc_test

import (
	"fmt"
	"testing"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

const (
	searchDirectory = "/kith.directory.v1.DirectoryService/SearchDirectory"
	memberProfile   = "/kith.directory.v1.DirectoryService/GetMemberProfile"
	updateProfile   = "/kith.directory.v1.DirectoryService/UpdateMyProfile"
	undoChange      = "/kith.account.v1.AccountService/UndoChange"
)

// show sets a member's page.
func (b *bundle) show(t *testing.T, owner tenant.ID, p account.Profile) {
	t.Helper()
	p.MemberID = owner
	if err := account.UpdateProfile(t.Context(), b.store, &p); err != nil {
		t.Fatal(err)
	}
}

// page is a page that shows each field to one audience.
func page(name string, whole account.Visibility) account.Profile {
	return account.Profile{
		Name: name, Headline: "Builds boats", Bio: "Secret bio", LocationText: "Porto", Country: "PT", Organization: "Caravela", Title: "Shipwright",
		Skills: []string{"Welding"}, Visibility: whole, Listed: true,
		FieldVisibility: map[string]account.Visibility{
			account.FieldHeadline: account.Public, account.FieldOrganization: account.Members, account.FieldLocation: account.Members, account.FieldBio: account.Private,
		},
	}
}

func TestDirectoryShowsWhatMembersMaySee(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		for username, p := range map[string]account.Profile{
			"ana": page("Ana", account.Public), "ben": page("Ben", account.Members), "cleo": page("Cleo", account.Private),
		} {
			b.show(t, dbtest.Member(t, b.store, username), p)
		}
		unlisted := page("Dora", account.Members)
		unlisted.Listed = false
		b.show(t, dbtest.Member(t, b.store, "dora"), unlisted)

		for query, want := range map[string]int{`{}`: 2, `{"query":"builds"}`: 2, `{"query":"caravela porto"}`: 2, `{"query":"ben"}`: 1, `{"query":"secret"}`: 0, `{"query":"welding"}`: 0} {
			got := b.call(t, searchDirectory, query)
			if members, _ := got.at("members").([]any); len(members) != want {
				t.Errorf("%s finds %v", query, got.body)
			}
		}
		got := b.call(t, searchDirectory, `{"limit":1}`)
		if got.at("members", 0, "username") != "ana" || got.at("members", 0, "organization") != "Caravela" || got.at("has_more") != true {
			t.Errorf("first page: %v", got.body)
		}
		got = b.call(t, searchDirectory, fmt.Sprintf(`{"limit":1,"cursor":%q}`, got.at("next_cursor")))
		if got.at("members", 0, "username") != "ben" || got.at("has_more") != false {
			t.Errorf("second page: %v", got.body)
		}

		for username, seen := range map[string]bool{"ana": true, "Ben": true, "cleo": false, "dora": true, "nobody": false} {
			got := b.call(t, memberProfile, fmt.Sprintf(`{"username":%q}`, username))
			if !seen {
				if got.code() != "not_found" {
					t.Errorf("%s: %v", username, got.body)
				}
				continue
			}
			if got.at("profile", "organization") != "Caravela" || got.at("profile", "bio") != nil || got.at("profile", "title") != nil || got.at("visibility") != nil {
				t.Errorf("%s: %v", username, got.body)
			}
		}
		// Visitors without an account see less, and nothing of ben.
		const list = "/kith.directory.v1.PublicDirectoryService/ListMembers"
		anonymous := b.call(t, list, `{}`, "Authorization", "")
		if members, _ := anonymous.at("members").([]any); len(members) != 1 || anonymous.at("members", 0, "organization") != nil {
			t.Errorf("anybody sees %v", anonymous.body)
		}
		if got := b.call(t, list, `{"q":"caravela"}`, "Authorization", ""); len(got.at("members").([]any)) != 0 {
			t.Errorf("anybody finds %v", got.body)
		}
	})
}

func TestOwnProfileIsShownInFull(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		b.show(t, b.member, page("Maria", account.Private))
		for _, body := range []string{`{}`, `{"username":"maria"}`, `{"username":"MARIA"}`} {
			got := b.call(t, memberProfile, body)
			if got.at("profile", "bio") != "Secret bio" || got.at("visibility") != "private" || got.at("listed") != true {
				t.Errorf("%s: %v", body, got.body)
			}
		}
	})
}

func TestUpdateMyProfile(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		b.show(t, b.member, page("Maria", account.Public))
		other := dbtest.Member(t, b.store, "other")
		b.show(t, other, page("Other", account.Public))
		got := b.call(t, updateProfile, `{"headline":" Sails\tboats ","skills":["Rigging"],"hide":["organization","bio","title"],"listed":false}`)
		if got.at("profile", "headline") != "Sails boats" || got.at("profile", "skills", 0) != "Rigging" || got.at("change_id") == nil || got.at("profile", "username") != "maria" {
			t.Fatalf("updated: %v", got.body)
		}
		p, err := account.GetProfile(t.Context(), b.store, b.member)
		if err != nil || p.Listed || p.FieldVisibility[account.FieldOrganization] != account.Private || p.FieldVisibility[account.FieldHeadline] != account.Public || p.FieldVisibility[account.FieldTitle] != "" {
			t.Errorf("stored: %+v, %v", p, err)
		}
		if again := b.call(t, updateProfile, `{"headline":"Sails boats","hide":["organization"],"listed":false}`); again.at("change_id") != nil {
			t.Errorf("nothing new: %v", again.body)
		}
		if theirs, err := account.GetProfile(t.Context(), b.store, other); err != nil || theirs.Headline != "Builds boats" {
			t.Errorf("the other's: %+v, %v", theirs, err)
		}
		undone := b.call(t, undoChange, fmt.Sprintf(`{"change_id":%q}`, got.at("change_id")))
		if p, err = account.GetProfile(t.Context(), b.store, b.member); err != nil || undone.code() != "" || p.Headline != "Builds boats" || !p.Listed || p.FieldVisibility[account.FieldOrganization] != account.Members {
			t.Errorf("undone: %v: %+v, %v", undone.body, p, err)
		}
	})
}

func TestUpdateMyProfileRefusals(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		b.show(t, b.member, page("Maria", account.Public))
		readOnly := dbtest.Token(t, b.store, b.member, "directory")
		for name, body := range map[string]string{
			"list":             `{"listed":true}`,
			"hide the name":    `{"hide":["name"]}`,
			"hide what is not": `{"hide":["email"]}`,
			"no name":          `{"name":""}`,
			"a blank name":     `{"name":" \u200b "}`,
			"too long":         `{"headline":"x` + fmt.Sprintf("%0160d", 0) + `"}`,
			"show":             `{"show":["bio"]}`,
		} {
			if got := b.call(t, updateProfile, body); got.code() != "invalid_argument" {
				t.Errorf("%s: %v", name, got.body)
			}
		}
		if got := b.call(t, updateProfile, `{"headline":"x"}`, "Authorization", "Bearer "+readOnly); got.code() != "permission_denied" {
			t.Errorf("a read-only token: %v", got.body)
		}
		p, err := account.GetProfile(t.Context(), b.store, b.member)
		if err != nil || p.Headline != "Builds boats" || p.FieldVisibility[account.FieldHeadline] != account.Public {
			t.Errorf("stored: %+v, %v", p, err)
		}
	})
}
