import type { VariableMetadata } from '@reeve/contract'
import { createVariableDisabledReason } from '../../permissions/cluster.ts'
import { useCursorList } from '../../data/lists.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { CliAndApiPanel } from '../../components/command-line.tsx'
import { FIRST_COMMANDS, quoteShellArg } from '../../commands.ts'
import { type Column, PagedTable } from '../../components/data-table.tsx'
import { EmptyState } from '../../components/notices.tsx'
import { PageHeader } from '../../components/page.tsx'
import { SearchField } from '../../components/filters.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { dateFromNs } from '../../format.ts'
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
    cell: ({ Lock }) => (Lock === undefined ? '–' : <StatusBadge state="locked" />),
  },
  {
    id: 'made',
    head: 'Created',
    width: '112px',
    isExtra: true,
    cell: ({ CreateTime }) => <RelativeTime date={dateFromNs(CreateTime)} />,
  },
  {
    id: 'changed',
    head: 'Updated',
    width: '112px',
    cell: ({ ModifyTime }) => <RelativeTime date={dateFromNs(ModifyTime)} />,
  },
]

/** The list of variables, without values. */
export function VariableListPage({ search }: PageProps<'/variables'>) {
  const { permissions } = useSession()
  const namespace = search.get('namespace') ?? ALL_NAMESPACES
  const prefix = search.get('q') ?? ''
  const list = useCursorList(['variables', namespace, prefix], ({ api, signal, pageQuery }) =>
    api.v1.listVariables({ query: { ...pageQuery, namespace, prefix }, signal }),
  )
  return (
    <>
      <PageHeader
        title="Variables"
        lead="Encrypted values, by path."
        actions={
          <ActionButton
            kind="primary"
            disabledReason={createVariableDisabledReason(permissions)}
            onAction={() => navigate(paths.newVariable({ namespace }))}
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
              A variable stores encrypted items under a path, such as the password of a database.
              The <code>variables</code> rules of ACL policies grant access.
            </p>
          </EmptyState>
        }
      />
      <CliAndApiPanel
        cli={`reeve var list --namespace ${quoteShellArg(namespace)} ${quoteShellArg(prefix || '')}`.trim()}
        call={{ path: '/v1/vars', query: { namespace, prefix } }}
      />
    </>
  )
}
