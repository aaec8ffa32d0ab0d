package importer

// KindInSteps is Kind with steps of some records, and with another way to take them;
// UndoInSteps is Undo with another way to take its steps.
var (
	KindInSteps = kind
	UndoInSteps = undo
)

// StepFunc is a way to take the steps of a job.
type StepFunc = stepFunc
