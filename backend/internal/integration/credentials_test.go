package integration_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// storesCredential matches a statement that stores a credential or replaces a password.
var storesCredential = regexp.MustCompile(`INSERT INTO (login_sessions|sign_in_steps|personal_tokens|totp_secrets|passkeys|recovery_codes|` +
	`linked_identities|authorization_codes|grants|access_tokens|refresh_tokens)\b|UPDATE members SET [^"]*password_hash = |UPDATE personal_tokens SET hash = `)

// Every function that stores a credential is known here, with how it makes sure that access was not
// revoked since it was checked. A new one needs account.StoreCredential, or a reason.
func TestEveryStoredCredentialIsKnown(t *testing.T) {
	t.Parallel()
	const (
		inStore  = "runs StoreCredential or changeAccess"
		withinTx = "runs in a transaction of one that does"
		other    = "stores no credential"
		stranger = "creates a member, who had no access before"
	)
	known := map[string]string{
		"account.insertLoginSession": withinTx, "account.CreateSignInStep": inStore, "account.createToken": inStore, "account.BeginDeviceLogin": other,
		"account.FinishDeviceLogin": "belongs to a live device, under the lock of the member",
		"account.CreateTOTPSecret":  inStore, "account.CreatePasskey": inStore, "account.insertCodes": withinTx, "account.setPassword": withinTx,
		"account.CreateNotMeLink": other, "account.CreateMailLink": other, "account.CreateSignUp": other, "account.InsertMembers": stranger,
		"account.CreateSecurityEvent": other, "account.RaisePasswordHash": "compares the old hash, and stores the same password",
		"oauth.insertClient": other, "oauth.UpsertClient": other, "oauth.CreateRequest": other, "oauth.answerRequest": withinTx,
		"oauth.RedeemCode": "compares the epoch of the code under the lock of the member", "oauth.insertPair": "belongs to a live grant, under the lock of the member",
		"signin.CreateProviderAttempt": other, "signin.linkIdentity": withinTx,
	}
	found := map[string]string{}
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "test/") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		name := file.Name.Name
		for _, declaration := range file.Decls {
			f, ok := declaration.(*ast.FuncDecl)
			if ok && stores(f, name == "account" || name == "oauth" || name == "signin") {
				function := name + "." + f.Name.Name
				found[function] = known[function]
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(known, found); diff != "" {
		t.Errorf("functions that store credentials (-known +found):\n%s", diff)
	}
}

// stores reports whether a function has a statement that stores a credential, or, if any is set, any
// insert of bun.
func stores(f *ast.FuncDecl, anyInsert bool) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			found = found || n.Kind == token.STRING && storesCredential.MatchString(n.Value)
		case *ast.SelectorExpr:
			found = found || anyInsert && n.Sel.Name == "NewInsert"
		}
		return true
	})
	return found
}
