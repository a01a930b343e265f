import type { NodePool } from '@reeve/contract'
import { useState } from 'react'
import { mayMakePool } from '../../actions/node-can.ts'
import { useList } from '../../data/use-list.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { CommandLine } from '../../parts/command-line.tsx'
import type { Column } from '../../parts/data-table.tsx'
import { EmptyState } from '../../parts/empty-state.tsx'
import { FIRST_COMMANDS } from '../../parts/first-commands.ts'
import { PageHead } from '../../parts/page-head.tsx'
import { PagedTable } from '../../parts/paged-table.tsx'
import { SearchField } from '../../parts/search-field.tsx'
import { paths } from '../../paths.ts'
import type { PageProps } from '../../routing/route.ts'
import { useSession } from '../../session/session.tsx'
import '../../style/cluster.css'
import { NodePoolForm } from './node-pool-form.tsx'

const COLUMNS: readonly Column<NodePool>[] = [
  { id: 'name', head: 'Node pool', width: '28%', cell: ({ Name }) => Name },
  { id: 'description', head: 'Description', cell: ({ Description }) => Description || '–' },
  {
    id: 'algorithm',
    head: 'Places by',
    width: '16%',
    isExtra: true,
    cell: ({ SchedulerConfiguration: own }) => own?.SchedulerAlgorithm || 'the region’s way',
  },
  {
    id: 'meta',
    head: 'Meta',
    width: '22%',
    isExtra: true,
    cell: ({ Meta }) =>
      Object.entries(Meta ?? {})
        .map(([key, value]) => `${key}: ${value}`)
        .join(', ') || '–',
  },
]

/** Nodes that jobs name together. */
export function NodePoolListPage({ search }: PageProps<'/node-pools'>) {
  const { rights } = useSession()
  const [isMaking, setMaking] = useState(false)
  const prefix = search.get('q') ?? ''
  const list = useList(
    ['node-pools', prefix],
    ({ api, signal, page }) => api.v1.listNodePools({ query: { ...page, prefix }, signal }),
    { watches: [{ topic: 'NodePool' }] },
  )
  return (
    <>
      <PageHead
        title="Node pools"
        lead="Groups of nodes. Each node belongs to one pool, and each job runs in one."
        actions={
          <ActionButton kind="primary" refusal={mayMakePool(rights)} onAct={() => setMaking(true)}>
            New node pool…
          </ActionButton>
        }
      />
      <search className="filters">
        <SearchField label="Name prefix" value={prefix} />
      </search>
      <PagedTable
        label="Node pools"
        what="the node pools"
        list={list}
        columns={COLUMNS}
        keyOf={({ Name }) => Name}
        hrefOf={({ Name }) => paths.nodePool(Name)}
        empty={
          <EmptyState
            title={prefix === '' ? 'No node pools' : 'No matching node pools'}
            command={FIRST_COMMANDS.nodePools}
          >
            <p>
              The <code>node_pool</code> setting of an agent assigns its node to a pool;{' '}
              <code>node_pool</code> of a job selects one.
            </p>
          </EmptyState>
        }
      />
      <CommandLine
        cli="reeve node pool list"
        call={{ path: '/v1/node/pools', query: { prefix } }}
      />
      {isMaking && <NodePoolForm pool={undefined} onClose={() => setMaking(false)} />}
    </>
  )
}
