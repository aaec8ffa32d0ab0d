package discovery_test

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kith-crm/kith/edge/internal/discovery"
	"github.com/kith-crm/kith/edge/internal/mcp"
	"github.com/kith-crm/kith/edge/internal/route"
)

// described is what a server card and a registry's server.json have in common.
type described struct {
	Schema      string `json:"$schema"`
	Name        string
	Version     string
	Title       string
	Description string
	Remotes     []struct {
		Type      string
		URL       string
		Versions  []string `json:"supportedProtocolVersions"`
		Variables map[string]struct {
			Description string
			IsRequired  bool
		}
	}
	Meta map[string]string `json:"_meta"`
}

func describe(t *testing.T, text []byte) described {
	t.Helper()
	var d described
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	// The rules of both schemas for every server.
	if !regexp.MustCompile(`^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$`).MatchString(d.Name) || d.Version == "" || strings.ContainsAny(d.Version, "^~<>=*") ||
		d.Title == "" || len(d.Title) > 100 || d.Description == "" || len(d.Description) > 100 || len(d.Remotes) != 1 || d.Remotes[0].Type != "streamable-http" {
		t.Errorf("the schema does not allow %+v", d)
	}
	return d
}

func TestServerCardGolden(t *testing.T) {
	t.Parallel()
	d := build(t, nil)
	golden(t, "server-card.json", get(d["/mcp/v1/server-card"], "").Body.String())
	sandbox := describe(t, get(d["/sandbox/mcp/v1/server-card"], "").Body.Bytes())
	if card := describe(t, get(d["/mcp/v1/server-card"], "").Body.Bytes()); sandbox.Remotes[0].URL != strings.Replace(card.Remotes[0].URL, "/mcp/v1", "/sandbox/mcp/v1", 1) {
		t.Errorf("the sandbox's card names %s", sandbox.Remotes[0].URL)
	}
	golden(t, "ai-catalog.json", get(d["/.well-known/ai-catalog.json"], "").Body.String())
}

func TestServerCard(t *testing.T) {
	t.Parallel()
	for address, names := range map[string][2]string{
		"https://kith.example":           {"example.kith/kith", "urn:air:kith.example:mcp:kith"},
		"https://people.ada.example:844": {"example.ada.people/kith", "urn:air:people.ada.example:mcp:kith"},
		"http://localhost:8080":          {"localhost/kith", "urn:air:localhost:mcp:kith"},
		"http://127.0.0.1:8080":          {"127.0.0.1/kith", "urn:air:127.0.0.1:mcp:kith"},
		"http://[::1]:8080":              {"--1/kith", "urn:air:--1:mcp:kith"},
	} {
		d := build(t, func(o *discovery.Options) { o.BaseURL = address })
		w := get(d["/mcp/v1/server-card"], "", "Accept", "application/mcp-server-card+json")
		card := describe(t, w.Body.Bytes())
		if card.Name != names[0] || card.Remotes[0].URL != address+route.PathMCPCurrent || card.Meta["kith/experimental"] == "" ||
			!slices.Equal(card.Remotes[0].Versions, mcp.Versions()) || w.Header().Get("Content-Type") != "application/mcp-server-card+json" {
			t.Errorf("%s: %v %+v", address, w.Header(), card)
		}
		var catalogue struct {
			Entries []struct{ Identifier, Type, URL string }
		}
		w = get(d["/.well-known/ai-catalog.json"], "")
		if err := json.Unmarshal(w.Body.Bytes(), &catalogue); err != nil {
			t.Fatal(err)
		}
		want := []struct{ Identifier, Type, URL string }{{names[1], "application/mcp-server-card+json", address + "/mcp/v1/server-card"}}
		if diff := cmp.Diff(want, catalogue.Entries); diff != "" || w.Header().Get("Content-Type") != "application/ai-catalog+json" {
			t.Errorf("%s: %v %s", address, w.Header(), diff)
		}
	}
}

// server.json describes Kith to MCP registries. Its host is a variable, because every server has
// a host of its own.
func TestServerJSONForRegistries(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "deploy", "server.json"))
	if err != nil {
		t.Fatal(err)
	}
	published := describe(t, text)
	card := describe(t, get(build(t, nil)["/mcp/v1/server-card"], "").Body.Bytes())
	if published.Schema != "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json" || published.Description != card.Description ||
		published.Remotes[0].URL != "https://{host}"+route.PathMCPMember || !published.Remotes[0].Variables["host"].IsRequired {
		t.Errorf("server.json is %+v", published)
	}
}

// The links that open a client have the same configuration as the text beside them.
func TestInstallLinks(t *testing.T) {
	t.Parallel()
	links := linksOf(t, text(t, build(t, nil)["/docs/mcp"], "", "text/html"))
	opened := map[string]string{}
	for _, link := range links {
		u, err := url.Parse(strings.ReplaceAll(link, "&amp;", "&"))
		if err != nil {
			t.Fatal(err)
		}
		switch query := u.Query(); u.Scheme {
		case "cursor":
			config, err := base64.StdEncoding.DecodeString(query.Get("config"))
			if err != nil || query.Get("name") != "kith" {
				t.Errorf("%s: %v", link, err)
			}
			opened[u.Scheme] = string(config)
		case "vscode":
			if opened[u.Scheme], err = url.QueryUnescape(u.RawQuery); err != nil {
				t.Error(err)
			}
		case "goose":
			opened[u.Scheme] = query.Get("type") + " " + query.Get("url") + " " + query.Get("id")
		}
	}
	want := map[string]string{
		"cursor": `{"url":"https://kith.example/mcp/v1/me"}`,
		"vscode": `{"name":"kith","type":"http","url":"https://kith.example/mcp/v1/me"}`,
		"goose":  "streamable_http https://kith.example/mcp/v1/me kith",
	}
	if diff := cmp.Diff(want, opened); diff != "" {
		t.Error(diff)
	}
}
