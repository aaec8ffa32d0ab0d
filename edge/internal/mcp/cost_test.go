package mcp

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/kith-crm/kith/edge/internal/upstream"
	"github.com/kith-crm/kith/proto/catalog"
)

const searchCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_connections",` +
	`"arguments":{"query":"engineers I met in Lisbon who know about storage","limit":10,"mode":"auto"}}}`

func BenchmarkDecode(b *testing.B) {
	body := []byte(searchCall)
	b.ReportAllocs()
	for b.Loop() {
		if _, fault := decode(body); fault != nil {
			b.Fatal(fault.message)
		}
	}
}

func BenchmarkEnvelope(b *testing.B) {
	hit := `{"id":"con_kf924hj974","name":"Zoë Ångström","headline":"Engineer at Kilo","organization":"Kilo",` +
		`"email":"zoe@kilo.example","score":0.5,"matched_fields":["name","note"],"snippet":"said \"maybe\" in May"}`
	answer := upstream.Answer{Body: []byte(`{"hits":[` + strings.Repeat(hit+",", 11) + hit + `],"has_more":false}`)}
	c, _ := catalog.Load()
	others := newOthersText(c)["search_connections"]
	b.ReportAllocs()
	for b.Loop() {
		result, _ := toolResult(answer, others)
		_ = resultMessage(jsontext.Value("1"), result)
	}
}
