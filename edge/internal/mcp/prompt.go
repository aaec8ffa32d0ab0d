package mcp

import (
	"cmp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/kith-crm/kith/proto/catalog"

	"github.com/kith-crm/kith/edge/internal/nearest"
)

// promptJSON is MCP's Prompt (2025-06-18, "Prompts").
type promptJSON struct {
	Name        string               `json:"name"`
	Title       string               `json:"title"`
	Description string               `json:"description"`
	Arguments   []promptArgumentJSON `json:"arguments,omitempty"`
}

type promptArgumentJSON struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Required    bool   `json:"required"`
}

// prompts returns the recipes whose tools the caller may use.
func (e *endpoint) prompts(c *call) []catalog.Recipe {
	return slices.DeleteFunc(catalog.Recipes(), func(r catalog.Recipe) bool {
		return slices.ContainsFunc(r.Tools, func(tool string) bool { return !e.showsTool(c, tool) })
	})
}

// showsTool reports whether the caller may use a tool of the catalogue.
func (e *endpoint) showsTool(c *call, name string) bool {
	rpc, ok := e.options.Catalog.Tool(name)
	return ok && e.shows(c, rpc)
}

// onePage refuses a cursor: these lists have one page.
func onePage(p params) *failure {
	switch {
	case p.fault != "":
		return answerError(codeInvalidParams, p.fault)
	case p.cursor != nil:
		return answerError(codeInvalidParams, "The cursor is not one that this server gave. Leave it out: the list has one page.")
	default:
		return nil
	}
}

// listPrompts answers prompts/list.
func (e *endpoint) listPrompts(c *call) (jsontext.Value, *failure) {
	if f := onePage(c.params); f != nil {
		return nil, f
	}
	list := []promptJSON{}
	for _, r := range e.prompts(c) {
		p := promptJSON{Name: r.Name, Title: r.Title, Description: r.Description}
		for _, a := range r.Arguments {
			p.Arguments = append(p.Arguments, promptArgumentJSON{a.Name, a.Description, a.Default == ""})
		}
		list = append(list, p)
	}
	return encode(map[string]any{"prompts": list}), nil
}

// findPrompt returns the caller's prompt with a name.
func (e *endpoint) findPrompt(c *call, name jsontext.Value) (catalog.Recipe, *failure) {
	if name.Kind() != '"' {
		return catalog.Recipe{}, answerError(codeInvalidParams, "The name of the prompt must be a string.")
	}
	for _, r := range e.prompts(c) {
		if r.Name == unquote(name) {
			return r, nil
		}
	}
	return catalog.Recipe{}, answerError(codeInvalidParams, "There is no prompt "+quoted(unquote(name))+"; prompts/list lists all that you may use.")
}

// getPrompt answers prompts/get with what the person asks for.
func (e *endpoint) getPrompt(c *call) (jsontext.Value, *failure) {
	if c.params.fault != "" {
		return nil, answerError(codeInvalidParams, c.params.fault)
	}
	recipe, f := e.findPrompt(c, c.params.name)
	if f != nil {
		return nil, f
	}
	values := map[string]string{}
	if c.params.arguments != nil && json.Unmarshal(c.params.arguments, &values) != nil {
		return nil, answerError(codeInvalidParams, "params.arguments must be an object of strings.")
	}
	var names []string
	for _, a := range recipe.Arguments {
		if names = append(names, a.Name); a.Default == "" && strings.TrimSpace(values[a.Name]) == "" {
			return nil, answerError(codeInvalidParams, "The prompt "+recipe.Name+" needs the argument "+a.Name+": "+a.Description+".")
		}
	}
	for name := range values {
		if !slices.Contains(names, name) {
			return nil, answerError(codeInvalidParams, "The prompt "+recipe.Name+" has no argument "+quoted(name)+" (nearest: "+
				strings.Join(nearest.Names(names, name, 1), ", ")+").")
		}
	}
	type messageJSON struct {
		Role    string      `json:"role"`
		Content contentJSON `json:"content"`
	}
	return encode(struct {
		Description string        `json:"description"`
		Messages    []messageJSON `json:"messages"`
	}{recipe.Description, []messageJSON{{"user", contentJSON{"text", recipe.Text(values)}}}}), nil
}

// complete answers completion/complete: the values of a prompt's argument that begin with the text,
// in any case. Names of people are not completed, because every look-up has a price.
func (e *endpoint) complete(c *call) (jsontext.Value, *failure) {
	var ref struct {
		Type string         `json:"type"`
		Name jsontext.Value `json:"name"`
		URI  string         `json:"uri"`
	}
	var argument struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	if c.params.fault != "" || json.Unmarshal(c.params.ref, &ref) != nil || json.Unmarshal(c.params.argument, &argument) != nil {
		return nil, answerError(codeInvalidParams, cmp.Or(c.params.fault, "params must have a ref to a prompt or a resource, and an argument with its name and value."))
	}
	values := []string{}
	switch ref.Type {
	case "ref/prompt":
		recipe, f := e.findPrompt(c, ref.Name)
		if f != nil {
			return nil, f
		}
		at := slices.IndexFunc(recipe.Arguments, func(a catalog.RecipeArgument) bool { return a.Name == argument.Name })
		if at < 0 {
			return nil, answerError(codeInvalidParams, "The prompt "+recipe.Name+" has no argument "+quoted(argument.Name)+".")
		}
		for _, value := range recipe.Arguments[at].Values {
			if strings.HasPrefix(strings.ToLower(value), strings.ToLower(argument.Value)) {
				values = append(values, value)
			}
		}
	case "ref/resource":
		if ref.URI != templatePerson {
			return nil, noResource(ref.URI)
		}
	default:
		return nil, answerError(codeInvalidParams, "ref.type must be ref/prompt or ref/resource.")
	}
	type completionJSON struct {
		Values  []string `json:"values"`
		Total   int      `json:"total"`
		HasMore bool     `json:"hasMore"`
	}
	return encode(map[string]any{"completion": completionJSON{Values: values, Total: len(values)}}), nil
}
