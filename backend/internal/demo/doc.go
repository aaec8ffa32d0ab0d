// Package demo seeds the sandbox's demo account: at the first start, and again each UTC
// day, so that its dates stay near today. The data is the sandbox module's. The network of
// the account is a file of our own export format, which the importer writes as it writes
// any such file, but in one transaction with everything else: visitors never see half of it.
package demo
