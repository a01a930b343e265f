import type { NodeStub } from '@reeve/contract'
import type { Column } from '../../components/data-table.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { nodeState } from './node-state.ts'

export const nodeColumns: readonly Column<NodeStub>[] = [
  { id: 'name', head: 'Node', cell: ({ Name }) => Name },
  {
    id: 'id',
    head: 'ID',
    width: '104px',
    isExtra: true,
    cell: ({ ID }) => <code>{ID.slice(0, 8)}</code>,
  },
  {
    id: 'state',
    head: 'State',
    width: '132px',
    cell: (node) => <StatusBadge state={nodeState(node)} title={node.StatusDescription} />,
  },
  {
    id: 'pool',
    head: 'Pool',
    width: '14%',
    isExtra: true,
    cell: ({ NodePool }) => NodePool,
  },
  {
    id: 'datacenter',
    head: 'Datacenter',
    width: '14%',
    isExtra: true,
    cell: ({ Datacenter }) => Datacenter,
  },
  {
    id: 'class',
    head: 'Class',
    width: '12%',
    isExtra: true,
    cell: ({ NodeClass }) => NodeClass || '–',
  },
  { id: 'address', head: 'Address', width: '13%', isExtra: true, cell: ({ Address }) => Address },
  { id: 'version', head: 'Agent', width: '88px', isExtra: true, cell: ({ Version }) => Version },
]
