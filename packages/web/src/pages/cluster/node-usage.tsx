import type { HostUsage, Node } from '@reeve/contract'
import { Chart } from '../../charts/lazy-chart.tsx'
import { useSamples } from '../../charts/use-samples.ts'
import { useApiQuery } from '../../data/use-read.ts'
import { formatBytes } from '../../parts/bytes.ts'
import { Panel } from '../../parts/panel.tsx'

/** The measuring interval of nodes. */
const POLL_INTERVAL_MS = 2_000

/** CPU and memory usage of the machine; empty if its agent cannot be reached. */
export function NodeUsage({ node }: { readonly node: Node }) {
  const { data } = useApiQuery(
    ['node-usage', node.ID],
    (api, signal) => api.v1.readClientStats({ query: { node_id: node.ID }, signal }),
    { pollIntervalMs: POLL_INTERVAL_MS },
  )
  if (data === undefined) return null
  return <Charts node={node} usage={data} />
}

function Charts({ node, usage }: { readonly node: Node; readonly usage: HostUsage }) {
  const { Memory, CPUTicksConsumed, Timestamp } = usage
  const { CpuShares } = node.NodeResources.Cpu
  const samples = useSamples(Timestamp / 1e9, [
    CPUTicksConsumed,
    CpuShares,
    Memory.Used,
    Memory.Total,
  ])
  const [times = [], cpu = [], cpuCapacity = [], memory = [], memoryCapacity = []] = samples
  return (
    <div className="charts">
      <Panel title={`CPU: ${Math.round(CPUTicksConsumed)} of ${CpuShares} MHz`}>
        <Chart
          label="CPU used by the machine, in MHz, over the last minutes"
          data={[times, cpu, cpuCapacity]}
          seriesNames={['Used', 'There is']}
          format={(value) => String(Math.round(value))}
        />
      </Panel>
      <Panel title={`Memory: ${formatBytes(Memory.Used)} of ${formatBytes(Memory.Total)}`}>
        <Chart
          label="Memory used by the machine over the last minutes"
          data={[times, memory, memoryCapacity]}
          seriesNames={['Used', 'There is']}
          format={formatBytes}
        />
      </Panel>
    </div>
  )
}
