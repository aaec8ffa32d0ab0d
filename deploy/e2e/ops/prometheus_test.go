package ops

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// series is one series in an answer of Prometheus.
type series struct {
	labels map[string]string
	values []float64 // NaN left out
}

// ask evaluates an expression over an interval.
func (s *site) ask(expression string, from, to time.Time) ([]series, error) {
	const points = 400 // as wide as a panel
	step := max(to.Sub(from)/points, 500*time.Millisecond)
	form := url.Values{
		"query": {expression}, "start": {seconds(from)}, "end": {seconds(to)},
		"step": {strconv.FormatFloat(step.Seconds(), 'f', 3, 64)},
	}
	res, err := http.PostForm("http://"+s.prometheusAddr+"/api/v1/query_range", form)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	var answer struct {
		Status, Error string
		Data          struct {
			Result []struct {
				Metric map[string]string
				Values [][2]any
			}
		}
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		return nil, err
	}
	if answer.Status != "success" {
		return nil, fmt.Errorf("%s: %s", expression, answer.Error)
	}
	var list []series
	for _, result := range answer.Data.Result {
		one := series{labels: result.Metric}
		for _, pair := range result.Values {
			text, _ := pair[1].(string)
			if value, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(value) {
				one.values = append(one.values, value)
			}
		}
		if len(one.values) > 0 {
			list = append(list, one)
		}
	}
	return list, nil
}

func seconds(t time.Time) string { return strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', 3, 64) }

// least and most return the extremes of all series; NaN without series.
func least(list []series) float64 { return extreme(list, math.Min) }
func most(list []series) float64  { return extreme(list, math.Max) }

func extreme(list []series, better func(a, b float64) float64) float64 {
	found := math.NaN()
	for _, one := range list {
		for _, value := range one.values {
			if math.IsNaN(found) {
				found = value
			}
			found = better(found, value)
		}
	}
	return found
}
