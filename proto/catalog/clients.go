package catalog

import (
	"encoding/base64"
	"net/url"
	"strings"
)

// Tagline says what the service is, in at most 100 characters, the limit of MCP registries.
const Tagline = "A personal CRM for AI agents: one person's people, notes, meetings and reminders, by consent."

// Client says how to connect one MCP client to the service.
type Client struct {
	// ID is the client's name in addresses.
	ID, Name string
	// Docs is the client's own documentation, on which Steps and Config are based.
	Docs string
	// Steps are Markdown with bold text, code and links.
	Steps string
	// Config is the command to run or the text to paste, and Language its language; "" if the
	// client has only a dialogue.
	Language, Config string
	// Install is a link that opens the client with the configuration filled in; "" if the client
	// has none.
	Install string
}

// AddressMark is the placeholder of the address in the keys by which the Steps of clients are translated.
const AddressMark = "%s"

// Clients returns how to connect the most popular clients to the MCP server at an address. For a member's own
// data that is the server at which every request needs a bearer token: most of these clients look for a
// place to sign in only if the first request is refused.
func Clients(address string) []Client {
	inCursor := `{"url":"` + address + `"}`
	inVSCode := `{"name":"kith","type":"http","url":"` + address + `"}`
	return []Client{{
		ID: "claude-code", Name: "Claude Code", Docs: "https://code.claude.com/docs/en/mcp",
		Steps:    "Run this, then `/mcp` in a session to sign in.",
		Language: "text", Config: "claude mcp add --transport http kith " + address,
	}, {
		ID: "claude", Name: "Claude", Docs: "https://support.claude.com/en/articles/11175166-getting-started-with-custom-connectors-using-remote-mcp",
		Steps: "On the web and in Claude Desktop, under **Customize** → **Connectors**, **+**, **Add custom connector**, the name Kith and the address " + //nolint:misspell // as Claude spells it
			"`" + address + "`" + ", then **Connect**. Claude connects from its own servers, so the address must be public and https. " +
			"For any other, put this into `claude_desktop_config.json` (**Settings**, **Developer**, **Edit Config**):",
		Language: "json", Config: `{"mcpServers": {"kith": {"command": "npx", "args": ["-y", "mcp-remote", "` + address + `"]}}}`,
	}, {
		ID: "chatgpt", Name: "ChatGPT", Docs: "https://developers.openai.com/api/docs/guides/custom-mcp-server",
		Steps: "On the web: [Plugins](https://chatgpt.com/plugins), **+**, **Add custom MCP server**, the name Kith, the address " +
			"`" + address + "`" + " and the authentication **OAuth**. The address must be public and https.",
	}, {
		ID: "cursor", Name: "Cursor", Docs: "https://cursor.com/docs/mcp",
		Steps:    "Open the link, or put this into `~/.cursor/mcp.json`:",
		Language: "json", Config: `{"mcpServers": {"kith": {"url": "` + address + `"}}}`,
		Install: "cursor://anysphere.cursor-deeplink/mcp/install?name=kith&config=" + component(base64.StdEncoding.EncodeToString([]byte(inCursor))),
	}, {
		ID: "vscode", Name: "VS Code", Docs: "https://code.visualstudio.com/docs/agents/reference/mcp-configuration",
		Steps:    "Open the link, or put this into `.vscode/mcp.json`:",
		Language: "json", Config: `{"servers": {"kith": {"type": "http", "url": "` + address + `"}}}`,
		Install: "vscode:mcp/install?" + component(inVSCode),
	}, {
		ID: "goose", Name: "Goose", Docs: "https://block.github.io/goose/docs/getting-started/using-extensions",
		Steps:    "Open the link, or put this into `~/.config/goose/config.yaml`:",
		Language: "yaml", Config: "extensions:\n  kith:\n    enabled: true\n    type: streamable_http\n    name: Kith\n    uri: " + address + "\n    timeout: 300",
		Install: "goose://extension?type=streamable_http&url=" + component(address) + "&id=kith&name=Kith&description=" + component(Tagline),
	}}
}

// component encodes a part of an address as encodeURIComponent of JavaScript does.
func component(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }
