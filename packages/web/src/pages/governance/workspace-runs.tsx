import type { v2 } from '@reeve/contract'
import { useNumberedList } from '../../data/use-pages.ts'
import { RelativeTime } from '../../parts/ago.tsx'
import type { Column } from '../../parts/data-table.tsx'
import { EmptyState } from '../../parts/empty-state.tsx'
import { PagedTable } from '../../parts/paged-table.tsx'
import { StatusBadge } from '../../parts/state-badge.tsx'
import { dateFromText } from '../../parts/time.ts'
import { paths } from '../../paths.ts'
import { runStatusText } from './run-words.ts'

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
      <StatusBadge state={attributes.status} text={runStatusText(attributes.status)} />
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
    head: 'Created',
    width: '112px',
    isExtra: true,
    cell: ({ attributes }) => <RelativeTime date={dateFromText(attributes['created-at'])} />,
  },
]

export function RunsTab({ organization, workspace }: WorkspaceView) {
  const list = useNumberedList(
    ['runs', workspace.id],
    ({ api, signal, pageQuery }) =>
      api.v2.listWorkspaceRuns({
        params: { workspace_id: workspace.id },
        query: pageQuery,
        signal,
      }),
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
            A run evaluates the policies for one plan, which is created by your tools and uploaded.
          </p>
        </EmptyState>
      }
    />
  )
}
