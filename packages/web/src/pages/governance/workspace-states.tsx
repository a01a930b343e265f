import type { v2 } from '@reeve/contract'
import { compareStates, isPlain, resource, toOne, type StateChange } from '@reeve/sdk'
import { useState } from 'react'
import { workspaceCan } from '../../actions/governance-can.ts'
import { useAct } from '../../data/use-act.ts'
import { usePages } from '../../data/use-pages.ts'
import { useRead } from '../../data/use-read.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { Ago } from '../../parts/ago.tsx'
import { useConfirm } from '../../parts/confirm.tsx'
import type { Column } from '../../parts/data-table.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { EmptyState } from '../../parts/empty-state.tsx'
import { PagedTable } from '../../parts/paged-table.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { dateOfText } from '../../parts/time.ts'
import type { Api } from '../../session/api.ts'
import type { WorkspaceView } from './workspace-runs.tsx'

/** The history of states; each can be compared with the current one, and become it again. */
export function StatesTab({ organization, workspace }: WorkspaceView) {
  const [compared, setCompared] = useState<v2.StateVersion>()
  const list = usePages(
    ['states', workspace.id],
    ({ api, signal, page }) =>
      api.v2.listStateVersions({
        query: {
          'filter[workspace][name]': workspace.attributes.name,
          'filter[organization][name]': organization,
          'filter[status]': 'finalized',
          ...page,
        },
        signal,
      }),
    { watches: [{ topic: 'Workspace' }, { topic: 'Run' }] },
  )
  const askToRollBack = useRollback(workspace)
  const columns: readonly Column<v2.StateVersion>[] = [
    ...COLUMNS,
    {
      id: 'actions',
      head: 'Actions',
      width: '260px',
      cell: (state) => (
        <span className="row">
          <button type="button" className="button" onClick={() => setCompared(state)}>
            Compare
          </button>
          <ActionButton
            refusal={workspaceCan.rollBack(workspace)}
            onAct={() => askToRollBack(state)}
          >
            Roll back…
          </ActionButton>
        </span>
      ),
    },
  ]
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
      {compared !== undefined && (
        <Dialog
          title={`From serial ${compared.attributes.serial} to the current state`}
          onClose={() => setCompared(undefined)}
        >
          <StateDifference workspace={workspace} state={compared} />
        </Dialog>
      )}
    </>
  )
}

const COLUMNS: readonly Column<v2.StateVersion>[] = [
  { id: 'serial', head: 'Serial', width: '88px', cell: ({ attributes }) => attributes.serial },
  {
    id: 'made',
    head: 'Made',
    cell: ({ attributes }) => <Ago date={dateOfText(attributes['created-at'])} />,
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
    cell: ({ relationships }) => relationships.run.data?.id ?? 'by hand',
  },
]

/** Makes an earlier state the current one, holding the lock of the workspace meanwhile. */
function useRollback(workspace: v2.Workspace) {
  const act = useAct()
  const confirm = useConfirm()
  return async (state: v2.StateVersion) => {
    const { serial } = state.attributes
    const isSure = await confirm({
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
    if (!isSure) return
    await act({
      call: (api) => rollBack(api, workspace.id, state),
      done: `The state of serial ${serial} is current again.`,
    })
  }
}

async function rollBack(api: Api, workspaceId: string, state: v2.StateVersion) {
  const params = { workspace_id: workspaceId }
  const reason = `Rollback to state version ${state.id}`
  await api.v2.lockWorkspace({ params, body: { reason } })
  try {
    const related = { 'rollback-state-version': toOne('state-versions', state.id) }
    return await api.v2.rollBackState({ params, body: resource('state-versions', {}, related) })
  } finally {
    await api.v2.unlockWorkspace({ params })
  }
}

interface StateDifferenceProps {
  readonly workspace: v2.Workspace
  readonly state: v2.StateVersion
}

function StateDifference({ workspace, state }: StateDifferenceProps) {
  const difference = useRead(['state-difference', state.id], async (api, signal) => {
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
                <Difference change={change} />
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
  return isPlain(parsed) ? parsed : {}
}

const SYMBOLS = { added: '+', removed: '−', changed: '~' } as const

function Difference({ change }: { readonly change: StateChange }) {
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
              <code>{`${before} → ${after}`}</code>
            </dd>
          </div>
        ))}
      </dl>
    </details>
  )
}
