package dashboards

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// repository is the base of links to pages.
const repository = "https://github.com/kith-crm/kith/blob/main/"

// The width of the grid and the sizes of panels.
const (
	gridWidth    = 24
	numberWidth  = 4
	numberHeight = 5
	graphWidth   = 12
	graphHeight  = 8
)

// Write renders every dashboard into a file of the folder.
func Write(folder string) error {
	for _, d := range All() {
		text, err := d.JSON()
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, d.File()), text, 0o644); err != nil {
			return fmt.Errorf("write the dashboard: %w", err)
		}
	}
	return nil
}

// File is the name of the dashboard's file.
func (d Dashboard) File() string { return d.Name + ".json" }

// JSON returns the dashboard in Grafana's format.
func (d Dashboard) JSON() ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(d.render()); err != nil {
		return nil, fmt.Errorf("render the dashboard %s: %w", d.Name, err)
	}
	return text.Bytes(), nil
}

// object is a JSON object.
type object = map[string]any

func datasource() object { return object{"type": "prometheus", "uid": "${datasource}"} }

func (d Dashboard) render() object {
	return object{
		"uid": "kith-" + d.Name, "title": d.Title, "description": d.Description, "tags": []string{"kith"},
		"schemaVersion": 39, "version": 1, "editable": false, "graphTooltip": 1,
		"refresh": "30s", "time": object{"from": "now-1h", "to": "now"}, "timezone": "browser",
		"links": []object{{"type": "dashboards", "title": "Kith", "tags": []string{"kith"}, "asDropdown": true, "includeVars": true, "keepTime": true}},
		"templating": object{"list": []object{
			{"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus"},
			{
				"name": "instance", "label": "Process", "type": "query", "datasource": datasource(),
				"definition": instances, "query": object{"query": instances, "refId": "instances"},
				"refresh": 2, "sort": 1, "multi": true, "includeAll": true, "allValue": ".*", "current": object{"text": "All", "value": "$__all"},
			},
		}},
		"annotations": object{"list": []object{{
			"name": "Firing alerts", "datasource": datasource(), "enable": true, "iconColor": "red",
			"expr": alerts, "titleFormat": "{{alertname}}", "textFormat": "{{job}} {{instance}}", "step": "30s",
		}}},
		"panels": d.panels(),
	}
}

const (
	instances = `label_values(up{job=~"kith.*"}, instance)`
	alerts    = `max by (alertname, instance, job) (ALERTS{alertstate="firing",alertname=~"Kith.*"})`
)

// panels lays out the rows from top to bottom and their panels from left to right, and
// numbers them in this order.
func (d Dashboard) panels() []object {
	var list []object
	y := 0
	for _, row := range d.Rows {
		list = append(list, object{
			"id": len(list) + 1, "type": "row", "title": row.Title, "collapsed": false, "panels": []object{},
			"gridPos": object{"x": 0, "y": y, "w": gridWidth, "h": 1},
		})
		y++
		x, high := 0, 0
		for _, p := range row.Panels {
			w, h := p.size()
			if x+w > gridWidth {
				x, y, high = 0, y+high, 0
			}
			panel := p.render()
			panel["id"], panel["gridPos"] = len(list)+1, object{"x": x, "y": y, "w": w, "h": h}
			list = append(list, panel)
			x, high = x+w, max(high, h)
		}
		y += high
	}
	return list
}

func (p Panel) size() (w, h int) {
	if p.Number {
		return numberWidth, numberHeight
	}
	return graphWidth, graphHeight
}

func (p Panel) render() object {
	defaults := object{"unit": p.Unit, "thresholds": p.thresholds()}
	panel := object{
		"title": p.Title, "description": p.Description, "datasource": datasource(), "targets": p.targets(),
		"fieldConfig": object{"defaults": defaults, "overrides": []object{}},
	}
	if p.Link != "" {
		title := "Read more"
		if strings.HasPrefix(p.Link, runbooks) {
			title = "What to do"
		}
		panel["links"] = []object{{"title": title, "url": repository + p.Link, "targetBlank": true}}
	}
	if p.Number {
		panel["type"] = "stat"
		panel["options"] = object{"reduceOptions": object{"calcs": []string{"lastNotNull"}}, "colorMode": "value", "graphMode": "area"}
		return panel
	}
	custom := object{"lineWidth": 1, "fillOpacity": 10, "showPoints": "never", "spanNulls": false}
	if p.Max != 0 || p.Min != 0 {
		custom["thresholdsStyle"] = object{"mode": "dashed"}
	}
	defaults["custom"], defaults["min"] = custom, 0
	panel["type"] = "timeseries"
	panel["options"] = object{
		"legend":  object{"displayMode": "table", "placement": "right", "calcs": []string{"lastNotNull", "max"}},
		"tooltip": object{"mode": "multi", "sort": "desc"},
	}
	return panel
}

// thresholds colours values above Max, or below Min, red.
func (p Panel) thresholds() object {
	steps := []object{{"color": "green", "value": nil}}
	switch {
	case p.Max != 0:
		steps = append(steps, object{"color": "red", "value": p.Max})
	case p.Min != 0:
		steps = []object{{"color": "red", "value": nil}, {"color": "green", "value": p.Min}}
	}
	return object{"mode": "absolute", "steps": steps}
}

func (p Panel) targets() []object {
	var list []object
	for i, q := range p.Queries {
		list = append(list, object{
			"refId": string(rune('A' + i)), "datasource": datasource(), "expr": q.Expr, "legendFormat": q.Legend,
			"editorMode": "code", "range": true, "exemplar": p.exemplars(),
		})
	}
	return list
}

// exemplars reports whether the panel shows exemplars, which link to traces: graphs of
// durations do.
func (p Panel) exemplars() bool { return !p.Number && p.Unit == "s" }
