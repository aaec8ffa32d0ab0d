module github.com/kith-crm/kith/proto

go 1.26.7

require (
	buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go v1.36.12-20260825204119-511051f7f437.2
	connectrpc.com/connect v1.21.1
	github.com/bufbuild/protocompile v0.14.2-0.20260910151042-7436f7c76201
	google.golang.org/protobuf v1.36.12
)

require (
	github.com/petermattis/goid v0.0.0-20260716134002-a9b348f0a2b9 // indirect
	golang.org/x/sync v0.22.0 // indirect
)
