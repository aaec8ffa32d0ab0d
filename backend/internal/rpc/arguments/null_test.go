package arguments_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/proto/catalog"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
)

// TestNullIsLeftOut: the published schemas let every optional argument be null, which
// means the same as leaving it out.
func TestNullIsLeftOut(t *testing.T) {
	t.Parallel()
	rpcs, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, rpc := range rpcs.Tools() {
		empty := request(t, rpc.Tool.Name)
		fields := empty.ProtoReflect().Descriptor().Fields()
		body := []byte{'{'}
		for i := range fields.Len() {
			if i > 0 {
				body = append(body, ',')
			}
			body = append(append(append(body, '"'), fields.Get(i).Name()...), `":null`...)
		}
		got := proto.Clone(empty)
		if err := protojson.Unmarshal(append(body, '}'), got); err != nil {
			t.Errorf("%s: %v", rpc.Tool.Name, err)
			continue
		}
		if diff := cmp.Diff(empty, got, protocmp.Transform()); diff != "" {
			t.Errorf("%s: null sets something (-want +got):\n%s", rpc.Tool.Name, diff)
		}
	}
}
