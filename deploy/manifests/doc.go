// Package manifests tests the files that Kith is deployed by, against the rules
// of what reads them: Kubernetes' own OpenAPI documents and the Prometheus
// operator's resource definitions for deploy/k8s, Compose's own loader for
// deploy/compose.
package manifests
