package main

import (
	"maps"
	"slices"

	edge "github.com/kith-crm/kith/edge/server"
)

const sunsetPrefix = "KITH_SUNSET_"

// sunsets returns the removal dates in the environment, by the names of the deprecated
// routes.
func sunsets(environment []string) (map[string]string, error) {
	names := slices.Sorted(maps.Keys(edge.DeprecatedRoutes()))
	return namedSettings(environment, sunsetPrefix, "deprecated path", names, func(value string) error {
		_, err := edge.ParseSunset(value)
		return err
	})
}
