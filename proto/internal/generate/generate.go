package generate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/kith-crm/kith/proto/catalog"
	toolv1 "github.com/kith-crm/kith/proto/gen/kith/tool/v1"
)

// packagePrefix begins the names of the packages that are checked.
const packagePrefix = "kith."

// File is the content of catalog.json.
type File struct {
	Scopes []string       `json:"scopes"`
	RPCs   []*catalog.RPC `json:"rpcs"`
}

// Catalog builds the catalogue from a set of descriptors with source comments. The error joins all
// mistakes, one line each.
func Catalog(set *descriptorpb.FileDescriptorSet) (*File, error) {
	files, err := protodesc.NewFiles(set)
	if err != nil {
		return nil, fmt.Errorf("link descriptors: %w", err)
	}
	b := &builder{tools: map[string]protoreflect.FullName{}}
	for _, file := range sorted(files) {
		b.file(file)
	}
	if len(b.faults) > 0 {
		return nil, errors.Join(b.faults...)
	}
	sort.SliceStable(b.rpcs, func(i, j int) bool { return order(b.rpcs[i]) < order(b.rpcs[j]) })
	return &File{Scopes: scopes(), RPCs: b.rpcs}, nil
}

// Encode renders the catalogue as it is committed.
func (f *File) Encode() ([]byte, error) {
	data, err := encode(f)
	if err != nil {
		return nil, fmt.Errorf("encode catalogue: %w", err)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, data, "", " "); err != nil {
		return nil, fmt.Errorf("encode catalogue: %w", err)
	}
	return append(out.Bytes(), '\n'), nil
}

func sorted(files *protoregistry.Files) []protoreflect.FileDescriptor {
	var ours []protoreflect.FileDescriptor
	files.RangeFiles(func(fd protoreflect.FileDescriptor) bool {
		if strings.HasPrefix(string(fd.Package()), packagePrefix) {
			ours = append(ours, fd)
		}
		return true
	})
	sort.Slice(ours, func(i, j int) bool { return ours[i].Path() < ours[j].Path() })
	return ours
}

// order sorts tools by group in the order of the enum, then in the order of the contract; RPCs that
// are not tools are last.
func order(rpc *catalog.RPC) int {
	if rpc.Tool == nil {
		return len(toolv1.ToolGroup_name)
	}
	return int(toolv1.ToolGroup_value[groupPrefix+strings.ToUpper(rpc.Tool.Group)])
}

const groupPrefix = "TOOL_GROUP_"

func scopes() []string {
	var names []string
	for n := int32(1); n < int32(len(toolv1.ToolGroup_name)); n++ {
		names = append(names, scopeOf(toolv1.ToolGroup(n)))
	}
	return append(names, catalog.ScopeWrite)
}

func scopeOf(group toolv1.ToolGroup) string {
	return strings.ToLower(strings.TrimPrefix(group.String(), groupPrefix))
}

type builder struct {
	rpcs   []*catalog.RPC
	tools  map[string]protoreflect.FullName
	faults []error
}

func (b *builder) fault(d protoreflect.Descriptor, format string, args ...any) {
	b.faults = append(b.faults, fmt.Errorf("%s: %s", d.FullName(), fmt.Sprintf(format, args...)))
}

func (b *builder) file(fd protoreflect.FileDescriptor) {
	if strings.HasPrefix(string(fd.Package()), packagePrefix+"tool.") {
		return
	}
	for i := range fd.Messages().Len() {
		b.message(fd.Messages().Get(i))
	}
	for i := range fd.Services().Len() {
		methods := fd.Services().Get(i).Methods()
		for j := range methods.Len() {
			b.method(methods.Get(j))
		}
	}
}

func (b *builder) method(m protoreflect.MethodDescriptor) {
	options, _ := m.Options().(*descriptorpb.MethodOptions)
	tool, _ := proto.GetExtension(options, toolv1.E_Tool).(*toolv1.Tool)
	access, _ := proto.GetExtension(options, toolv1.E_Access).(toolv1.Access)
	rpc := &catalog.RPC{
		Procedure: fmt.Sprintf("/%s/%s", m.Parent().FullName(), m.Name()),
		Writes:    options.GetIdempotencyLevel() != descriptorpb.MethodOptions_NO_SIDE_EFFECTS,
	}
	switch {
	case tool != nil && access != toolv1.Access_ACCESS_UNSPECIFIED:
		b.fault(m, "has both the tool and the access option; a tool's scope follows from its group")
		return
	case tool != nil:
		b.tool(m, rpc, tool)
	case access == toolv1.Access_ACCESS_ANONYMOUS:
		rpc.Access = catalog.AccessAnonymous
	case access == toolv1.Access_ACCESS_CREDENTIAL:
		rpc.Access = catalog.AccessCredential
	default:
		b.fault(m, "has neither the tool nor the access option, so it cannot be called")
		return
	}
	b.rpcs = append(b.rpcs, rpc)
}

