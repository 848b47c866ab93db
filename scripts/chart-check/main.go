// Reads manifests from stdin and decodes each into the type that Kubernetes has for it: a field that is unknown, written
// twice or of another type is an error. Prints the kinds.
package main

import (
	"bufio"
	"fmt"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8syaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// What is decoded, by version and kind.
var kinds = map[string]func() any{
	"v1/ConfigMap":                       func() any { return &corev1.ConfigMap{} },
	"v1/Secret":                          func() any { return &corev1.Secret{} },
	"v1/Service":                         func() any { return &corev1.Service{} },
	"apps/v1/StatefulSet":                func() any { return &appsv1.StatefulSet{} },
	"policy/v1/PodDisruptionBudget":      func() any { return &policyv1.PodDisruptionBudget{} },
	"networking.k8s.io/v1/NetworkPolicy": func() any { return &networkingv1.NetworkPolicy{} },
}

func main() {
	reader := k8syaml.NewYAMLReader(bufio.NewReader(os.Stdin))
	for {
		document, err := reader.Read()
		if err != nil {
			break
		}
		var meta struct {
			metav1.TypeMeta `json:",inline"`
		}
		if err := yaml.Unmarshal(document, &meta); err != nil {
			fail("%v", err)
		}
		if meta.Kind == "" {
			continue
		}
		name := meta.APIVersion + "/" + meta.Kind
		make, known := kinds[name]
		if !known {
			fail("%s: no type is known", name)
		}
		if err := yaml.UnmarshalStrict(document, make()); err != nil {
			fail("%s: %v\n%s", name, err, document)
		}
		fmt.Println(name)
	}
}

func fail(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", arguments...)
	os.Exit(1)
}
