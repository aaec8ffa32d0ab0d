package status

import (
	"math"

	"github.com/kith-crm/kith/observability/rules"
)

// recent is the number of readings over which a rate or a share is measured: five minutes.
const recent = 20

// check compares a figure with the limit of an alert rule.
type check struct {
	// alert is the name of an alert of package rules.
	alert       string
	title, unit string
	// metric is a metric without which the check is skipped.
	metric string
	// measure returns the figure as a quotient, in the unit of the rule. Both parts are summed over
	// the recent readings; for a gauge, only the latest reading is used.
	measure func(span) (part, whole float64)
	gauge   bool
	// scale converts the unit of the rule to that of the page; 0 means 1.
	scale float64
}

// truth is the unit of a figure that is 1 (yes) or 0 (no).
const truth = "truth"

const (
	day  = 86400
	slow = 0.5 // the bound of a duration in KithSlow, in seconds
)

// checks returns the checks in the order of the page. Rules about other processes, and rules that
// look at half an hour or more, have no check.
func checks() []check {
	return []check{
		{alert: "KithStoreDown", title: "The database can be used", unit: truth, metric: "kith_store_up", gauge: true, measure: gauge("kith_store_up")},
		{alert: "KithStoreDamaged", title: "The database file is damaged", unit: truth, metric: "kith_store_damaged", gauge: true, measure: gauge("kith_store_damaged")},
		{alert: "KithBackendUnreachable", title: "Requests that could not reach the backend", unit: "%", metric: "kith_backend_requests_total", scale: percent, measure: func(s span) (part, whole float64) {
			all, name := s.increase("kith_backend_requests_total", nil), "kith_backend_requests_total"
			return s.increase(name, labels{"outcome": "unreachable"}), all - s.increase(name, labels{"outcome": "abandoned"})
		}},
		{alert: "KithBackendLeftOut", title: "Every backend gets calls", unit: truth, metric: "kith_placement_backend_up", gauge: true, measure: func(s span) (part, whole float64) {
			return s.to.minimum("kith_placement_backend_up"), 1
		}},
		{alert: "KithErrors", title: "Requests that failed (5xx)", unit: "%", metric: "kith_http_requests_total", scale: percent, measure: func(s span) (part, whole float64) {
			part, whole = shareOf("kith_http_requests_total", "status", "5*")(s)
			return part, whole - s.increase("kith_http_requests_total", labels{"route": checkedByProxies})
		}},
		{alert: "KithErrors", title: "Tool calls that failed", unit: "%", metric: "kith_tool_calls_total", scale: percent, measure: shareOf("kith_tool_calls_total", "outcome", "internal", "unavailable")},
		{alert: "KithSlow", title: "Requests slower than half a second", unit: "%", metric: "kith_http_request_duration_seconds", scale: percent, measure: slower("kith_http_request_duration_seconds")},
		{alert: "KithSlow", title: "Tool calls slower than half a second", unit: "%", metric: "kith_tool_call_duration_seconds", scale: percent, measure: slower("kith_tool_call_duration_seconds")},
		{alert: "KithSignInsFail", title: "Sign-ins and authorizations that failed", unit: "%", metric: "kith_oauth_events_total", scale: percent, measure: func(s span) (part, whole float64) {
			part = s.increase("kith_oauth_events_total", labels{"result": "failed"})
			return part, part + s.increase("kith_oauth_events_total", labels{"result": "ok"})
		}},
		{alert: "KithOverloaded", title: "Requests shed (503)", unit: "/s", metric: "kith_http_shed_total", measure: rateOf("kith_http_shed_total", nil)},
		{alert: "KithStorePoolExhausted", title: "Callers that wait for a database connection", metric: "go_sql_wait_duration_seconds_total", measure: rateOf("go_sql_wait_duration_seconds_total", nil)},
		{alert: "KithStoreConflicts", title: "Database statements in conflict", unit: "/s", metric: "kith_store_queries_total", measure: rateOf("kith_store_queries_total", labels{"outcome": "conflict"})},
		{alert: "KithJobsWait", title: "Wait of the oldest queued job", unit: "s", metric: "kith_job_queue_age_seconds", gauge: true, measure: func(s span) (part, whole float64) {
			return s.to.maximum("kith_job_queue_age_seconds"), 1
		}},
		{alert: "KithDiskFills", title: "Free space on the disk of the database", unit: "%", metric: "kith_store_disk_free_bytes", gauge: true, scale: percent, measure: func(s span) (part, whole float64) {
			return s.to.sum("kith_store_disk_free_bytes", nil), s.to.sum("kith_store_disk_size_bytes", nil)
		}},
		{alert: "KithMailFails", title: "Emails that could not be sent", metric: "kith_mail_total", measure: func(s span) (part, whole float64) { // the sum over all readings
			return s.increase("kith_mail_total", labels{"outcome": "failed"}) + s.increase("kith_mail_total", labels{"outcome": "dropped"}), 1.0 / recent
		}},
		{alert: "KithSweepsMissing", title: "Time since expired rows were deleted", unit: "h", metric: "kith_store_sweep_age_seconds", gauge: true, scale: 1.0 / hour, measure: func(s span) (part, whole float64) {
			return s.to.maximum("kith_store_sweep_age_seconds"), 1
		}},
		{alert: "KithBackupStale", title: "Age of the last backup", unit: "h", metric: "kith_store_backup_age_seconds", gauge: true, scale: 1.0 / hour, measure: func(s span) (part, whole float64) {
			return s.to.maximum("kith_store_backup_age_seconds"), 1
		}},
		{alert: "KithCertificateExpires", title: "Time until a certificate expires", unit: "days", metric: "kith_tls_certificate_expiry_timestamp_seconds", gauge: true, scale: 1.0 / day, measure: func(s span) (part, whole float64) {
			return s.to.minimum("kith_tls_certificate_expiry_timestamp_seconds") - float64(s.at.Unix()), 1
		}},
		{alert: "KithRateLimitFallback", title: "Rate limits are counted without Redis", unit: truth, metric: "kith_rate_limit_fallback", gauge: true, measure: gauge("kith_rate_limit_fallback")},
		{alert: "KithSandboxStale", title: "Age of the sandbox", unit: "h", metric: "kith_sandbox_age_seconds", gauge: true, scale: 1.0 / hour, measure: func(s span) (part, whole float64) {
			return s.to.maximum("kith_sandbox_age_seconds"), 1
		}},
	}
}

