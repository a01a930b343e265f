import type { v2 } from '@reeve/contract'
import { usePages } from '../../data/use-pages.ts'
import { Ago } from '../../parts/ago.tsx'
import type { Column } from '../../parts/data-table.tsx'
import { EmptyState } from '../../parts/empty-state.tsx'
import { PagedTable } from '../../parts/paged-table.tsx'
import { StateBadge } from '../../parts/state-badge.tsx'
import { dateOfText } from '../../parts/time.ts'
import { paths } from '../../paths.ts'
import { runStateText } from './run-words.ts'

export interface WorkspaceView {
  readonly organization: string
  readonly workspace: v2.Workspace
}

const COLUMNS: readonly Column<v2.Run>[] = [
  { id: 'run', head: 'Run', cell: ({ id, attributes }) => attributes.message ?? id },
  {
    id: 'state',
    head: 'State',
    width: '232px',
    cell: ({ attributes }) => (
      <StateBadge state={attributes.status} text={runStateText(attributes.status)} />
    ),
  },
  {
    id: 'source',
    head: 'Source',
    width: '160px',
    isExtra: true,
    cell: ({ attributes }) => attributes.source,
  },
  {
    id: 'made',
    head: 'Made',
    width: '112px',
    isExtra: true,
    cell: ({ attributes }) => <Ago date={dateOfText(attributes['created-at'])} />,
  },
]

export function RunsTab({ organization, workspace }: WorkspaceView) {
  const list = usePages(
    ['runs', workspace.id],
    ({ api, signal, page }) =>
      api.v2.listWorkspaceRuns({ params: { workspace_id: workspace.id }, query: page, signal }),
    { watches: [{ topic: 'Run' }] },
  )
  return (
    <PagedTable
      list={list}
      what="the runs"
      label="Runs"
      columns={COLUMNS}
      keyOf={({ id }) => id}
      hrefOf={({ id }) => paths.run(organization, id)}
      empty={
        <EmptyState
          title="No runs yet"
          command={`reeve run create ${workspace.attributes.name} plan.json`}
        >
          <p>
            A run carries one plan through the policies. The plan is made where your tools are, and
            uploaded.
          </p>
        </EmptyState>
      }
    />
  )
}
