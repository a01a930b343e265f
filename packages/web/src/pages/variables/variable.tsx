import type { Variable } from '@reeve/contract'
import { useState } from 'react'
import { variableDisabledReason } from '../../actions/variable-can.ts'
import { useApiAction } from '../../data/use-act.ts'
import { useApiQuery } from '../../data/use-read.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { RelativeTime } from '../../parts/ago.tsx'
import { CliAndApiPanel } from '../../parts/command-line.tsx'
import { useConfirm } from '../../parts/confirm.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { quoteShellArg } from '../../parts/curl-line.ts'
import { DataTable, type Column } from '../../parts/data-table.tsx'
import { PageHeader } from '../../parts/page-head.tsx'
import { DescriptionList, Panel } from '../../parts/panel.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { StatusBadge } from '../../parts/state-badge.tsx'
import { dateFromNs } from '../../parts/time.ts'
import { paths } from '../../paths.ts'
import { hrefWith, navigate } from '../../routing/location.ts'
import type { PageProps } from '../../routing/route.ts'
import { useSession } from '../../session/session.tsx'
import '../../style/variables.css'
import { EditVariable } from './edit-variable.tsx'
import { toRows, type ItemRow } from './items.ts'

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
    { name: 'Made', value: <RelativeTime date={dateFromNs(CreateTime)} /> },
    { name: 'Changed', value: <RelativeTime date={dateFromNs(ModifyTime)} /> },
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