func gauge(name string) func(span) (part, whole float64) {
	return func(s span) (part, whole float64) { return s.to.sum(name, nil), 1 }
}

func rateOf(name string, want labels) func(span) (part, whole float64) {
	return func(s span) (part, whole float64) { return s.increase(name, want), s.length.Seconds() }
}

// shareOf measures the share of the series with one of the values of a label.
func shareOf(name, label string, values ...string) func(span) (part, whole float64) {
	return func(s span) (part, whole float64) {
		for _, value := range values {
			part += s.increase(name, labels{label: value})
		}
		return part, s.increase(name, nil)
	}
}

// slower measures the share of a histogram's observations above slow.
func slower(name string) func(span) (part, whole float64) {
	return func(s span) (part, whole float64) {
		now, before := s.to.buckets(name), s.from.buckets(name)
		if _, known := now[slow]; !known {
			return 0, 0
		}
		whole = max(0, now[math.Inf(1)]-before[math.Inf(1)])
		return max(0, whole-max(0, now[slow]-before[slow])), whole
	}
}

// reading is a measurement of a check at one time.
type reading struct{ part, whole float64 }

// quotient returns the figure of several readings; NaN if there was nothing to measure.
func quotient(readings []reading) float64 {
	sum := reading{}
	for _, r := range readings {
		sum.part += r.part
		sum.whole += r.whole
	}
	return sum.part / sum.whole
}

// checked is a check with its figure and its limit, both in the unit of the page.
type checked struct {
	check

	rule          rules.Alert
	figure, limit float64
	fires         bool
}
