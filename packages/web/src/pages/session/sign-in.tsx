import { useEffect, useRef, useState, type SubmitEvent } from 'react'
import { Failure } from '../../parts/failure.tsx'
import { Field } from '../../parts/field.tsx'
import { Loading } from '../../parts/loading.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { Panel } from '../../parts/panel.tsx'
import { paths } from '../../paths.ts'
import { navigate } from '../../routing/location.ts'
import type { PageProps } from '../../routing/route.ts'
import { exchangeOneTimeSecret, findTokens } from '../../session/find-tokens.ts'
import { useSession } from '../../session/session.tsx'

/** By the secret of a token, or by a link of `reeve ui` that holds a one-time secret. */
export function SignInPage({ search }: PageProps<'/sign-in'>) {
  // Read once: the page takes it out of the address.
  const [oneTimeSecret] = useState(() => search.get('ott'))
  return oneTimeSecret === null ? <TokenForm /> : <LinkSignIn secret={oneTimeSecret} />
}

function LinkSignIn({ secret }: { readonly secret: string }) {
  const { api, tokens, setTokens } = useSession()
  const [error, setError] = useState<unknown>()
  // It works once, and effects may run twice.
  const isAsked = useRef(false)
  useEffect(() => {
    if (isAsked.current) return
    isAsked.current = true
    // Out of the address before anything else: it is a secret, and history is kept.
    navigate(paths.signIn(), { replace: true })
    const exchange = async () => {
      try {
        setTokens({ ...tokens, ...(await exchangeOneTimeSecret(api, secret)) })
        navigate(paths.jobs(), { replace: true })
      } catch (failure) {
        setError(failure)
      }
    }
    void exchange()
  }, [api, secret, tokens, setTokens])
  if (error === undefined) return <Loading what="your session" />
  return (
    <>
      <Failure error={error} />
      <TokenForm />
    </>
  )
}

function TokenForm() {
  const { api, tokens, setTokens } = useSession()
  const [error, setError] = useState<unknown>()
  const [secret, setSecret] = useState('')
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    try {
      setTokens({ ...tokens, ...(await findTokens(api.address, secret.trim())) })
      navigate(paths.jobs())
    } catch (failure) {
      setError(failure)
    }
  }
  return (
    <div className="narrow">
      <PageHead title="Sign in" />
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
          {error !== undefined && <Failure error={error} />}
          <button type="submit" className="button primary">
            Sign in
          </button>
        </form>
      </Panel>
      <Panel title="With a link">
        <p>
          <code>reeve ui</code> prints a link that signs you in once, with the token of your command
          line.
        </p>
      </Panel>
    </div>
  )
}
