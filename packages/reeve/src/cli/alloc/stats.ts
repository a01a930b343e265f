import type { ResourceUsage } from '@reeve/contract'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { sizeText } from '../output/size.ts'
import { table } from '../output/table.ts'
import { callFor, chosenAllocation, chosenTask } from './find-allocation.ts'

/** What an allocation uses now, beside what it asked for. */
export async function runAllocStats(invocation: Invocation): Promise<number> {
  const { args, client, flags, output } = invocation
  const allocation = await chosenAllocation(invocation, args[0])
  const named = flags.text('task')
  const task = named === undefined ? undefined : chosenTask(allocation, named)
  const { params, query } = callFor(allocation)
  const { data } = await client.v1.readAllocationStats({ params, query: { ...query, task } })
  output.show(data, () => {
    const tasks = Object.entries(data.Tasks).toSorted(([a], [b]) => (a < b ? -1 : 1))
    const rows = tasks.map(([name, { ResourceUsage }]) => {
      const asked = allocation.TaskResources?.[name]
      return usageRow(name, ResourceUsage, asked)
    })
    if (rows.length === 0) return 'No task runs.'
    const sum = rows.length > 1 ? [usageRow('all', data.ResourceUsage, undefined)] : []
    const heading = ['Task', 'CPU', 'Reserved', 'CPU %', 'Memory', 'Reserved', 'Peak']
    return table(heading, [...rows, ...sum])
  })
  return EXIT_CODES.ok
}

interface Asked {
  readonly CPU: number
  readonly MemoryMB: number
}

function usageRow(
  name: string,
  { CpuStats, MemoryStats }: ResourceUsage,
  asked: Asked | undefined,
) {
  const used = MemoryStats.Usage > 0 ? MemoryStats.Usage : MemoryStats.RSS
  return [
    name,
    `${Math.round(CpuStats.TotalTicks)} MHz`,
    asked === undefined ? '' : `${asked.CPU} MHz`,
    CpuStats.Percent.toFixed(1),
    sizeText(used),
    asked === undefined ? '' : `${asked.MemoryMB} MiB`,
    MemoryStats.MaxUsage > 0 ? sizeText(MemoryStats.MaxUsage) : '',
  ]
}
