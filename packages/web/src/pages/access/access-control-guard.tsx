import type { ReactNode } from 'react'
import { EmptyState, Loading } from '../../components/notices.tsx'
import { useSession } from '../../session/session.tsx'

/** Shows its children only if ACLs are enabled, and a notice otherwise. */
export function AccessControlGuard({ children }: { readonly children: ReactNode }) {
  const { identity, isIdentityPending } = useSession()
  // The children would call routes that fail on a server without ACLs.
  if (isIdentityPending) return <Loading what="the page" />
  if (identity === undefined || identity.isAclEnabled) return children
  return (
    <EmptyState title="ACLs are disabled" command="reeve agent --dev --acl">
      <p>
        This server accepts requests on <code>/v1</code> without a token. Enable ACLs in its
        configuration (<code>acl {'{ enabled = true }'}</code>), then create the first token with{' '}
        <code>reeve acl bootstrap</code>.
      </p>
    </EmptyState>
  )
}
