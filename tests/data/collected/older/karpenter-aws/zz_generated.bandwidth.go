/*
Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package instancetype

// GENERATED FILE. DO NOT EDIT DIRECTLY.
// Update hack/code/bandwidth_gen.go and re-generate to edit
// You can add instance types by adding to the --instance-types CLI flag

var (
	InstanceTypeBandwidthMegabits = map[string]int64{
		"g6.xlarge":            2500,
		"g6.2xlarge":           5000,
		"g6.4xlarge":           10000,
		"g6.16xlarge":          25000,
		"g6.8xlarge":           25000,
		"g6.12xlarge":          40000,
		"g6.24xlarge":          50000,
		"g7.2xlarge":           60000,
		"g7.4xlarge":           60000,
		"g7.8xlarge":           80000,
		"g6.48xlarge":          100000,
		"p5.4xlarge":           100000,
		"g7.12xlarge":          175000,
		"g7.24xlarge":          350000,
		"g7.48xlarge":          700000,
		"p5.48xlarge":          3200000,
	}
)
