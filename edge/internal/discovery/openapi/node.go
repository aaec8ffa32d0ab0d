package openapi

import (
	"iter"
	"slices"

	"go.yaml.in/yaml/v3"
)

// The document is a tree of yaml.Nodes, because they keep the order of members.

const (
	tagString  = "!!str"
	tagBool    = "!!bool"
	tagInteger = "!!int"
	tagNull    = "!!null"
)

func newMapping() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"} }

func newText(s string) *yaml.Node { return newScalar(tagString, s) }

func newScalar(tag, value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value}
}

func newList(texts []string) *yaml.Node {
	list := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	for _, s := range texts {
		list.Content = append(list.Content, newText(s))
	}
	return list
}

// members yields the members of a mapping. Other nodes and nil have none.
func members(n *yaml.Node) iter.Seq2[string, *yaml.Node] {
	return func(yield func(string, *yaml.Node) bool) {
		if n == nil || n.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i].Value, n.Content[i+1]) {
				return
			}
		}
	}
}

// child returns the node at a path of keys, or nil.
func child(n *yaml.Node, keys ...string) *yaml.Node {
	for _, key := range keys {
		var next *yaml.Node
		for name, value := range members(n) {
			if name == key {
				next = value
				break
			}
		}
		if n = next; n == nil {
			return nil
		}
	}
	return n
}

// text returns the scalar at a path of keys, or "".
func text(n *yaml.Node, keys ...string) string {
	if found := child(n, keys...); found != nil && found.Kind == yaml.ScalarNode {
		return found.Value
	}
	return ""
}

// put sets a member of a mapping.
func put(n *yaml.Node, key string, value *yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			n.Content[i+1] = value
			return
		}
	}
	n.Content = append(n.Content, newText(key), value)
}

// remove deletes a member of a mapping.
func remove(n *yaml.Node, key string) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			n.Content = slices.Delete(n.Content, i, i+2)
			return
		}
	}
}

// without returns a mapping with all members except one. The members are not copied.
func without(n *yaml.Node, key string) *yaml.Node {
	rest := newMapping()
	for name, value := range members(n) {
		if name != key {
			put(rest, name, value)
		}
	}
	return rest
}

// obtain returns a member that is a mapping, and adds an empty one if it is missing.
func obtain(n *yaml.Node, key string) *yaml.Node {
	if there := child(n, key); there != nil {
		return there
	}
	added := newMapping()
	put(n, key, added)
	return added
}

// walk calls visit for the node and all below it.
func walk(n *yaml.Node, fn func(*yaml.Node)) {
	fn(n)
	for _, c := range n.Content {
		walk(c, fn)
	}
}

// clone returns a deep copy.
func clone(n *yaml.Node) *yaml.Node {
	c := *n
	c.Content = make([]*yaml.Node, 0, len(n.Content))
	for _, below := range n.Content {
		c.Content = append(c.Content, clone(below))
	}
	return &c
}
