package status

import (
	"math"
	"strings"

	dto "github.com/prometheus/client_model/go"
)

// families are the metrics of one moment, by name.
type families map[string]*dto.MetricFamily

// labels say which series of a metric are meant. A value that ends in * means all
// that begin so.
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

// has tells whether the process reports a metric at all.
func (f families) has(name string) bool { return f[name] != nil }

// sum adds up the series of a counter or a gauge.
func (f families) sum(name string, want labels) float64 {
	total := 0.0
	for _, m := range f[name].GetMetric() {
		if want.match(m.GetLabel()) {
			total += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return total
}

// most is the largest of the series of a gauge.
func (f families) most(name string) float64 {
	most := 0.0
	for _, m := range f[name].GetMetric() {
		most = max(most, m.GetGauge().GetValue())
	}
	return most
}

// buckets are the counts of a histogram's classic buckets by their upper bounds,
// each with those below it.
func (f families) buckets(name string) map[float64]float64 {
	counts := map[float64]float64{}
	for _, m := range f[name].GetMetric() {
		h := m.GetHistogram()
		for _, b := range h.GetBucket() {
			counts[b.GetUpperBound()] += float64(b.GetCumulativeCount())
		}
		counts[math.Inf(1)] += float64(h.GetSampleCount())
	}
	return counts
}
