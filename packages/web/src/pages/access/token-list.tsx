import type { AclTokenStub } from '@reeve/contract'
import { useState } from 'react'
import { accessDisabledReason } from '../../permissions/cluster.ts'
import { useCursorList } from '../../data/lists.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { CliAndApiPanel } from '../../components/command-line.tsx'
import { type Column, PagedTable } from '../../components/data-table.tsx'
import { EmptyState } from '../../components/notices.tsx'
import { FIRST_COMMANDS } from '../../commands.ts'
import { isNewestFirst, OrderSelect } from '../../components/filters.tsx'
import { PageHeader } from '../../components/page.tsx'
import { dateFromText, formatMinute } from '../../format.ts'
import { paths } from '../../paths.ts'
import type { PageProps } from '../../routing/route.ts'
import { useSession } from '../../session/session.tsx'
import { AccessControlGuard } from './access-control-guard.tsx'
import { TokenForm } from './token-form.tsx'

const COLUMNS: readonly Column<AclTokenStub>[] = [
  { id: 'name', head: 'Token', cell: ({ Name, AccessorID }) => Name || AccessorID.slice(0, 8) },
  {
    id: 'accessor',
    head: 'Accessor',
    width: '104px',
    isExtra: true,
    cell: ({ AccessorID }) => <code>{AccessorID.slice(0, 8)}</code>,
  },
  { id: 'type', head: 'Type', width: '120px', cell: ({ Type }) => Type },
  {
    id: 'grants',
    head: 'Permissions',
    width: '30%',
    isExtra: true,
    cell: (token) => permissionsText(token),
  },
  {
    id: 'expires',
    head: 'Expires',
    width: '176px',
    isExtra: true,
    cell: ({ ExpirationTime }) => {
      const date = dateFromText(ExpirationTime)
      return date === undefined ? 'never' : formatMinute(date)
    },
  },
  {
    id: 'made',
    head: 'Created',
    width: '96px',
    isExtra: true,
    cell: ({ CreateTime }) => <RelativeTime date={dateFromText(CreateTime)} />,
  },
]

function permissionsText({ Type, Policies, Roles }: AclTokenStub): string {
  if (Type === 'management') return 'everything'
  const names = [
    ...(Policies ?? []),
    ...(Roles ?? []).map(({ Name, ID }) => `role ${Name || ID.slice(0, 8)}`),
  ]
  return names.join(', ') || 'nothing'
}

/** The list of ACL tokens, without secrets. */
export function TokenListPage({ search }: PageProps<'/access/tokens'>) {
  const { permissions } = useSession()
  const [isCreating, setCreating] = useState(false)
  return (
    <>
      <PageHeader
        title="Tokens"
        lead="Credentials of API clients, with their permissions."
        actions={
          <ActionButton
            kind="primary"
            disabledReason={accessDisabledReason.write(permissions)}
            onAction={() => setCreating(true)}
          >
            New token…
          </ActionButton>
        }
      />
      <AccessControlGuard>
        <search className="filters">
          <OrderSelect search={search} />
        </search>
        <Tokens reverse={isNewestFirst(search)} />
      </AccessControlGuard>
      <CliAndApiPanel cli="reeve acl token list" call={{ path: '/v1/acl/tokens' }} />
      {isCreating && <TokenForm token={undefined} onClose={() => setCreating(false)} />}
    </>
  )
}

function Tokens({ reverse }: { readonly reverse: boolean }) {
  const list = useCursorList(
    ['tokens', reverse],
    ({ api, signal, pageQuery }) =>
      api.v1.listAclTokens({ query: { ...pageQuery, reverse }, signal }),
    { watches: [{ topic: 'ACLToken' }] },
  )
  return (
    <PagedTable
      label="Tokens"
      what="the tokens"
      list={list}
      columns={COLUMNS}
      keyOf={({ AccessorID }) => AccessorID}
      hrefOf={({ AccessorID }) => paths.token(AccessorID)}
      empty={
        <EmptyState title="No tokens" command={FIRST_COMMANDS.aclTokens}>
          <p>The policies and roles of a token define its permissions.</p>
        </EmptyState>
      }
    />
  )
}
