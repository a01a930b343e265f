import type { ResourceUsage } from '@reeve/contract'
import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { formatSize } from '../output/size.ts'
import { renderTable } from '../output/table.ts'
import { allocationRequest, resolveAllocation, resolveTask } from './find-allocation.ts'

/** `alloc stats`: prints the current and the reserved resources of an allocation. */
export async function runAllocStats(invocation: CommandContext): Promise<number> {
  const { args, client, flags, output } = invocation
  const allocation = await resolveAllocation(invocation, args[0])
  const named = flags.string('task')
  const task = named === undefined ? undefined : resolveTask(allocation, named)
  const { params, query } = allocationRequest(allocation)
  const { data } = await client.v1.readAllocationStats({ params, query: { ...query, task } })
  output.print(data, () => {
    const tasks = Object.entries(data.Tasks).toSorted(([a], [b]) => (a < b ? -1 : 1))
    const rows = tasks.map(([name, { ResourceUsage }]) => {
      const asked = allocation.TaskResources?.[name]
      return usageRow(name, ResourceUsage, asked)
    })
    if (rows.length === 0) return 'No task runs.'
    const sum = rows.length > 1 ? [usageRow('all', data.ResourceUsage, undefined)] : []
    const heading = ['Task', 'CPU', 'Reserved', 'CPU %', 'Memory', 'Reserved', 'Peak']
    return renderTable(heading, [...rows, ...sum])
  })
  return EXIT_CODES.ok
}

interface ReservedResources {
  readonly CPU: number
  readonly MemoryMB: number
}

function usageRow(
  name: string,
  { CpuStats, MemoryStats }: ResourceUsage,
  reserved: ReservedResources | undefined,
) {
  const used = MemoryStats.Usage > 0 ? MemoryStats.Usage : MemoryStats.RSS
  return [
    name,
    `${Math.round(CpuStats.TotalTicks)} MHz`,
    reserved === undefined ? '' : `${reserved.CPU} MHz`,
    CpuStats.Percent.toFixed(1),
    formatSize(used),
    reserved === undefined ? '' : `${reserved.MemoryMB} MiB`,
    MemoryStats.MaxUsage > 0 ? formatSize(MemoryStats.MaxUsage) : '',
  ]
}
