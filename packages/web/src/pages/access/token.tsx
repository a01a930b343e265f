import type { AclToken } from '@reeve/contract'
import { useState } from 'react'
import { accessDisabledReason } from '../../permissions/cluster.ts'
import { useApiAction } from '../../data/api-action.ts'
import { useApiQuery } from '../../data/api-query.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { CliAndApiPanel, CopyButton } from '../../components/command-line.tsx'
import { useConfirm } from '../../components/dialog.tsx'
import { DescriptionList, PageHeader, Panel } from '../../components/page.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { dateFromText } from '../../format.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import { navigate } from '../../routing/location.ts'
import type { PageProps } from '../../routing/route.ts'
import { useSession } from '../../session/session.tsx'
import { AccessControlGuard } from './access-control-guard.tsx'
import { TokenForm } from './token-form.tsx'

/** An ACL token and its permissions, without its secret. */
export function TokenPage({ params }: PageProps<'/access/tokens/:accessorId'>) {
  return (
    <AccessControlGuard>
      <TokenView accessor={params.accessorId} />
    </AccessControlGuard>
  )
}

function TokenView({ accessor }: { readonly accessor: string }) {
  const query = useApiQuery(
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
          <PageHeader
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
            <DescriptionList facts={tokenFacts(token)} />
          </Panel>
          <CliAndApiPanel
            cli={`reeve acl token read ${accessor}`}
            call={{ path: `/v1/acl/token/${accessor}` }}
          />
        </>
      )}
    </QueryView>
  )
}

function tokenFacts({ Type, Policies, Roles, Global, CreateTime, ExpirationTime }: AclToken) {
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
    { name: 'Created', value: <RelativeTime date={dateFromText(CreateTime)} /> },
    { name: 'Expires', value: dateFromText(ExpirationTime)?.toISOString() ?? 'never' },
    { name: 'Global', value: Global ? 'yes' : 'no' },
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
  const { permissions } = useSession()
  const callApi = useApiAction()
  const confirm = useConfirm()
  const [isEditing, setEditing] = useState(false)
  const remove = async () => {
    const title = `Delete the token ${token.Name || token.AccessorID.slice(0, 8)}?`
    const body = 'Requests with it are rejected from then on. This cannot be undone.'
    if (!(await confirm({ title, body, action: 'Delete the token', isDangerous: true }))) return
    const result = await callApi({
      call: (api) => api.v1.deleteAclToken({ params: { accessor_id: token.AccessorID } }),
      successMessage: 'The token is deleted.',
    })
    if (result !== undefined) navigate(paths.tokens())
  }
  return (
    <>
      <ActionButton
        disabledReason={accessDisabledReason.write(permissions)}
        onAction={() => setEditing(true)}
      >
        Edit…
      </ActionButton>
      <ActionButton
        kind="danger"
        disabledReason={accessDisabledReason.write(permissions)}
        onAction={remove}
      >
        Delete…
      </ActionButton>
      {isEditing && <TokenForm token={token} onClose={() => setEditing(false)} />}
    </>
  )
}
