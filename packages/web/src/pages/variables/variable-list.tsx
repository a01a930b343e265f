import type { VariableMetadata } from '@reeve/contract'
import { mayMakeVariable } from '../../actions/variable-can.ts'
import { useList } from '../../data/use-list.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { Ago } from '../../parts/ago.tsx'
import { CommandLine } from '../../parts/command-line.tsx'
import { quoted } from '../../parts/curl-line.ts'
import type { Column } from '../../parts/data-table.tsx'
import { EmptyState } from '../../parts/empty-state.tsx'
import { FIRST_COMMANDS } from '../../parts/first-commands.ts'
import { PageHead } from '../../parts/page-head.tsx'
import { PagedTable } from '../../parts/paged-table.tsx'
import { SearchField } from '../../parts/search-field.tsx'
import { StateBadge } from '../../parts/state-badge.tsx'
import { dateOfNs } from '../../parts/time.ts'
import { ALL_NAMESPACES, paths } from '../../paths.ts'
import { navigate } from '../../routing/location.ts'
import type { PageProps } from '../../routing/route.ts'
import { useSession } from '../../session/session.tsx'

const COLUMNS: readonly Column<VariableMetadata>[] = [
  { id: 'path', head: 'Variable', cell: ({ Path }) => <code>{Path}</code> },
  {
    id: 'namespace',
    head: 'Namespace',
    width: '20%',
    isExtra: true,
    cell: ({ Namespace }) => Namespace,
  },
  {
    id: 'lock',
    head: 'Lock',
    width: '120px',
    isExtra: true,
    cell: ({ Lock }) => (Lock === undefined ? '–' : <StateBadge state="locked" />),
  },
  {
    id: 'made',
    head: 'Made',
    width: '112px',
    isExtra: true,
    cell: ({ CreateTime }) => <Ago date={dateOfNs(CreateTime)} />,
  },
  {
    id: 'changed',
    head: 'Changed',
    width: '112px',
    cell: ({ ModifyTime }) => <Ago date={dateOfNs(ModifyTime)} />,
  },
]

/** What is kept encrypted for jobs, without the values. */
export function VariableListPage({ search }: PageProps<'/variables'>) {
  const { rights } = useSession()
  const namespace = search.get('namespace') ?? ALL_NAMESPACES
  const prefix = search.get('q') ?? ''
  const list = useList(['variables', namespace, prefix], ({ api, signal, page }) =>
    api.v1.listVariables({ query: { ...page, namespace, prefix }, signal }),
  )
  return (
    <>
      <PageHead
        title="Variables"
        lead="Encrypted values, by path."
        actions={
          <ActionButton
            kind="primary"
            refusal={mayMakeVariable(rights)}
            onAct={() => navigate(paths.newVariable({ namespace }))}
          >
            New variable
          </ActionButton>
        }
      />
      <search className="filters">
        <SearchField label="Path prefix" value={prefix} />
      </search>
      <PagedTable
        label="Variables"
        what="the variables"
        list={list}
        columns={COLUMNS}
        keyOf={({ Namespace, Path }) => `${Namespace}/${Path}`}
        hrefOf={({ Namespace, Path }) => paths.variable({ namespace: Namespace, id: Path })}
        empty={
          <EmptyState
            title={prefix === '' ? 'No variables' : 'No matching paths'}
            command={FIRST_COMMANDS.variables}
          >
            <p>
              A variable has a path and named values, such as the password of a database. Who may
              read and write it is a matter of the <code>variables</code> in access policies.
            </p>
          </EmptyState>
        }
      />
      <CommandLine
        cli={`reeve var list --namespace ${quoted(namespace)} ${quoted(prefix || '')}`.trim()}
        call={{ path: '/v1/vars', query: { namespace, prefix } }}
      />
    </>
  )
}
