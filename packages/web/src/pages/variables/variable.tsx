import type { Variable } from '@reeve/contract'
import { useState } from 'react'
import { variableCan } from '../../actions/variable-can.ts'
import { useAct } from '../../data/use-act.ts'
import { useRead } from '../../data/use-read.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { Ago } from '../../parts/ago.tsx'
import { CommandLine } from '../../parts/command-line.tsx'
import { useConfirm } from '../../parts/confirm.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { quoted } from '../../parts/curl-line.ts'
import { DataTable, type Column } from '../../parts/data-table.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { Facts, Panel } from '../../parts/panel.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { StateBadge } from '../../parts/state-badge.tsx'
import { dateOfNs } from '../../parts/time.ts'
import { paths } from '../../paths.ts'
import { hrefWith, navigate } from '../../routing/location.ts'
import type { PageProps } from '../../routing/route.ts'
import { useSession } from '../../session/session.tsx'
import '../../style/variables.css'
import { EditVariable } from './edit-variable.tsx'
import { rowsOf, type ItemRow } from './items.ts'

/** One variable: its values on request, and the way to others. */
export function VariablePage({ params, search }: PageProps<'/variables/:path'>) {
  const namespace = search.get('namespace') ?? 'default'
  const { path } = params
  const variable = useRead(['variable', namespace, path], (api, signal) =>
    api.v1.readVariable({ params: { path }, query: { namespace }, signal }),
  )
  const { rights } = useSession()
  const isAsked = search.get('edit') === 'yes'
  return (
    <QueryView
      query={variable}
      what="the variable"
      isEdited={isAsked}
      page={{ title: path, crumbs: [{ text: 'Variables', href: paths.variables({ namespace }) }] }}
    >
      {(data) => (
        <>
          <VariableHead variable={data} />
          {isAsked && variableCan.write(stateOf(data), rights) === undefined ? (
            <EditVariable variable={data} refresh={() => variable.refetch()} />
          ) : (
            <Items variable={data} />
          )}
          <Panel title="About">
            <Facts facts={factsOf(data)} />
          </Panel>
          <CommandLine
            cli={`reeve var get --namespace ${quoted(namespace)} ${quoted(path)}`}
            call={{ path: `/v1/var/${path}`, query: { namespace } }}
          />
        </>
      )}
    </QueryView>
  )
}

function factsOf({ Namespace, CreateTime, ModifyTime, ModifyIndex, Lock }: Variable) {
  return [
    { name: 'Namespace', value: Namespace },
    { name: 'Made', value: <Ago date={dateOfNs(CreateTime)} /> },
    { name: 'Changed', value: <Ago date={dateOfNs(ModifyTime)} /> },
    { name: 'Index', value: <code>{ModifyIndex}</code> },
    ...(Lock === undefined ? [] : [{ name: 'Lock', value: <code>{Lock.ID}</code> }]),
  ]
}

function stateOf({ Namespace, Path, Lock }: Variable) {
  return { namespace: Namespace, path: Path, lock: Lock }
}

function VariableHead({ variable }: { readonly variable: Variable }) {
  const { rights } = useSession()
  const act = useAct()
  const confirm = useConfirm()
  const { Namespace: namespace, Path: path, ModifyIndex, Lock } = variable
  const remove = async () => {
    const title = `Delete ${path}?`
    const body = 'Jobs that read it will fail. This cannot be undone.'
    if (!(await confirm({ title, body, action: 'Delete the variable', isDangerous: true }))) return
    const done = await act({
      call: async (api) => {
        const query = { namespace, cas: String(ModifyIndex) }
        await api.v1.deleteVariable({ params: { path }, query })
        return true
      },
      done: `${path} is deleted.`,
    })
    if (done !== undefined) navigate(paths.variables({ namespace }))
  }
  return (
    <PageHead
      title={path}
      crumbs={[{ text: 'Variables', href: paths.variables({ namespace }) }]}
      aside={
        <>
          <span className="tag">namespace {namespace}</span>
          {Lock !== undefined && <StateBadge state="locked" />}
        </>
      }
      actions={
        <ActionButton
          kind="danger"
          refusal={variableCan.destroy(stateOf(variable), rights)}
          onAct={remove}
        >
          Delete…
        </ActionButton>
      }
    />
  )
}

/** Values are for those who ask for them: somebody may look over a shoulder. */
function Items({ variable }: { readonly variable: Variable }) {
  const { rights } = useSession()
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
            refusal={variableCan.write(stateOf(variable), rights)}
            onAct={() => navigate(hrefWith({ edit: 'yes' }))}
          >
            Edit
          </ActionButton>
        </>
      }
    >
      <DataTable
        label="Items"
        columns={columnsOf(isShown)}
        rows={rowsOf(variable.Items)}
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
