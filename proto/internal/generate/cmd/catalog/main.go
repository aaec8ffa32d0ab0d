// Command catalog writes catalog.json from a descriptor set. `make gen` calls it.
//
//	catalog DESCRIPTOR_SET OUTPUT
package main

import (
	"fmt"
	"os"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/kith-crm/kith/proto/internal/generate"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("usage: catalog DESCRIPTOR_SET OUTPUT")
	}
	data, err := os.ReadFile(args[0])
	if err != nil {
		return fmt.Errorf("read descriptors: %w", err)
	}
	set := &descriptorpb.FileDescriptorSet{}
	if err := proto.Unmarshal(data, set); err != nil {
		return fmt.Errorf("decode descriptors: %w", err)
	}
	file, err := generate.Catalog(set)
	if err != nil {
		return err
	}
	out, err := file.Encode()
	if err != nil {
		return err
	}
	return os.WriteFile(args[1], out, 0o644)
}
