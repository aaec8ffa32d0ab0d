package importer

// KindInSteps is Kind with steps of a given number of records, and with another function
// to run them. UndoInSteps is Undo with another function to run its steps.
var (
	KindInSteps = kind
	UndoInSteps = undo
)

// StepFunc runs a step of a job.
type StepFunc = stepFunc
