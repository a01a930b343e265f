import type { ReactNode } from 'react'
import { EmptyState } from '../../parts/empty-state.tsx'
import { Loading } from '../../parts/loading.tsx'
import { useSession } from '../../session/session.tsx'

/** Without access control there are no tokens, policies or roles: says so in their place. */
export function WithAccessControl({ children }: { readonly children: ReactNode }) {
  const { identity, isIdentifying } = useSession()
  // What is in there would ask for what a server without access control does not have.
  if (isIdentifying) return <Loading what="the page" />
  if (identity === undefined || identity.isAclEnabled) return children
  return (
    <EmptyState title="Access control is off" command="reeve agent --dev --acl">
      <p>
        This server accepts every request on <code>/v1</code>, whoever asks. Switch access control
        on in its configuration (<code>acl {'{ enabled = true }'}</code>), make the first token with{' '}
        <code>reeve acl bootstrap</code>, and come back.
      </p>
    </EmptyState>
  )
}
