import type { Allocation, AllocationUsage, ResourceUsage } from '@reeve/contract'
import { allocationCan } from '../../actions/allocation-can.ts'
import { Chart } from '../../charts/lazy-chart.tsx'
import { useSamples } from '../../charts/use-samples.ts'
import { useRead } from '../../data/use-read.ts'
import { bytesText, megabytesText } from '../../parts/bytes.ts'
import { EmptyState } from '../../parts/empty-state.tsx'
import { Facts, Panel } from '../../parts/panel.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import type { AllocationView } from './allocation-view.ts'

/** As often as a node measures. */
const EVERY_MS = 2_000

/** What the tasks use of what they were given. */
export function UsageTab({ allocation }: AllocationView) {
  const refusal = allocationCan.readUsage(allocation)
  if (refusal !== undefined)
    return (
      <EmptyState title="No usage">
        <p>{refusal} Usage is measured while tasks run and is not kept.</p>
      </EmptyState>
    )
  return <Usage allocation={allocation} />
}

function Usage({ allocation }: { readonly allocation: Allocation }) {
  const { ID, Namespace: namespace } = allocation
  const usage = useRead(
    ['allocation-usage', ID],
    (api, signal) =>
      api.v1.readAllocationStats({ params: { alloc_id: ID }, query: { namespace }, signal }),
    { everyMs: EVERY_MS },
  )
  return (
    <QueryView query={usage} what="the usage">
      {(data) => <UsageView allocation={allocation} usage={data} />}
    </QueryView>
  )
}

interface UsageViewProps {
  readonly allocation: Allocation
  readonly usage: AllocationUsage
}

function UsageView({ allocation, usage }: UsageViewProps) {
  const { ResourceUsage: total, Tasks, Timestamp } = usage
  const { Resources } = allocation
  const cpuGiven = Resources?.CPU ?? 0
  const memoryGiven = (Resources?.MemoryMB ?? 0) * 1024 * 1024
  const samples = useSamples(Timestamp / 1e9, [
    total.CpuStats.TotalTicks,
    cpuGiven,
    memoryOf(total),
    memoryGiven,
  ])
  const [times = [], cpu = [], cpuLimit = [], memory = [], memoryLimit = []] = samples
  return (
    <>
      <div className="charts">
        <Panel title={`CPU: ${Math.round(total.CpuStats.TotalTicks)} of ${cpuGiven} MHz`}>
          <Chart
            label="CPU used, in MHz, over the last minutes"
            data={[times, cpu, cpuLimit]}
            names={['Used', 'Given']}
            format={mhz}
          />
        </Panel>
        <Panel title={`Memory: ${bytesText(memoryOf(total))} of ${bytesText(memoryGiven)}`}>
          <Chart
            label="Memory used over the last minutes"
            data={[times, memory, memoryLimit]}
            names={['Used', 'Given']}
            format={bytesText}
          />
        </Panel>
      </div>
      {Object.entries(Tasks).map(([task, { ResourceUsage: one }]) => (
        <Panel key={task} title={`Task ${task}`}>
          <Facts facts={taskFacts(allocation, task, one)} />
        </Panel>
      ))}
    </>
  )
}

function mhz(value: number): string {
  return `${Math.round(value)}`
}

/** A driver measures one or the other: what is kept in memory, or all that counts. */
function memoryOf({ MemoryStats }: ResourceUsage): number {
  return MemoryStats.Usage > 0 ? MemoryStats.Usage : MemoryStats.RSS
}

function taskFacts(allocation: Allocation, task: string, usage: ResourceUsage) {
  const given = allocation.TaskResources?.[task]
  return [
    {
      name: 'CPU',
      value: `${Math.round(usage.CpuStats.TotalTicks)} of ${given?.CPU ?? 0} MHz`,
    },
    { name: 'CPU share', value: `${usage.CpuStats.Percent.toFixed(1)} %` },
    {
      name: 'Memory',
      value: `${bytesText(memoryOf(usage))} of ${megabytesText(given?.MemoryMB ?? 0)}`,
    },
    { name: 'Peak memory', value: bytesText(usage.MemoryStats.MaxUsage) },
    { name: 'Throttled periods', value: usage.CpuStats.ThrottledPeriods },
  ]
}