func (b *builder) tool(m protoreflect.MethodDescriptor, rpc *catalog.RPC, tool *toolv1.Tool) {
	level := m.Options().(*descriptorpb.MethodOptions).GetIdempotencyLevel()
	rpc.Tool = &catalog.Tool{
		Name:        snake(string(m.Name())),
		Title:       tool.GetTitle(),
		Description: description(m, tool),
		Group:       scopeOf(tool.GetGroup()),
		Credits:     int(tool.GetCredits()),
		JobKind:     tool.GetJobKind(),
		Waits:       tool.GetWaits(),
		Acts:        actsOf(tool),
		Research:    tool.GetResearch(),
		Annotations: catalog.Annotations{
			ReadOnly:    !rpc.Writes,
			Destructive: tool.GetDestructive(),
			Idempotent:  level != descriptorpb.MethodOptions_IDEMPOTENCY_UNKNOWN,
			OpenWorld:   tool.GetOpenWorld(),
		},
		InputSchema:    b.schema(m.Input(), input),
		BoundedSchema:  b.schema(m.Input(), boundedInput),
		OutputSchema:   b.schema(m.Output(), output),
		UnlistedSchema: b.unlisted(m.Output()),
		TextByOthers:   textByOthers(m.Output()),
	}
	b.checkTool(m, rpc, tool)
	if tool.GetAnyCredential() {
		rpc.Access = catalog.AccessCredential
		return
	}
	rpc.Access = catalog.AccessScoped
	rpc.Scopes = []string{rpc.Tool.Group}
	if rpc.Writes {
		rpc.Scopes = append(rpc.Scopes, catalog.ScopeWrite)
	}
}

func (b *builder) checkTool(m protoreflect.MethodDescriptor, rpc *catalog.RPC, tool *toolv1.Tool) {
	if comment(m) == "" {
		b.fault(m, "has no comment; it is the tool's description")
	}
	if tool.GetTitle() == "" {
		b.fault(m, "has no title")
	}
	if tool.GetGroup() == toolv1.ToolGroup_TOOL_GROUP_UNSPECIFIED {
		b.fault(m, "has no group")
	}
	if tool.GetCredits() < 0 {
		b.fault(m, "has a negative price")
	}
	if tool.GetDestructive() && !rpc.Writes {
		b.fault(m, "is destructive but declares NO_SIDE_EFFECTS")
	}
	if tool.GetAnyCredential() && rpc.Writes {
		b.fault(m, "writes and may be called by any credential")
	}
	if tool.GetJobKind() != "" && !rpc.Writes {
		b.fault(m, "starts a job but declares NO_SIDE_EFFECTS")
	}
	output := m.Output().Fields()
	if len(tool.GetActs()) > 0 && output.ByName("change_id") == nil && output.ByName("task_id") == nil {
		b.fault(m, "has acts, but its answer has neither change_id nor task_id")
	}
	if rpc.Writes && output.ByName("change_id") != nil && output.ByName("summary") == nil {
		b.fault(m, "records a change, but its answer has no summary of it")
	}
	if other, taken := b.tools[rpc.Tool.Name]; taken {
		b.fault(m, "its tool name %s is taken by %s", rpc.Tool.Name, other)
	}
	b.tools[rpc.Tool.Name] = m.FullName()
}

// actsOf returns the kinds of acts of a tool.
func actsOf(tool *toolv1.Tool) []string {
	var acts []string
	for _, act := range tool.GetActs() {
		acts = append(acts, strings.ToLower(strings.TrimPrefix(act.String(), "ACT_")))
	}
	return acts
}

// description is the RPC's comment as one paragraph, and the price.
func description(m protoreflect.MethodDescriptor, tool *toolv1.Tool) string {
	text := paragraph(m)
	switch n := tool.GetCredits(); n {
	case 0:
		return text + " Free."
	case 1:
		return text + " Costs 1 credit."
	default:
		return fmt.Sprintf("%s Costs %d credits.", text, n)
	}
}

// paragraph is a comment on one line.
func paragraph(d protoreflect.Descriptor) string {
	return strings.Join(strings.Fields(comment(d)), " ")
}

func comment(d protoreflect.Descriptor) string {
	return strings.TrimSpace(d.ParentFile().SourceLocations().ByDescriptor(d).LeadingComments)
}

// snake turns an RPC name (SearchConnections) into a tool name (search_connections).
func snake(name string) string {
	var out strings.Builder
	for i, r := range name {
		if upper := r >= 'A' && r <= 'Z'; upper && i > 0 {
			out.WriteByte('_')
		}
		out.WriteRune(r)
	}
	return strings.ToLower(out.String())
}
