import type { AclTokenStub } from '@reeve/contract'
import { useState } from 'react'
import { accessCan } from '../../actions/access-can.ts'
import { useList } from '../../data/use-list.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { Ago } from '../../parts/ago.tsx'
import { CommandLine } from '../../parts/command-line.tsx'
import type { Column } from '../../parts/data-table.tsx'
import { EmptyState } from '../../parts/empty-state.tsx'
import { FIRST_COMMANDS } from '../../parts/first-commands.ts'
import { isNewestFirst, OrderSelect } from '../../parts/order-select.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { PagedTable } from '../../parts/paged-table.tsx'
import { dateOfText, minuteText } from '../../parts/time.ts'
import { paths } from '../../paths.ts'
import type { PageProps } from '../../routing/route.ts'
import { useSession } from '../../session/session.tsx'
import { WithAccessControl } from './access-off.tsx'
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
  { id: 'grants', head: 'May', width: '30%', isExtra: true, cell: (token) => grantsOf(token) },
  {
    id: 'expires',
    head: 'Expires',
    width: '176px',
    isExtra: true,
    cell: ({ ExpirationTime }) => {
      const date = dateOfText(ExpirationTime)
      return date === undefined ? 'never' : minuteText(date)
    },
  },
  {
    id: 'made',
    head: 'Made',
    width: '96px',
    isExtra: true,
    cell: ({ CreateTime }) => <Ago date={dateOfText(CreateTime)} />,
  },
]

function grantsOf({ Type, Policies, Roles }: AclTokenStub): string {
  if (Type === 'management') return 'everything'
  const names = [
    ...(Policies ?? []),
    ...(Roles ?? []).map(({ Name, ID }) => `role ${Name || ID.slice(0, 8)}`),
  ]
  return names.join(', ') || 'nothing'
}

/** What callers show, without the secrets. */
export function TokenListPage({ search }: PageProps<'/access/tokens'>) {
  const { rights } = useSession()
  const [isMaking, setMaking] = useState(false)
  return (
    <>
      <PageHead
        title="Tokens"
        lead="Credentials of API clients, with their permissions."
        actions={
          <ActionButton
            kind="primary"
            refusal={accessCan.write(rights)}
            onAct={() => setMaking(true)}
          >
            New token…
          </ActionButton>
        }
      />
      <WithAccessControl>
        <search className="filters">
          <OrderSelect search={search} />
        </search>
        <Tokens reverse={isNewestFirst(search)} />
      </WithAccessControl>
      <CommandLine cli="reeve acl token list" call={{ path: '/v1/acl/tokens' }} />
      {isMaking && <TokenForm token={undefined} onClose={() => setMaking(false)} />}
    </>
  )
}

function Tokens({ reverse }: { readonly reverse: boolean }) {
  const list = useList(
    ['tokens', reverse],
    ({ api, signal, page }) => api.v1.listAclTokens({ query: { ...page, reverse }, signal }),
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
