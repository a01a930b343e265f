import type { AclToken } from '@reeve/contract'
import { useState } from 'react'
import { accessCan } from '../../actions/access-can.ts'
import { useAct } from '../../data/use-act.ts'
import { useRead } from '../../data/use-read.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { Ago } from '../../parts/ago.tsx'
import { CommandLine } from '../../parts/command-line.tsx'
import { useConfirm } from '../../parts/confirm.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { Facts, Panel } from '../../parts/panel.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { dateOfText } from '../../parts/time.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import { navigate } from '../../routing/location.ts'
import type { PageProps } from '../../routing/route.ts'
import { useSession } from '../../session/session.tsx'
import { WithAccessControl } from './access-off.tsx'
import { TokenForm } from './token-form.tsx'

/** One token: what it may do. Its secret is never shown here. */
export function TokenPage({ params }: PageProps<'/access/tokens/:accessorId'>) {
  return (
    <WithAccessControl>
      <TokenView accessor={params.accessorId} />
    </WithAccessControl>
  )
}

function TokenView({ accessor }: { readonly accessor: string }) {
  const query = useRead(
    ['token', accessor],
    (api, signal) => api.v1.readAclToken({ params: { accessor_id: accessor }, signal }),
    { watches: [{ topic: 'ACLToken', key: accessor }] },
  )
  return (
    <QueryView
      query={query}
      what="the token"
      page={{
        title: `Token ${accessor.slice(0, 8)}`,
        crumbs: [{ text: 'Tokens', href: paths.tokens() }],
      }}
    >
      {(token) => (
        <>
          <PageHead
            title={token.Name || `Token ${accessor.slice(0, 8)}`}
            crumbs={[{ text: 'Tokens', href: paths.tokens() }]}
            aside={
              <>
                <span className="tag">{token.Type}</span>
                <span className="tag mono">{accessor.slice(0, 8)}</span>
                <CopyButton text={accessor} what="the accessor" />
              </>
            }
            actions={<TokenActions token={token} />}
          />
          <Panel title="Permissions">
            <Facts facts={factsOf(token)} />
          </Panel>
          <CommandLine
            cli={`reeve acl token read ${accessor}`}
            call={{ path: `/v1/acl/token/${accessor}` }}
          />
        </>
      )}
    </QueryView>
  )
}

function factsOf({ Type, Policies, Roles, Global, CreateTime, ExpirationTime }: AclToken) {
  return [
    {
      name: 'Policies',
      value:
        Type === 'management' ? 'everything' : <Names names={Policies ?? []} isPolicy={true} />,
    },
    {
      name: 'Roles',
      value: <Names names={(Roles ?? []).map(({ Name, ID }) => Name || ID)} isPolicy={false} />,
    },
    { name: 'Made', value: <Ago date={dateOfText(CreateTime)} /> },
    { name: 'Expires', value: dateOfText(ExpirationTime)?.toISOString() ?? 'never' },
    { name: 'In every region', value: Global ? 'yes' : 'no' },
  ]
}

interface NamesProps {
  readonly names: readonly string[]
  readonly isPolicy: boolean
}

function Names({ names, isPolicy }: NamesProps) {
  if (names.length === 0) return 'none'
  return names.map((name, index) => (
    <span key={name}>
      {index > 0 && ', '}
      <Link href={isPolicy ? paths.accessPolicy(name) : paths.roles()}>{name}</Link>
    </span>
  ))
}

function TokenActions({ token }: { readonly token: AclToken }) {
  const { rights } = useSession()
  const act = useAct()
  const confirm = useConfirm()
  const [isEditing, setEditing] = useState(false)
  const remove = async () => {
    const title = `Delete the token ${token.Name || token.AccessorID.slice(0, 8)}?`
    const body = 'Requests with it are rejected from then on. This cannot be undone.'
    if (!(await confirm({ title, body, action: 'Delete the token', isDangerous: true }))) return
    const done = await act({
      call: (api) => api.v1.deleteAclToken({ params: { accessor_id: token.AccessorID } }),
      done: 'The token is deleted.',
    })
    if (done !== undefined) navigate(paths.tokens())
  }
  return (
    <>
      <ActionButton refusal={accessCan.write(rights)} onAct={() => setEditing(true)}>
        Edit…
      </ActionButton>
      <ActionButton kind="danger" refusal={accessCan.write(rights)} onAct={remove}>
        Delete…
      </ActionButton>
      {isEditing && <TokenForm token={token} onClose={() => setEditing(false)} />}
    </>
  )
}
