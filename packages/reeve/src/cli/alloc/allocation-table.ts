import { allocationHealth, type AllocationHealthFacts } from '@reeve/contract'
import type { CommandContext } from '../command.ts'
import { formatId } from '../find-id.ts'
import { renderTable } from '../output/table.ts'
import { agoFromNs } from '../output/time.ts'
import { statusStyle } from '../output/tone.ts'
import type { AllocationStub } from './find-allocation.ts'

type ListedAllocation = AllocationHealthFacts &
  Pick<
    AllocationStub,
    'Namespace' | 'JobID' | 'TaskGroup' | 'JobVersion' | 'NodeID' | 'NodeName' | 'CreateTime'
  >

/** Allocations as every command lists them. */
export function formatAllocationTable(
  allocations: readonly ListedAllocation[],
  { flags, host, output, settings }: CommandContext,
): string {
  const isVerbose = flags.has('verbose')
  const isEverywhere = settings.namespace === '*'
  const rows = allocations.map((one) => {
    const health = allocationHealth(one, host.nowMs())
    return [
      formatId(one.ID, isVerbose),
      ...(isEverywhere ? [one.Namespace] : []),
      one.JobID,
      one.TaskGroup,
      String(one.JobVersion),
      one.NodeName === '' ? formatId(one.NodeID, isVerbose) : one.NodeName,
      one.DesiredStatus,
      output.paint(statusStyle(health), health),
      agoFromNs(one.CreateTime, host.nowMs()),
    ]
  })
  const place = isEverywhere ? ['Namespace'] : []
  const after = ['Job', 'Group', 'Version', 'Node', 'Desired', 'Status', 'Created']
  return renderTable(['ID', ...place, ...after], rows)
}
