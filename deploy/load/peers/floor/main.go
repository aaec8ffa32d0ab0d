// Command floor is plain net/http with a constant answer: the lower bound of the cost of a profile.
package main

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/kith-crm/kith/deploy/load/peers/data"
)

func main() {
	answer, err := json.Marshal(data.Load().People[:4])
	data.Must(err)
	length := []string{strconv.Itoa(len(answer))}
	contentType := []string{"application/json"}
	data.Serve(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"], w.Header()["Content-Length"] = contentType, length
		_, _ = w.Write(answer)
	}))
}
