/** A first job in an empty root, from nothing to a healthy deployment. */

/** The shell's part of a check: starts an agent, runs the example job, and stops the agent. */
export function firstJobScript(program: string): string {
  return `cd /root
${program} agent --dev --http-port 4996 >/root/agent.log 2>&1 &
agent=$!
export REEVE_ADDR=http://127.0.0.1:4996
tries=0
until ${program} node status >/dev/null 2>&1; do
  tries=$((tries + 1)); [ $tries -lt 100 ] || { cat /root/agent.log; exit 1; }; sleep 0.3
done
${program} job init --force >/dev/null
${program} job run example.hcl
kill $agent; wait $agent 2>/dev/null || :
`
}

export const HEALTHY = /Deployment \w+ is successful/
