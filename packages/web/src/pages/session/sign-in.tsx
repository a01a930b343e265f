import { ApiError } from '@reeve/sdk'
import { useEffect, useRef, useState, type ReactNode, type SubmitEvent } from 'react'
import { CliAndApiPanel } from '../../components/command-line.tsx'
import { ErrorMessage } from '../../components/error-message.tsx'
import { Field } from '../../components/form.tsx'
import { Loading } from '../../components/notices.tsx'
import { PageHeader, Panel } from '../../components/page.tsx'
import { BASE, paths } from '../../paths.ts'
import { navigate, useLocation } from '../../routing/location.ts'
import type { PageProps } from '../../routing/route.ts'
import { exchangeOneTimeSecret, findTokens, localSecretIn } from '../../session/api.ts'
import { useSession } from '../../session/session.tsx'

/** Signs in with a token, a one-time link of `reeve ui`, or the link that `--dev` prints. */
export function SignInPage({ search }: PageProps<'/sign-in'>) {
  const { hash } = useLocation()
  const [link, setLink] = useState<SignInLink>()
  const next = returnAddress(search.get('next'))
  const oneTimeSecret = search.get('ott')
  useEffect(() => {
    const foundLink = findSignInLink(oneTimeSecret)
    if (foundLink === undefined) return
    // Removed from the URL first: it is a secret, and browsers keep a history.
    navigate(paths.signIn({ next }), { replace: true })
    setLink(foundLink)
    // A link opened in a tab that shows this page already changes only the hash.
  }, [hash, oneTimeSecret, next])
  return link === undefined ? (
    <TokenForm next={next} />
  ) : (
    <LinkSignIn key={`${link.kind} ${link.secret}`} link={link} next={next} />
  )
}

interface SignInLink {
  readonly kind: 'one-time' | 'local'
  readonly secret: string
}

function findSignInLink(oneTimeSecret: string | null): SignInLink | undefined {
  if (oneTimeSecret !== null) return { kind: 'one-time', secret: oneTimeSecret }
  const secret = localSecretIn(window.location)
  return secret === undefined ? undefined : { kind: 'local', secret }
}

/** Returns the page to open after signing in, if it belongs to this UI. */
function returnAddress(next: string | null): string | undefined {
  const isInThisUi = next?.startsWith(`${BASE}/`) === true && !next.startsWith(paths.signIn())
  return isInThisUi ? next : undefined
}

interface LinkSignInProps {
  readonly link: SignInLink
  readonly next: string | undefined
}

function LinkSignIn({ link, next }: LinkSignInProps) {
  const { api, tokens, setTokens, identity } = useSession()
  const [error, setError] = useState<unknown>()
  // The link works once, and effects may run twice.
  const hasStarted = useRef(false)
  useEffect(() => {
    if (hasStarted.current || identity === undefined) return
    hasStarted.current = true
    const signIn = async () => {
      try {
        const { secret } = link
        const foundTokens =
          link.kind === 'one-time'
            ? await exchangeOneTimeSecret(api, secret)
            : await findTokens({
                address: api.address,
                secret,
                isAclEnabled: identity.isAclEnabled,
              })
        setTokens({ ...tokens, ...foundTokens })
        navigate(next ?? paths.jobs(), { replace: true })
      } catch (failure) {
        setError(failure)
      }
    }
    void signIn()
  }, [api, link, next, identity, tokens, setTokens])
  if (error === undefined) return <Loading what="your session" />
  return (
    <>
      <SignInFailure error={error} title="The sign-in link has expired.">
        It works once and only for a few minutes. <code>reeve ui</code> prints a new one.
      </SignInFailure>
      <TokenForm next={next} />
    </>
  )
}

interface SignInFailureProps {
  readonly error: unknown
  /** Title for a rejected secret. The usual message would link to this page. */
  readonly title: string
  readonly children: ReactNode
}

function SignInFailure({ error, title, children }: SignInFailureProps) {
  const isRejected = error instanceof ApiError && UNKNOWN_TOKEN_STATUSES.includes(error.status)
  if (!isRejected) return <ErrorMessage error={error} />
  return (
    <div className="note tone-bad" role="alert">
      <p>
        <b>{title}</b> {children}
      </p>
    </div>
  )
}

/** Statuses with which the two APIs reject an unknown secret. */
const UNKNOWN_TOKEN_STATUSES: readonly number[] = [401, 403, 404]

function TokenForm({ next }: { readonly next: string | undefined }) {
  const { api, tokens, setTokens, identity } = useSession()
  const [error, setError] = useState<unknown>()
  const [secret, setSecret] = useState('')
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    try {
      const isAclEnabled = identity?.isAclEnabled ?? true
      const lookup = { address: api.address, secret: secret.trim(), isAclEnabled }
      const foundTokens = await findTokens(lookup)
      setTokens({ ...tokens, ...foundTokens })
      const home = foundTokens.workload === undefined ? paths.organizations() : paths.jobs()
      navigate(next ?? home, { replace: next !== undefined })
    } catch (failure) {
      setError(failure)
    }
  }
  return (
    <div className="narrow">
      <PageHeader title="Sign in" />
      <Panel title="With a token">
        <form className="stack" onSubmit={(event) => void submit(event)}>
          <Field
            label="Token"
            hint="The secret of a token of the workload API, or a user, team or organization token of the governance API. It stays in this tab."
          >
            {(attributes) => (
              <input
                {...attributes}
                type="password"
                autoComplete="off"
                required
                value={secret}
                onChange={(event) => setSecret(event.target.value)}
              />
            )}
          </Field>
          {error !== undefined && (
            <SignInFailure error={error} title="Unknown token.">
              It may be mistyped, expired or deleted. Enter its secret, not its accessor ID.
            </SignInFailure>
          )}
          <button type="submit" className="button primary">
            Sign in
          </button>
        </form>
      </Panel>
      <Panel title="With a link">
        <p>
          <code>reeve ui</code> prints a link that signs you in once, with the token of your command
          line. A development server (<code>--dev</code>) prints one at startup.
        </p>
      </Panel>
      <Panel title="On a new server">
        <p>
          A new server with ACLs has no tokens yet: <code>reeve acl bootstrap</code> creates the
          first management token. It works once.
        </p>
      </Panel>
      <CliAndApiPanel cli="reeve login" call={{ path: '/v1/acl/token/self' }} />
    </div>
  )
}
