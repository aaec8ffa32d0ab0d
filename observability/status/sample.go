package status

import (
	"math"
	"strings"

	dto "github.com/prometheus/client_model/go"
)

// families are the metrics at one moment, by name.
type families map[string]*dto.MetricFamily

// labels select series of a metric. A value that ends in * selects all values with that
// prefix.
type labels map[string]string

func (want labels) match(pairs []*dto.LabelPair) bool {
	for name, value := range want {
		found := false
		for _, p := range pairs {
			prefix, open := strings.CutSuffix(value, "*")
			found = found || p.GetName() == name && (p.GetValue() == value || open && strings.HasPrefix(p.GetValue(), prefix))
		}
		if !found {
			return false
		}
	}
	return true
}

// has reports whether the process has the metric.
func (f families) has(name string) bool { return f[name] != nil }

// sum returns the sum of the series of a counter or a gauge.
func (f families) sum(name string, want labels) float64 {
	total := 0.0
	for _, m := range f[name].GetMetric() {
		if want.match(m.GetLabel()) {
			total += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return total
}

// maximum returns the largest value of the series of a gauge.
func (f families) maximum(name string) float64 {
	largest := 0.0
	for _, m := range f[name].GetMetric() {
		largest = max(largest, m.GetGauge().GetValue())
	}
	return largest
}

// minimum returns the smallest value of the series of a gauge; +Inf without series.
func (f families) minimum(name string) float64 {
	smallest := math.Inf(1)
	for _, m := range f[name].GetMetric() {
		smallest = min(smallest, m.GetGauge().GetValue())
	}
	return smallest
}

// waiting is the tool that waits for a job, as long as it is told to: its time says nothing about the service.
const waiting = "get_job"

// checkedByProxies is the route that proxies call to check an edge, which the rules leave out.
const checkedByProxies = "agent-index"

// buckets returns the cumulative counts of a histogram's classic buckets by their upper
// bounds, without calls of the tool that waits and without checks of proxies.
func (f families) buckets(name string) map[float64]float64 {
	counts := map[float64]float64{}
	for _, m := range f[name].GetMetric() {
		if (labels{"tool": waiting}).match(m.GetLabel()) || (labels{"route": checkedByProxies}).match(m.GetLabel()) {
			continue
		}
		h := m.GetHistogram()
		for _, b := range h.GetBucket() {
			counts[b.GetUpperBound()] += float64(b.GetCumulativeCount())
		}
		counts[math.Inf(1)] += float64(h.GetSampleCount())
	}
	return counts
}
