import { useApiQuery } from '../../data/api-query.ts'
import { RelativeTime } from '../../components/relative-time.tsx'
import { CliAndApiPanel } from '../../components/command-line.tsx'
import { DescriptionList, PageHeader, Panel } from '../../components/page.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { dateFromText } from '../../format.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import { navigate } from '../../routing/location.ts'
import { useSession } from '../../session/session.tsx'
import { UserTokens } from '../governance/auth-tokens.tsx'

/** The identity of the caller, with a button to sign out. */
export function SessionPage() {
  const { identity, hasGovernanceToken, setTokens } = useSession()
  const token = identity?.token
  const signOut = () => {
    setTokens({ workload: undefined, governance: undefined })
    navigate(paths.signIn())
  }
  return (
    <div className="narrow">
      <PageHeader
        title="Session"
        actions={
          token === undefined && hasGovernanceToken !== true ? (
            <Link className="button" href={paths.signIn()}>
              Sign in
            </Link>
          ) : (
            <button type="button" className="button" onClick={signOut}>
              Sign out
            </button>
          )
        }
      />
      <Panel title="Workload API">
        {token === undefined ? (
          <p>{signedOutText(identity)}</p>
        ) : (
          <DescriptionList
            facts={[
              { name: 'Name', value: token.Name || '–' },
              { name: 'Type', value: token.Type },
              { name: 'Accessor', value: <code>{token.AccessorID}</code> },
              { name: 'Policies', value: (token.Policies ?? []).join(', ') || '–' },
              {
                name: 'Roles',
                value: (token.Roles ?? []).map((role) => role.Name).join(', ') || '–',
              },
              { name: 'Created', value: <RelativeTime date={dateFromText(token.CreateTime)} /> },
              { name: 'Expires', value: token.ExpirationTime ?? 'never' },
            ]}
          />
        )}
      </Panel>
      <Panel title="Governance API">
        {hasGovernanceToken === true ? <Account /> : <p>Not signed in.</p>}
      </Panel>
      {hasGovernanceToken === true && <UserTokensOfCaller />}
      <CliAndApiPanel cli="reeve acl token self" call={{ path: '/v1/acl/token/self' }} />
    </div>
  )
}

/** The account of the token in the governance API. */
function Account() {
  const account = useApiQuery(['account'], (api, signal) => api.v2.readAccount({ signal }))
  return (
    <QueryView query={account} what="the account">
      {({ data: { attributes, relationships } }) => (
        <DescriptionList
          facts={[
            { name: 'User', value: attributes.username },
            { name: 'Identity', value: relationships['authenticated-resource'].data.type },
            { name: 'Site administrator', value: attributes['is-admin'] ? 'yes' : 'no' },
          ]}
        />
      )}
    </QueryView>
  )
}

/** The tokens of the signed-in user; team and organization tokens belong to no user. */
function UserTokensOfCaller() {
  const account = useApiQuery(['account'], (api, signal) => api.v2.readAccount({ signal }))
  const user = account.data?.data
  if (user === undefined || user.attributes['is-service-account']) return null
  const canManage = user.attributes.permissions['can-manage-user-tokens']
  return (
    <UserTokens
      userId={user.id}
      disabledReason={canManage ? undefined : 'Your token may not manage tokens of users.'}
    />
  )
}

function signedOutText(identity: ReturnType<typeof useSession>['identity']): string {
  if (identity === undefined) return 'The server has not confirmed your identity yet.'
  if (!identity.isAclEnabled) return 'ACLs are disabled: the workload API accepts every request.'
  return `Not signed in. ${identity.rejection ?? ''}`
}
