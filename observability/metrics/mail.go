package metrics

import "github.com/prometheus/client_golang/prometheus"

// Mail counts emails.
type Mail struct {
	vec *prometheus.CounterVec
}

// mailOutcomes are the outcomes of emails.
var mailOutcomes = []string{"sent", "refused", "failed", "dropped"}

// NewMail registers kith_mail_total with r, or joins it.
func NewMail(r prometheus.Registerer) (*Mail, error) {
	vec, err := newOutcomes(r, "kith_mail_total", "Emails, by outcome (sent; refused, because of the recipient's address; "+
		"failed, after all attempts; dropped, because too many waited).", mailOutcomes)
	return &Mail{vec}, err
}

// Observe counts an email. An unknown outcome counts as failed.
func (m *Mail) Observe(outcome string) {
	if !setOf(mailOutcomes)[outcome] {
		outcome = "failed"
	}
	m.vec.WithLabelValues(outcome).Inc()
}
