import { useRead } from '../../data/use-read.ts'
import { Ago } from '../../parts/ago.tsx'
import { CommandLine } from '../../parts/command-line.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { Facts, Panel } from '../../parts/panel.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { dateOfText } from '../../parts/time.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import { navigate } from '../../routing/location.ts'
import { useSession } from '../../session/session.tsx'
import { UserTokens } from '../governance/user-tokens.tsx'

/** Who one is here, and the way out. */
export function SessionPage() {
  const { identity, mayGovern, setTokens } = useSession()
  const token = identity?.token
  const signOut = () => {
    setTokens({ workload: undefined, governance: undefined })
    navigate(paths.signIn())
  }
  return (
    <div className="narrow">
      <PageHead
        title="Session"
        actions={
          token === undefined && mayGovern !== true ? (
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
          <p>{withoutToken(identity)}</p>
        ) : (
          <Facts
            facts={[
              { name: 'Name', value: token.Name || '–' },
              { name: 'Type', value: token.Type },
              { name: 'Accessor', value: <code>{token.AccessorID}</code> },
              { name: 'Policies', value: (token.Policies ?? []).join(', ') || '–' },
              {
                name: 'Roles',
                value: (token.Roles ?? []).map((role) => role.Name).join(', ') || '–',
              },
              { name: 'Made', value: <Ago date={dateOfText(token.CreateTime)} /> },
              { name: 'Expires', value: token.ExpirationTime ?? 'never' },
            ]}
          />
        )}
      </Panel>
      <Panel title="Governance API">
        {mayGovern === true ? <Account /> : <p>Not signed in.</p>}
      </Panel>
      {mayGovern === true && <OwnTokens />}
      <CommandLine cli="reeve acl token self" call={{ path: '/v1/acl/token/self' }} />
    </div>
  )
}

/** Whom the governance API takes the token for. */
function Account() {
  const account = useRead(['account'], (api, signal) => api.v2.readAccount({ signal }))
  return (
    <QueryView query={account} what="the account">
      {({ data: { attributes, relationships } }) => (
        <Facts
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

/** The tokens of whoever is signed in. Tokens of teams and organizations have none: no person. */
function OwnTokens() {
  const account = useRead(['account'], (api, signal) => api.v2.readAccount({ signal }))
  const user = account.data?.data
  if (user === undefined || user.attributes['is-service-account']) return null
  const mayManage = user.attributes.permissions['can-manage-user-tokens']
  return (
    <UserTokens
      user={user.id}
      refusal={mayManage ? undefined : 'Your token may not manage tokens of users.'}
    />
  )
}

function withoutToken(identity: ReturnType<typeof useSession>['identity']): string {
  if (identity === undefined) return 'The server has not confirmed your identity yet.'
  if (!identity.isAclEnabled)
    return 'Access control is off: the workload API accepts every request.'
  return `Not signed in. ${identity.refusal ?? ''}`
}
