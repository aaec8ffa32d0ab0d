package importer

// KindInSteps is Kind with steps of some records.
var KindInSteps = kind
