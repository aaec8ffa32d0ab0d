package discovery

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/kith-crm/kith/proto/catalog"

	"github.com/kith-crm/kith/edge/internal/discovery/markup"
	"github.com/kith-crm/kith/edge/internal/discovery/schema"
	"github.com/kith-crm/kith/edge/internal/discovery/static"
)

const toolDocsTitle = "The MCP server and its tools"

// newToolDocs makes the one document about the MCP server, for people first and
// for agents first.
func newToolDocs(s *site, p *pages) (people, agents *static.Choice, err error) {
	doc, err := s.toolDocs()
	if err != nil {
		return nil, nil, err
	}
	page, err := p.page(toolDocsTitle, pathPeopleDocs, doc)
	if err != nil {
		return nil, nil, err
	}
	text := markdownOf(s, doc)
	return static.NewChoice(s.Problems, page, text), static.NewChoice(s.Problems, text, page), nil
}

func (s *site) toolDocs() (markup.Document, error) {
	intro := markup.Document{
		markup.Heading(1, "", markup.Plain(toolDocsTitle)),
		markup.Paragraph(markup.Plain(summary)),
		markup.Paragraph(markup.Prose("This is version " + s.Version + ", written by the server itself. Agents may begin with " +
			"[`/v1`](" + pathIndex + ") or [`/llms.txt`](" + pathLLMs + "); `tools/list` has the same tools with their whole schemas.")),
	}
	var doc markup.Document
	for _, part := range []func() markup.Document{
		s.aboutAddresses, s.aboutConnecting, s.aboutProtocol, s.aboutCalls, s.aboutScopes,
	} {
		doc = append(doc, part()...)
	}
	tools, err := s.aboutTools()
	if err != nil {
		return nil, err
	}
	doc = append(append(doc, tools...), s.aboutRPCErrors()...)
	return append(append(intro, contents(doc)), doc...), nil
}

// contents returns links to the sections of a document.
func contents(doc markup.Document) markup.Block {
	var sections []markup.Line
	for _, b := range doc {
		if b.Kind == markup.KindHeading && b.Level == 2 {
			sections = append(sections, markup.Link(b.Line.Text(), "#"+b.ID))
		}
	}
	return markup.Paragraph(markup.Join(markup.Plain("On this page: "), markup.Separate(", ", sections...), markup.Plain(".")))
}

// aboutTools lists the tools, and tells all of each.
func (s *site) aboutTools() (markup.Document, error) {
	var rows [][]markup.Line
	var sections markup.Document
	x := newExamples(s)
	for _, rpc := range s.Catalog.Tools() {
		rows = append(rows, []markup.Line{
			markup.CodeLink(rpc.Tool.Name, "#"+rpc.Tool.Name), markup.Plain(rpc.Tool.Title), price(rpc.Tool), effect(rpc), scopesOf(rpc),
		})
		section, err := x.section(rpc)
		if err != nil {
			return nil, err
		}
		sections = append(sections, section...)
	}
	return append(markup.Document{
		markup.Heading(2, "tools", markup.Plain("Tools")),
		markup.Paragraph(markup.Plain("There are " + strconv.Itoa(len(rows)) + " tools. A price is charged for a successful call only.")),
		markup.Table("Tools", []string{"Name", "Title", "Price", "Effect", "Scopes"}, rows...),
	}, sections...), nil
}

// section tells all of one tool.
func (x *examples) section(rpc *catalog.RPC) (markup.Document, error) {
	tool := rpc.Tool
	input, err := schema.Parse(tool.InputSchema)
	if err != nil {
		return nil, fmt.Errorf("document %s: %w", tool.Name, err)
	}
	arguments, err := x.arguments(tool, input)
	if err != nil {
		return nil, err
	}
	q, err := x.request(rpc, arguments)
	if err != nil {
		return nil, err
	}
	doc := markup.Document{
		markup.Heading(3, tool.Name, markup.Code(tool.Name)),
		markup.Paragraph(markup.Plain(tool.Title + ". " + tool.Description)),
		markup.List(
			markup.Join(markup.Plain("Price: "), price(tool)),
			markup.Join(markup.Plain("Scopes: "), scopesOf(rpc)),
			markup.Join(markup.Plain("Effect: "), effect(rpc)),
		),
	}
	doc = append(doc, argumentsOf(tool.Name, input)...)
	intro := "Example, on the demo account:"
	if q.Bearer {
		intro = "Example; `" + tokenVariable + "` is a token of yours:"
	}
	return append(doc, markup.Paragraph(markup.Prose(intro)), markup.Fence("sh", q.curl(x.site.BaseURL))), nil
}

func argumentsOf(tool string, input *schema.Schema) markup.Document {
	var rows [][]markup.Line
	for _, a := range input.Arguments() {
		required := "no"
		if a.Required {
			required = "yes"
		}
		rows = append(rows, []markup.Line{
			markup.Code(a.Name), markup.Plain(a.Type), markup.Plain(required), boundsOf(a), markup.Plain(a.Description),
		})
	}
	if len(rows) == 0 {
		return markup.Document{markup.Paragraph(markup.Plain("It takes no arguments."))}
	}
	return markup.Document{
		markup.Table("Arguments of "+tool, []string{"Argument", "Type", "Required", "Bounds", "Meaning"}, rows...),
	}
}

func boundsOf(a schema.Argument) markup.Line {
	line := markup.Plain(strings.Join(a.Bounds, "; "))
	if a.Pattern == "" {
		return line
	}
	if len(a.Bounds) > 0 {
		line = append(line, markup.Plain("; ")...)
	}
	return markup.Join(line, markup.Plain("matches "), markup.Code(a.Pattern))
}

func price(tool *catalog.Tool) markup.Line {
	switch tool.Credits {
	case 0:
		return markup.Plain("free")
	case 1:
		return markup.Plain("1 credit")
	default:
		return markup.Plain(strconv.Itoa(tool.Credits) + " credits")
	}
}

func scopesOf(rpc *catalog.RPC) markup.Line {
	if rpc.Access == catalog.AccessCredential {
		return markup.Plain("any live credential")
	}
	var scopes []markup.Line
	for _, scope := range rpc.Scopes {
		scopes = append(scopes, markup.Code(scope))
	}
	return markup.Separate(" and ", scopes...)
}

// effect tells what a call changes, from the tool's annotations.
func effect(rpc *catalog.RPC) markup.Line {
	switch {
	case !rpc.Writes:
		return markup.Plain("reads")
	case rpc.Tool.Annotations.Destructive:
		return markup.Plain("writes, and may overwrite or delete")
	default:
		return markup.Plain("writes, and only adds")
	}
}
