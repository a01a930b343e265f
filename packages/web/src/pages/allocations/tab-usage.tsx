import type { Allocation, AllocationUsage, ResourceUsage } from '@reeve/contract'
import { allocationDisabledReason } from '../../permissions/allocation.ts'
import { Chart } from '../../components/lazy.tsx'
import { useSamples } from '../../charts/samples.ts'
import { useApiQuery } from '../../data/api-query.ts'
import { formatBytes, formatMegabytes } from '../../format.ts'
import { EmptyState } from '../../components/notices.tsx'
import { DescriptionList, Panel } from '../../components/page.tsx'
import { QueryView } from '../../components/query-view.tsx'
import type { AllocationView } from './allocation-view.tsx'

/** The measuring interval of nodes. */
const POLL_INTERVAL_MS = 2_000

/** The tab with the CPU and memory usage of the tasks. */
export function UsageTab({ allocation }: AllocationView) {
  const disabledReason = allocationDisabledReason.readUsage(allocation)
  if (disabledReason !== undefined)
    return (
      <EmptyState title="No usage">
        <p>{disabledReason} Usage is measured while tasks run and is not kept.</p>
      </EmptyState>
    )
  return <Usage allocation={allocation} />
}

function Usage({ allocation }: { readonly allocation: Allocation }) {
  const { ID, Namespace: namespace } = allocation
  const usage = useApiQuery(
    ['allocation-usage', ID],
    (api, signal) =>
      api.v1.readAllocationStats({ params: { alloc_id: ID }, query: { namespace }, signal }),
    { pollIntervalMs: POLL_INTERVAL_MS },
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
  const cpuReserved = Resources?.CPU ?? 0
  const memoryReserved = (Resources?.MemoryMB ?? 0) * 1024 * 1024
  const samples = useSamples(Timestamp / 1e9, [
    total.CpuStats.TotalTicks,
    cpuReserved,
    memoryBytes(total),
    memoryReserved,
  ])
  const [times = [], cpu = [], cpuLimit = [], memory = [], memoryLimit = []] = samples
  return (
    <>
      <div className="charts">
        <Panel title={`CPU: ${Math.round(total.CpuStats.TotalTicks)} of ${cpuReserved} MHz`}>
          <Chart
            label="CPU used, in MHz, over the last minutes"
            data={[times, cpu, cpuLimit]}
            seriesNames={['Used', 'Reserved']}
            format={formatMhz}
          />
        </Panel>
        <Panel
          title={`Memory: ${formatBytes(memoryBytes(total))} of ${formatBytes(memoryReserved)}`}
        >
          <Chart
            label="Memory used over the last minutes"
            data={[times, memory, memoryLimit]}
            seriesNames={['Used', 'Reserved']}
            format={formatBytes}
          />
        </Panel>
      </div>
      {Object.entries(Tasks).map(([task, { ResourceUsage: one }]) => (
        <Panel key={task} title={`Task ${task}`}>
          <DescriptionList facts={taskFacts(allocation, task, one)} />
        </Panel>
      ))}
    </>
  )
}

function formatMhz(value: number): string {
  return `${Math.round(value)}`
}

/** Returns the memory usage; drivers report either the total usage or the resident set. */
function memoryBytes({ MemoryStats }: ResourceUsage): number {
  return MemoryStats.Usage > 0 ? MemoryStats.Usage : MemoryStats.RSS
}

function taskFacts(allocation: Allocation, task: string, usage: ResourceUsage) {
  const reserved = allocation.TaskResources?.[task]
  return [
    {
      name: 'CPU',
      value: `${Math.round(usage.CpuStats.TotalTicks)} of ${reserved?.CPU ?? 0} MHz`,
    },
    { name: 'CPU share', value: `${usage.CpuStats.Percent.toFixed(1)} %` },
    {
      name: 'Memory',
      value: `${formatBytes(memoryBytes(usage))} of ${formatMegabytes(reserved?.MemoryMB ?? 0)}`,
    },
    { name: 'Peak memory', value: formatBytes(usage.MemoryStats.MaxUsage) },
    { name: 'Throttled periods', value: usage.CpuStats.ThrottledPeriods },
  ]
}
