import type { v2 } from '@reeve/contract'
import { compareStates, isPlainObject, resource, toOne, type StateChange } from '@reeve/sdk'
import { useState } from 'react'
import { workspaceDisabledReason } from '../../permissions/governance.ts'
import { useApiAction } from '../../data/api-action.ts'
import { useNumberedList } from '../../data/lists.ts'
import { useApiQuery, useOptionalQuery } from '../../data/api-query.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { Dialog, useConfirm } from '../../components/dialog.tsx'
import { type Column, PagedTable } from '../../components/data-table.tsx'
import { EmptyState } from '../../components/notices.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { dateFromText } from '../../format.ts'
import type { Api } from '../../session/api.ts'
import type { WorkspaceView } from './workspace-tabs.tsx'

/** The tab with the state versions; each can be compared with the current one and restored. */
export function StatesTab({ organization, workspace }: WorkspaceView) {
  const [comparedState, setComparedState] = useState<v2.StateVersion>()
  const list = useNumberedList(
    ['states', workspace.id],
    ({ api, signal, pageQuery }) =>
      api.v2.listStateVersions({
        query: {
          'filter[workspace][name]': workspace.attributes.name,
          'filter[organization][name]': organization,
          'filter[status]': 'finalized',
          ...pageQuery,
        },
        signal,
      }),
    { watches: [{ topic: 'Workspace' }, { topic: 'Run' }] },
  )
  const { data: current } = useOptionalQuery(
    ['current-state', workspace.id],
    (api, signal) =>
      api.v2.readCurrentStateVersion({ params: { workspace_id: workspace.id }, signal }),
    { watches: [{ topic: 'Workspace' }, { topic: 'Run' }], enabled: list.items.length > 0 },
  )
  const columns = useColumns(workspace, current?.data.id, setComparedState)
  return (
    <>
      <PagedTable
        list={list}
        what="the states"
        label="States"
        columns={columns}
        keyOf={({ id }) => id}
        empty={
          <EmptyState title="No state yet">
            <p>The first apply stores a state.</p>
          </EmptyState>
        }
      />
      {comparedState !== undefined && (
        <Dialog
          title={`From serial ${comparedState.attributes.serial} to the current state`}
          onClose={() => setComparedState(undefined)}
        >
          <StateComparison workspace={workspace} state={comparedState} />
          <div className="row dialog-actions">
            <button type="button" className="button" onClick={() => setComparedState(undefined)}>
              Close
            </button>
          </div>
        </Dialog>
      )}
    </>
  )
}

/** Columns with the actions of each version; the current one has none. */
function useColumns(
  workspace: v2.Workspace,
  currentId: string | undefined,
  onCompare: (state: v2.StateVersion) => void,
): readonly Column<v2.StateVersion>[] {
  const confirmRollback = useRollback(workspace)
  return [
    {
      id: 'serial',
      head: 'Serial',
      width: '120px',
      cell: ({ id, attributes }) =>
        id === currentId ? `${attributes.serial} (current)` : attributes.serial,
    },
    ...COLUMNS,
    {
      id: 'actions',
      head: 'Actions',
      width: '260px',
      cell: (state) => (
        <span className="row">
          <ActionButton
            disabledReason={state.id === currentId ? IS_CURRENT : undefined}
            onAction={() => onCompare(state)}
          >
            Compare
          </ActionButton>
          <ActionButton
            disabledReason={
              state.id === currentId ? IS_CURRENT : workspaceDisabledReason.rollBack(workspace)
            }
            onAction={() => confirmRollback(state)}
          >
            Roll back…
          </ActionButton>
        </span>
      ),
    },
  ]
}

const IS_CURRENT = 'This is the current state.'

const COLUMNS: readonly Column<v2.StateVersion>[] = [
  {
    id: 'made',
    head: 'Created',
    cell: ({ attributes }) => <RelativeTime date={dateFromText(attributes['created-at'])} />,
  },
  {
    id: 'resources',
    head: 'Resources',
    width: '112px',
    isExtra: true,
    cell: ({ attributes }) => attributes['resource-count'],
  },
  {
    id: 'run',
    head: 'Run',
    isExtra: true,
    cell: ({ relationships }) => relationships.run.data?.id ?? 'manual',
  },
]

/** Restores an earlier state after confirmation, holding the lock of the workspace. */
function useRollback(workspace: v2.Workspace) {
  const callApi = useApiAction()
  const confirm = useConfirm()
  return async (state: v2.StateVersion) => {
    const { serial } = state.attributes
    const isConfirmed = await confirm({
      title: `Roll back to serial ${serial}?`,
      body: (
        <p>
          The state becomes the current one, as a new version. The infrastructure itself is not
          changed; the next plan shows how it differs.
        </p>
      ),
      action: 'Roll back',
      isDangerous: true,
    })
    if (!isConfirmed) return
    await callApi({
      call: (api) => rollBack(api, workspace.id, state),
      successMessage: `The state of serial ${serial} is current again.`,
    })
  }
}

async function rollBack(api: Api, workspaceId: string, state: v2.StateVersion) {
  const params = { workspace_id: workspaceId }
  const reason = `Rollback to state version ${state.id}`
  await api.v2.lockWorkspace({ params, body: { reason } })
  try {
    const relationships = { 'rollback-state-version': toOne('state-versions', state.id) }
    return await api.v2.rollBackState({
      params,
      body: resource('state-versions', {}, relationships),
    })
  } finally {
    await api.v2.unlockWorkspace({ params })
  }
}

interface StateComparisonProps {
  readonly workspace: v2.Workspace
  readonly state: v2.StateVersion
}

function StateComparison({ workspace, state }: StateComparisonProps) {
  const difference = useApiQuery(['state-difference', state.id], async (api, signal) => {
    const params = { workspace_id: workspace.id }
    const { data: current } = await api.v2.readCurrentStateVersion({ params, signal })
    const [before, after] = await Promise.all(
      [state.id, current.data.id].map((id) => readState(api, id, signal)),
    )
    return { data: compareStates(before ?? {}, after ?? {}) }
  })
  return (
    <QueryView query={difference} what="the states">
      {(changes) =>
        changes.length === 0 ? (
          <p>There are no differences.</p>
        ) : (
          <ul className="changes">
            {changes.map((change) => (
              <li key={change.address}>
                <StateChangeView change={change} />
              </li>
            ))}
          </ul>
        )
      }
    </QueryView>
  )
}

async function readState(api: Api, id: string, signal: AbortSignal) {
  const { data } = await api.v2.downloadState({ params: { state_version_id: id }, signal })
  const parsed: unknown = JSON.parse(new TextDecoder().decode(data))
  return isPlainObject(parsed) ? parsed : {}
}

const SYMBOLS = { added: '+', removed: '−', changed: '~' } as const

function StateChangeView({ change }: { readonly change: StateChange }) {
  const { address, action, attributes } = change
  const head = (
    <>
      <span aria-hidden="true">{SYMBOLS[action]}</span> <code>{address}</code>{' '}
      <span className="quiet">{action}</span>
    </>
  )
  if (action !== 'changed') return head
  return (
    <details open>
      <summary>{head}</summary>
      <dl className="facts">
        {attributes.map(({ name, before, after }) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <code>{`${before} -> ${after}`}</code>
            </dd>
          </div>
        ))}
      </dl>
    </details>
  )
}
