import type { HostUsage, Node } from '@reeve/contract'
import { Chart } from '../../charts/lazy-chart.tsx'
import { useSamples } from '../../charts/use-samples.ts'
import { useRead } from '../../data/use-read.ts'
import { bytesText } from '../../parts/bytes.ts'
import { Panel } from '../../parts/panel.tsx'

/** As often as a node measures. */
const EVERY_MS = 2_000

/** What the whole machine uses; nothing where its agent cannot be reached. */
export function NodeUsage({ node }: { readonly node: Node }) {
  const { data } = useRead(
    ['node-usage', node.ID],
    (api, signal) => api.v1.readClientStats({ query: { node_id: node.ID }, signal }),
    { everyMs: EVERY_MS },
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
  const [times = [], cpu = [], cpuAll = [], memory = [], memoryAll = []] = samples
  return (
    <div className="charts">
      <Panel title={`CPU: ${Math.round(CPUTicksConsumed)} of ${CpuShares} MHz`}>
        <Chart
          label="CPU used by the machine, in MHz, over the last minutes"
          data={[times, cpu, cpuAll]}
          names={['Used', 'There is']}
          format={(value) => String(Math.round(value))}
        />
      </Panel>
      <Panel title={`Memory: ${bytesText(Memory.Used)} of ${bytesText(Memory.Total)}`}>
        <Chart
          label="Memory used by the machine over the last minutes"
          data={[times, memory, memoryAll]}
          names={['Used', 'There is']}
          format={bytesText}
        />
      </Panel>
    </div>
  )
}
