import type { Variable } from '@reeve/contract'
import { useState } from 'react'
import { variableDisabledReason } from '../../permissions/cluster.ts'
import { useApiAction } from '../../data/api-action.ts'
import { useApiQuery } from '../../data/api-query.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { CliAndApiPanel, CopyButton } from '../../components/command-line.tsx'
import { useConfirm } from '../../components/dialog.tsx'
import { quoteShellArg } from '../../commands.ts'
import { DataTable, type Column } from '../../components/data-table.tsx'
import { DescriptionList, PageHeader, Panel } from '../../components/page.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { dateFromNs } from '../../format.ts'
import { paths } from '../../paths.ts'
import { hrefWith, navigate } from '../../routing/location.ts'
import type { PageProps } from '../../routing/route.ts'
import { useSession } from '../../session/session.tsx'
import '../../style/variables.css'
import { ItemEditor, useVariableWrite } from './variable-form.tsx'
import { toRows, type ItemRow, rowsError } from './items.ts'

/** A variable; its values are shown on request. */
export function VariablePage({ params, search }: PageProps<'/variables/:path'>) {
  const namespace = search.get('namespace') ?? 'default'
  const { path } = params
  const variable = useApiQuery(['variable', namespace, path], (api, signal) =>
    api.v1.readVariable({ params: { path }, query: { namespace }, signal }),
  )
  const { permissions } = useSession()
  const isEditRequested = search.get('edit') === 'yes'
  return (
    <QueryView
      query={variable}
      what="the variable"
      hasUnsavedInput={isEditRequested}
      page={{ title: path, crumbs: [{ text: 'Variables', href: paths.variables({ namespace }) }] }}
    >
      {(data) => (
        <>
          <VariableHead variable={data} />
          {isEditRequested &&
          variableDisabledReason.write(stateOf(data), permissions) === undefined ? (
            <EditVariable variable={data} refresh={() => variable.refetch()} />
          ) : (
            <Items variable={data} />
          )}
          <Panel title="About">
            <DescriptionList facts={variableFacts(data)} />
          </Panel>
          <CliAndApiPanel
            cli={`reeve var get --namespace ${quoteShellArg(namespace)} ${quoteShellArg(path)}`}
            call={{ path: `/v1/var/${path}`, query: { namespace } }}
          />
        </>
      )}
    </QueryView>
  )
}

function variableFacts({ Namespace, CreateTime, ModifyTime, ModifyIndex, Lock }: Variable) {
  return [
    { name: 'Namespace', value: Namespace },
    { name: 'Created', value: <RelativeTime date={dateFromNs(CreateTime)} /> },
    { name: 'Updated', value: <RelativeTime date={dateFromNs(ModifyTime)} /> },
    { name: 'Index', value: <code>{ModifyIndex}</code> },
    ...(Lock === undefined ? [] : [{ name: 'Lock', value: <code>{Lock.ID}</code> }]),
  ]
}

function stateOf({ Namespace, Path, Lock }: Variable) {
  return { namespace: Namespace, path: Path, lock: Lock }
}

function VariableHead({ variable }: { readonly variable: Variable }) {
  const { permissions } = useSession()
  const callApi = useApiAction()
  const confirm = useConfirm()
  const { Namespace: namespace, Path: path, ModifyIndex, Lock } = variable
  const remove = async () => {
    const title = `Delete ${path}?`
    const body = 'Jobs that read it will fail. This cannot be undone.'
    if (!(await confirm({ title, body, action: 'Delete the variable', isDangerous: true }))) return
    const result = await callApi({
      call: async (api) => {
        const query = { namespace, cas: String(ModifyIndex) }
        await api.v1.deleteVariable({ params: { path }, query })
        return true
      },
      successMessage: `${path} is deleted.`,
    })
    if (result !== undefined) navigate(paths.variables({ namespace }))
  }
  return (
    <PageHeader
      title={path}
      crumbs={[{ text: 'Variables', href: paths.variables({ namespace }) }]}
      aside={
        <>
          <span className="tag">namespace {namespace}</span>
          {Lock !== undefined && <StatusBadge state="locked" />}
        </>
      }
      actions={
        <ActionButton
          kind="danger"
          disabledReason={variableDisabledReason.destroy(stateOf(variable), permissions)}
          onAction={remove}
        >
          Delete…
        </ActionButton>
      }
    />
  )
}

