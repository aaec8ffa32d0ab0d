package status

import "github.com/kith-crm/kith/observability/rules"

// recent is the number of readings over which a rate or a share is measured: five minutes.
const recent = 20

// check compares a figure with the limit of an alert rule.
type check struct {
	// alert is the name of an alert of package rules.
	alert string
	// gauge is true if only the latest reading is used. Otherwise both parts of the quotient are
	// summed over the recent readings.
	gauge bool
	figure
}

// checks returns the checks in the order of the page. Rules about other processes, and rules that
// look at half an hour or more, have no check.
func checks() []check {
	return []check{
		{"KithStoreDown", true, figure{"The database can be used", truth, "kith_store_up", total(nil), 1}},
		{"KithStoreDamaged", true, figure{"The database file is damaged", truth, "kith_store_damaged", total(nil), 1}},
		{"KithBackendUnreachable", false, figure{"Requests that could not reach the backend", "%", "kith_backend_requests_total", func(s span, metric string) (part, whole float64) {
			part, whole = share("outcome", "unreachable")(s, metric)
			return part, whole - s.increase(metric, labels{"outcome": "abandoned"})
		}, percent}},
		{"KithBackendLeftOut", true, figure{"Every backend gets calls", truth, "kith_placement_backend_up", smallest, 1}},
		{"KithErrors", false, figure{"Requests that failed (5xx)", "%", "kith_http_requests_total", func(s span, metric string) (part, whole float64) {
			part, whole = share("status", "5*")(s, metric)
			return part, whole - s.increase(metric, labels{"route": checkedByProxies})
		}, percent}},
		{"KithErrors", false, figure{"Tool calls that failed", "%", "kith_tool_calls_total", share("outcome", "internal", "unavailable"), percent}},
		{"KithSlow", false, figure{"Requests slower than half a second", "%", "kith_http_request_duration_seconds", slower, percent}},
		{"KithSlow", false, figure{"Tool calls slower than half a second", "%", "kith_tool_call_duration_seconds", slower, percent}},
		{"KithSignInsFail", false, figure{"Sign-ins and authorizations that failed", "%", "kith_oauth_events_total", func(s span, metric string) (part, whole float64) {
			part = s.increase(metric, labels{"result": "failed"})
			return part, part + s.increase(metric, labels{"result": "ok"})
		}, percent}},
		{"KithOverloaded", false, figure{"Requests shed (503)", "/s", "kith_http_shed_total", rate(nil), 1}},
		{"KithStorePoolExhausted", false, figure{"Callers that wait for a database connection", "", "go_sql_wait_duration_seconds_total", rate(nil), 1}},
		{"KithStoreConflicts", false, figure{"Database statements in conflict", "/s", "kith_store_queries_total", rate(labels{"outcome": "conflict"}), 1}},
		{"KithJobsWait", true, figure{"Wait of the oldest queued job", "s", "kith_job_queue_age_seconds", largest, 1}},
		{"KithDiskFills", true, figure{"Free space on the disk of the database", "%", "kith_store_disk_free_bytes", func(s span, metric string) (part, whole float64) {
			return s.to.sum(metric, nil), s.to.sum("kith_store_disk_size_bytes", nil)
		}, percent}},
		{"KithMailFails", false, figure{"Emails that could not be sent", "", "kith_mail_total", func(s span, metric string) (part, whole float64) { // the sum over all readings
			part, _ = share("outcome", "failed", "dropped")(s, metric)
			return part, 1.0 / recent
		}, 1}},
		{"KithSourcesNotRead", true, figure{"Wait of the calendar that is due the longest", "h", "kith_source_overdue_seconds", largest, 1.0 / hour}},
		{"KithDigestsNotSent", true, figure{"Wait of the digest that is due the longest", "h", "kith_digest_overdue_seconds", largest, 1.0 / hour}},
		{"KithSweepsMissing", true, figure{"Time since expired rows were deleted", "h", "kith_store_sweep_age_seconds", largest, 1.0 / hour}},
		{"KithBackupStale", true, figure{"Age of the last backup", "h", "kith_store_backup_age_seconds", largest, 1.0 / hour}},
		{"KithCertificateExpires", true, figure{"Time until a certificate expires", "days", "kith_tls_certificate_expiry_timestamp_seconds", func(s span, metric string) (part, whole float64) {
			return s.to.minimum(metric) - float64(s.at.Unix()), 1
		}, 1.0 / day}},
		{"KithRateLimitFallback", true, figure{"Rate limits are counted without Redis", truth, "kith_rate_limit_fallback", total(nil), 1}},
		{"KithSandboxStale", true, figure{"Age of the sandbox", "h", "kith_sandbox_age_seconds", largest, 1.0 / hour}},
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

	rule       rules.Alert
	now, limit float64
	fires      bool
}
