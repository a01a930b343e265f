import { allocationHealth, type AllocationHealthFacts, type AllocationStub } from '@reeve/contract'
import { RelativeTime } from '../../components/relative-time.tsx'
import type { Column } from '../../components/data-table.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { dateFromNs } from '../../format.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'

type Row = AllocationHealthFacts &
  Pick<
    AllocationStub,
    'Name' | 'Namespace' | 'JobID' | 'JobVersion' | 'TaskGroup' | 'NodeID' | 'NodeName'
  >

const id: Column<Row> = {
  id: 'id',
  head: 'Allocation',
  width: '112px',
  cell: ({ ID }) => <code>{ID.slice(0, 8)}</code>,
}
const status: Column<Row> = {
  id: 'status',
  head: 'Status',
  width: '124px',
  cell: (allocation) => <HealthBadge allocation={allocation} />,
}
const job: Column<Row> = {
  id: 'job',
  head: 'Job',
  cell: ({ Namespace: namespace, JobID }) => (
    <Link href={paths.job({ namespace, id: JobID })}>{JobID}</Link>
  ),
}
const group: Column<Row> = {
  id: 'group',
  head: 'Group',
  width: '14%',
  isExtra: true,
  cell: ({ TaskGroup }) => TaskGroup,
}
const namespace: Column<Row> = {
  id: 'namespace',
  head: 'Namespace',
  width: '112px',
  isExtra: true,
  cell: (one) => one.Namespace,
}
const node: Column<Row> = {
  id: 'node',
  head: 'Node',
  width: '16%',
  isExtra: true,
  cell: ({ NodeID, NodeName }) => <Link href={paths.node(NodeID)}>{NodeName}</Link>,
}
const version: Column<Row> = {
  id: 'version',
  head: 'Version',
  width: '80px',
  align: 'end',
  isExtra: true,
  cell: ({ JobVersion }) => JobVersion,
}
const updated: Column<Row> = {
  id: 'changed',
  head: 'Updated',
  width: '104px',
  isExtra: true,
  cell: ({ ModifyTime }) => <RelativeTime date={dateFromNs(ModifyTime)} />,
}

interface HealthBadgeProps {
  readonly allocation: AllocationHealthFacts
}

/** The health of an allocation, with the description of its node. */
export function HealthBadge({ allocation }: HealthBadgeProps) {
  const health = allocationHealth(allocation, Date.now())
  return <StatusBadge state={health} title={allocation.ClientDescription} />
}

/** Columns of allocation lists; each list omits what its page shows already. */
export const allocationColumns = {
  everywhere: [id, job, status, group, namespace, node, updated],
  onNode: [id, job, status, group, namespace, updated],
  ofDeployment: [id, status, group, version, node, updated],
  ofEvaluation: [id, status, group, version, node, updated],
} as const satisfies Record<string, readonly Column<Row>[]>
