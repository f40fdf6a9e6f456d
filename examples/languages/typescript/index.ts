// A GPU fleet from TypeScript, by the Automation API: this process is the program.
import * as automation from "@pulumi/pulumi/automation";
import * as kubernetes from "@pulumi/kubernetes";
import { GpuFleet } from "@gpufleet/gpufleet";

async function program() {
    const cluster = new kubernetes.Provider("cluster", {
        kubeconfig: process.env.KUBECONFIG,
        clusterIdentifier: "sandbox",
    });
    const fleet = new GpuFleet("fleet", {
        spec: {
            catalogue: "2026.11",
            platform: "sandbox",
            cluster: { name: "from-typescript" },
            pools: [{
                name: "notebooks",
                instanceTypes: ["p4de.24xlarge"],
                nodes: { min: 1, max: 2 },
                intent: "interactive",
                sharing: { mig: { layouts: [{ gpus: "all", devices: { "1g.10gb": 7 } }] } },
            }],
        },
    }, { providers: [cluster] });
    return { advertised: fleet.advertised, usdPerHour: fleet.expectedUsdPerHour };
}

async function main() {
    const stack = await automation.LocalWorkspace.createOrSelectStack({
        projectName: "gpufleet-typescript",
        stackName: process.env.STACK ?? "dev",
        program,
    }, { workDir: __dirname + "/.." });
    if (process.argv[2] === "destroy") {
        await stack.destroy({ onOutput: console.error });
        return;
    }
    const result = await stack.up({ onOutput: console.error });
    const outputs = Object.entries(result.outputs).map(([name, output]) => [name, output.value]);
    console.log(JSON.stringify(Object.fromEntries(outputs)));
}

main().catch((problem) => {
    console.error(problem);
    process.exit(1);
});
