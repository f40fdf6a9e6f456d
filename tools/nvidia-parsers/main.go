// Program nvidia-parsers says what NVIDIA's own parsers make of a configuration. It reads one JSON
// request per line, {"kind", "text", "args"}, and answers each with one JSON line,
// {"verdict": "accept" | "reject" | "panic", "error", "read"}, so that thousands of documents are
// judged by one process.
//
// The checks that follow parsing live upstream in packages that cannot be imported (a main package,
// and one that needs the NVML library); they are written out here, with the place they come from.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	plugin "github.com/NVIDIA/k8s-device-plugin/api/config/v1"
	parted "github.com/NVIDIA/mig-parted/api/spec/v1"
	"sigs.k8s.io/yaml"
)

type request struct {
	Kind string            `json:"kind"`
	Text string            `json:"text"`
	Args map[string]string `json:"args"`
}

type answer struct {
	Verdict string `json:"verdict"`
	Error   string `json:"error,omitempty"`
	Read    any    `json:"read,omitempty"`
}

func main() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	decoder := json.NewDecoder(in)
	encoder := json.NewEncoder(out)
	for decoder.More() {
		var asked request
		if err := decoder.Decode(&asked); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		if err := encoder.Encode(judge(asked)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		if in.Buffered() == 0 {
			out.Flush()
		}
	}
	out.Flush()
}

func judge(asked request) (found answer) {
	defer func() {
		if problem := recover(); problem != nil {
			found = answer{Verdict: "panic", Error: fmt.Sprint(problem)}
		}
	}()
	var read any
	var err error
	switch asked.Kind {
	case "mig-parted":
		read, err = migParted(asked)
	case "device-plugin":
		read, err = devicePlugin(asked)
	case "yaml":
		var converted []byte
		converted, err = yaml.YAMLToJSON([]byte(asked.Text))
		read = json.RawMessage(converted)
	default:
		err = fmt.Errorf("unknown kind %q", asked.Kind)
	}
	if err != nil {
		return answer{Verdict: "reject", Error: err.Error()}
	}
	return answer{Verdict: "accept", Read: read}
}

// migParted parses a document and, where args has "select", picks a config as
// cmd/nvidia-mig-parted/assert/assert.go GetSelectedMigConfig does.
func migParted(asked request) (any, error) {
	var spec parted.Spec
	if err := yaml.Unmarshal([]byte(asked.Text), &spec); err != nil {
		return nil, err
	}
	selected, given := asked.Args["select"]
	if !given {
		return spec, nil
	}
	if selected == "" && len(spec.MigConfigs) > 1 {
		return nil, errors.New("missing required flag 'selected-config'")
	}
	if selected == "" && len(spec.MigConfigs) == 1 {
		for name := range spec.MigConfigs {
			selected = name
		}
	}
	if _, exists := spec.MigConfigs[selected]; !exists {
		return nil, fmt.Errorf("selected mig-config not present: %v", selected)
	}
	return spec.MigConfigs[selected], nil
}

type pluginRead struct {
	MigStrategy string                      `json:"migStrategy"`
	Strategy    string                      `json:"strategy"`
	Resources   []plugin.ReplicatedResource `json:"resources"`
}

// devicePlugin parses a document and applies what cmd/nvidia-device-plugin/main.go does with it up
// to validateFlags. Args "MIG_STRATEGY" and "MPS_ROOT" stand for the environment.
func devicePlugin(asked request) (any, error) {
	var config plugin.Config
	if err := yaml.Unmarshal([]byte(asked.Text), &config); err != nil {
		return nil, err
	}
	if config.Version != "" && config.Version != plugin.Version {
		return nil, fmt.Errorf("unknown version: %v", config.Version)
	}
	plugin.DisableResourceNamingInConfig(&config)
	if config.Flags.Plugin == nil {
		config.Flags.Plugin = &plugin.PluginCommandLineFlags{}
	}
	if list := config.Flags.Plugin.DeviceListStrategy; list != nil {
		if _, err := plugin.NewDeviceListStrategies(*list); err != nil {
			return nil, err
		}
	}
	identifier := or(config.Flags.Plugin.DeviceIDStrategy, plugin.DeviceIDStrategyUUID)
	if identifier != plugin.DeviceIDStrategyUUID && identifier != plugin.DeviceIDStrategyIndex {
		return nil, fmt.Errorf("invalid --device-id-strategy option: %v", identifier)
	}
	strategy := or(config.Flags.MigStrategy, plugin.MigStrategyNone)
	if value, given := asked.Args["MIG_STRATEGY"]; given {
		strategy = value
	}
	root := or(config.Flags.MpsRoot, "")
	if value, given := asked.Args["MPS_ROOT"]; given {
		root = value
	}
	if config.Sharing.SharingStrategy() == plugin.SharingStrategyMPS {
		if strategy == plugin.MigStrategyMixed {
			return nil, errors.New("using --mig-strategy=mixed is not supported with MPS")
		}
		if root == "" {
			return nil, errors.New("using MPS requires --mps-root to be specified")
		}
	}
	switch discovery := or(config.Flags.DeviceDiscoveryStrategy, "auto"); discovery {
	case "auto", "nvml", "tegra":
	default:
		return nil, fmt.Errorf("invalid --device-discovery-strategy option %v", discovery)
	}
	switch strategy {
	case plugin.MigStrategyNone, plugin.MigStrategySingle, plugin.MigStrategyMixed:
	default:
		return nil, fmt.Errorf("unknown MIG strategy: %v", strategy)
	}
	if err := plugin.AssertChannelIDsValid(config.Imex.ChannelIDs); err != nil {
		return nil, err
	}
	return pluginRead{
		MigStrategy: strategy,
		Strategy:    string(config.Sharing.SharingStrategy()),
		Resources:   config.Sharing.ReplicatedResources().Resources,
	}, nil
}

func or(value *string, otherwise string) string {
	if value == nil {
		return otherwise
	}
	return *value
}
