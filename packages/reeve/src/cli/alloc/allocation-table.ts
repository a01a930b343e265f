import { allocationHealth, type AllocationHealthFacts } from '@reeve/contract'
import type { Invocation } from '../command.ts'
import { idText } from '../find-id.ts'
import { table } from '../output/table.ts'
import { agoFromNs } from '../output/time.ts'
import { toneOf } from '../output/tone.ts'
import type { AllocationStub } from './find-allocation.ts'

type Listed = AllocationHealthFacts &
  Pick<
    AllocationStub,
    'Namespace' | 'JobID' | 'TaskGroup' | 'JobVersion' | 'NodeID' | 'NodeName' | 'CreateTime'
  >

/** Allocations as every command lists them. */
export function allocationTable(
  allocations: readonly Listed[],
  { flags, host, output, settings }: Invocation,
): string {
  const isVerbose = flags.has('verbose')
  const isEverywhere = settings.namespace === '*'
  const rows = allocations.map((one) => {
    const health = allocationHealth(one, host.nowMs())
    return [
      idText(one.ID, isVerbose),
      ...(isEverywhere ? [one.Namespace] : []),
      one.JobID,
      one.TaskGroup,
      String(one.JobVersion),
      one.NodeName === '' ? idText(one.NodeID, isVerbose) : one.NodeName,
      one.DesiredStatus,
      output.paint(toneOf(health), health),
      agoFromNs(one.CreateTime, host.nowMs()),
    ]
  })
  const place = isEverywhere ? ['Namespace'] : []
  const after = ['Job', 'Group', 'Version', 'Node', 'Desired', 'Status', 'Created']
  return table(['ID', ...place, ...after], rows)
}
