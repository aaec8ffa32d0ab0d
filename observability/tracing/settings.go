package tracing

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// settings returns the sampler of spans, or nil if the environment does not enable traces. It returns
// an error for a setting that is not supported.
func settings(env func(string) string) (sdk.Sampler, error) {
	if strings.EqualFold(env("OTEL_SDK_DISABLED"), "true") {
		return nil, nil //nolint:nilnil // traces are off
	}
	switch exporter := env("OTEL_TRACES_EXPORTER"); exporter {
	case "", "none":
		return nil, nil //nolint:nilnil // traces are off
	case "otlp":
	default:
		return nil, fmt.Errorf("OTEL_TRACES_EXPORTER %q is not supported: use otlp or none", exporter)
	}
	sampling, err := sampler(env)
	return sampling, errors.Join(checkExporter(env), err)
}

// sampler returns the sampler of OTEL_TRACES_SAMPLER. The parent of a span comes from a
// caller with the service credential.
func sampler(env func(string) string) (sdk.Sampler, error) {
	name := cmp.Or(env("OTEL_TRACES_SAMPLER"), "parentbased_always_on")
	ratio, err := strconv.ParseFloat(cmp.Or(env("OTEL_TRACES_SAMPLER_ARG"), "1"), 64)
	if err != nil || !(ratio >= 0 && ratio <= 1) {
		return nil, fmt.Errorf("OTEL_TRACES_SAMPLER_ARG %q must be a number from 0 to 1", env("OTEL_TRACES_SAMPLER_ARG"))
	}
	switch name {
	case "always_on":
		return sdk.AlwaysSample(), nil
	case "always_off":
		return sdk.NeverSample(), nil
	case "traceidratio":
		return sdk.TraceIDRatioBased(ratio), nil
	case "parentbased_always_on":
		return sdk.ParentBased(sdk.AlwaysSample()), nil
	case "parentbased_always_off":
		return sdk.ParentBased(sdk.NeverSample()), nil
	case "parentbased_traceidratio":
		return sdk.ParentBased(sdk.TraceIDRatioBased(ratio)), nil
	default:
		return nil, fmt.Errorf("OTEL_TRACES_SAMPLER %q is not supported: use always_on, always_off or traceidratio, with or without parentbased_ before it", name)
	}
}

// checkExporter returns an error for settings that the exporter would silently replace by
// its defaults. Endpoints may contain secrets and are not in the error.
func checkExporter(env func(string) string) error {
	for _, name := range []string{"OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"} {
		if protocol := env(name); protocol != "" && protocol != "http/protobuf" {
			return fmt.Errorf("%s %q is not supported: use http/protobuf", name, protocol)
		}
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"} {
		if env(name) == "" {
			continue
		}
		if u, err := url.Parse(env(name)); err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			return fmt.Errorf("%s must be an address like http://collector:4318", name)
		}
	}
	return nil
}
