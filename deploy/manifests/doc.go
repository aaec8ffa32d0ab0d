// Package manifests tests the deployment files against the schemas of the programs that read
// them: the OpenAPI documents of Kubernetes and the resource definitions of the Prometheus
// operator for deploy/k8s, and the loader of Compose for deploy/compose.
package manifests