/** The items. Values are hidden until the user reveals them. */
function Items({ variable }: { readonly variable: Variable }) {
  const { permissions } = useSession()
  const [isShown, setShown] = useState(false)
  return (
    <Panel
      title="Items"
      isFlush
      actions={
        <>
          <button
            type="button"
            className="button"
            aria-pressed={isShown}
            onClick={() => setShown(!isShown)}
          >
            {isShown ? 'Hide values' : 'Show values'}
          </button>
          <ActionButton
            kind="primary"
            disabledReason={variableDisabledReason.write(stateOf(variable), permissions)}
            onAction={() => navigate(hrefWith({ edit: 'yes' }))}
          >
            Edit
          </ActionButton>
        </>
      }
    >
      <DataTable
        label="Items"
        columns={columnsOf(isShown)}
        rows={toRows(variable.Items)}
        keyOf={({ key }) => key}
        empty={null}
      />
    </Panel>
  )
}

function columnsOf(isShown: boolean): readonly Column<ItemRow>[] {
  return [
    { id: 'key', head: 'Key', width: '30%', cell: ({ key }) => <code>{key}</code> },
    {
      id: 'value',
      head: 'Value',
      cell: ({ value }) =>
        isShown ? (
          <code className="value">{value}</code>
        ) : (
          <span aria-label="hidden">••••••••</span>
        ),
    },
    {
      id: 'copy',
      head: 'Copy',
      width: '72px',
      cell: ({ key, value }) => <CopyButton text={value} what={`the value of ${key}`} />,
    },
  ]
}

interface EditVariableProps {
  readonly variable: Variable
  /** Reloads the variable after a conflict. */
  readonly refresh: () => Promise<unknown>
}

/** Edits the items; the write fails if the variable has changed meanwhile (`cas`). */
function EditVariable({ variable, refresh }: EditVariableProps) {
  const { permissions } = useSession()
  const { Namespace: namespace, Path: path, Lock: lock } = variable
  // The modify index when the editing began; `variable` follows changes by others.
  const [baseIndex, setBaseIndex] = useState(variable.ModifyIndex)
  const [rows, setRows] = useState(() => toRows(variable.Items))
  const { write, hasConflict, clearConflict } = useVariableWrite({ namespace, path })
  const disabledReason =
    variableDisabledReason.write({ namespace, path, lock }, permissions) ?? rowsError(rows)
  const stopEditing = () => navigate(hrefWith({ edit: undefined }))
  const save = async (index: number) => {
    if (await write(rows, index)) stopEditing()
    else await refresh()
  }
  const reloadRows = () => {
    setRows(toRows(variable.Items))
    setBaseIndex(variable.ModifyIndex)
    clearConflict()
  }
  return (
    <Panel title="Edit the items">
      <form className="stack" onSubmit={(event) => event.preventDefault()}>
        <ItemEditor rows={rows} onChange={setRows} />
        {hasConflict && (
          <div className="note tone-warn" role="alert">
            <p>
              The variable was updated while you were editing (index {baseIndex} is now{' '}
              {variable.ModifyIndex}). Your changes are not saved yet.
            </p>
            <div className="row">
              <ActionButton onAction={reloadRows}>Reload</ActionButton>
              <ActionButton
                kind="danger"
                disabledReason={disabledReason}
                onAction={() => save(variable.ModifyIndex)}
              >
                Overwrite
              </ActionButton>
            </div>
          </div>
        )}
        <div className="row">
          <ActionButton
            kind="primary"
            disabledReason={disabledReason}
            onAction={() => save(baseIndex)}
            isSubmit
          >
            Save
          </ActionButton>
          <button type="button" className="button" onClick={stopEditing}>
            Cancel
          </button>
        </div>
      </form>
    </Panel>
  )
}
