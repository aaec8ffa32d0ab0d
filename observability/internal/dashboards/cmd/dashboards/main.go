// Command dashboards writes the Grafana dashboards to a folder.
package main

import (
	"fmt"
	"os"

	"github.com/kith-crm/kith/observability/internal/dashboards"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: dashboards FOLDER")
		os.Exit(2)
	}
	if err := dashboards.Write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
