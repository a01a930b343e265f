import type { NodePool } from '@reeve/contract'
import { useState } from 'react'
import { createPoolDisabledReason } from '../../permissions/cluster.ts'
import { useCursorList } from '../../data/lists.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { CliAndApiPanel } from '../../components/command-line.tsx'
import { type Column, PagedTable } from '../../components/data-table.tsx'
import { EmptyState } from '../../components/notices.tsx'
import { FIRST_COMMANDS } from '../../commands.ts'
import { PageHeader } from '../../components/page.tsx'
import { SearchField } from '../../components/filters.tsx'
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
    head: 'Scheduler algorithm',
    width: '16%',
    isExtra: true,
    cell: ({ SchedulerConfiguration: own }) => own?.SchedulerAlgorithm || 'region default',
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

/** The list of node pools. */
export function NodePoolListPage({ search }: PageProps<'/node-pools'>) {
  const { permissions } = useSession()
  const [isCreating, setCreating] = useState(false)
  const prefix = search.get('q') ?? ''
  const list = useCursorList(
    ['node-pools', prefix],
    ({ api, signal, pageQuery }) =>
      api.v1.listNodePools({ query: { ...pageQuery, prefix }, signal }),
    { watches: [{ topic: 'NodePool' }] },
  )
  return (
    <>
      <PageHeader
        title="Node pools"
        lead="Groups of nodes. Each node belongs to one pool, and each job runs in one."
        actions={
          <ActionButton
            kind="primary"
            disabledReason={createPoolDisabledReason(permissions)}
            onAction={() => setCreating(true)}
          >
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
      <CliAndApiPanel
        cli="reeve node pool list"
        call={{ path: '/v1/node/pools', query: { prefix } }}
      />
      {isCreating && <NodePoolForm pool={undefined} onClose={() => setCreating(false)} />}
    </>
  )
}
